// Connector: the active side of connecting. N callers for one pair make one attempt and share its
// result; an attempt that fails leaves nothing behind. `mailbox` thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>

#include <asio/awaitable.hpp>

#include "manager/activity.hpp"
#include "manager/connections.hpp"
#include "manager/peer_directory.hpp"
#include "manager/routes.hpp"
#include "messages/service_message.hpp"

namespace danaus::manager {

/// Bounds in time.
struct ConnectPatience {
  /// On one attempt.
  std::chrono::milliseconds connect_timeout;
  /// On the PeerReady of a peer that connected to us.
  std::chrono::milliseconds ready_patience;
};
/// Round trips of one attempt: each beyond the first means that the peer crossed the one before.
inline constexpr int max_rounds = 8;

class Connector {
 public:
  Connector(Connections& connections, PeerDirectory& directory, ConnectPatience patience,
            Activity& activity);

  /// The connected queue pair of `route`, made if need be. Errors: StalePeer, Unreachable,
  /// PeerLost, Timeout, QueuePairReset (closed meanwhile), and what either manager says.
  asio::awaitable<std::expected<std::shared_ptr<QueuePairEntry>, Error>> obtain(
      Route route, Clock::time_point deadline);

  /// The pair was closed: its attempt, if one is under way, ends for its callers now.
  void close(const QueuePairKey& key, const Error& reason);

  /// The pair moved on without us: those who wait for an attempt look again.
  void wake(const QueuePairKey& key);

 private:
  struct Attempt {
    explicit Attempt(asio::io_context& context) : changed{context} {}
    Signal changed;
    bool finished = false;
    std::optional<Error> error;
    /// Set with `finished` when the pair was closed under it.
    bool closed = false;
    Clock::time_point deadline;
    /// The life of the peer that its first caller meant.
    std::optional<messages::Incarnation> incarnation;
    /// Its first caller had less time than an attempt may take: others may try again.
    bool cut_short = false;
  };
  /// What one round trip offers to the peer.
  struct Offer {
    std::uint64_t number = 0;
    std::shared_ptr<QueuePairEntry> entry;
    std::shared_ptr<transport::OperationQueue> operations;
    messages::QpInfo endpoint;
  };
  enum class Round : std::uint8_t { connected, crossed };

  // ---- callers ------------------------------------------------------------------------------
  std::shared_ptr<Attempt> join(const Route& route, Clock::time_point deadline);
  asio::awaitable<std::expected<bool, Error>> lives_as_expected(
      Route route, std::shared_ptr<QueuePairEntry> entry, Clock::time_point deadline);
  [[nodiscard]] bool can_dial(const Route& route) const;

  // ---- the attempt --------------------------------------------------------------------------
  asio::awaitable<void> run(Activity::Ticket ticket, std::shared_ptr<Attempt> attempt, Route route);
  asio::awaitable<std::expected<void, Error>> connect(std::shared_ptr<Attempt> attempt,
                                                      Route route);
  asio::awaitable<std::expected<Offer, Error>> offer(std::shared_ptr<Attempt> attempt, Route route);
  asio::awaitable<std::expected<Round, Error>> conclude(
      std::shared_ptr<Attempt> attempt, Route route, Offer offer,
      PeerAnswer<messages::ConnectPeerResult> answer);
  std::expected<Round, Error> conclude_failure(
      const Route& route, const Offer& offer,
      const PeerAnswer<messages::ConnectPeerResult>& answer);
  /// What a failed attempt left in the table goes, unless the peer has made it its own.
  asio::awaitable<void> discard(std::shared_ptr<Attempt> attempt, QueuePairKey key, Error reason);
  void abandon(const Route& route, std::uint64_t number);

  // ---- both ends in this manager (local_connector.cpp) -----------------------------------------
  asio::awaitable<std::expected<void, Error>> connect_locally(Route route);
  asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>> fresh_end(
      QueuePairKey key);

  /// Both keys of a pair within this manager are one attempt.
  [[nodiscard]] QueuePairKey attempt_key(const QueuePairKey& key) const;

  Connections& connections_;
  PeerDirectory& directory_;
  ConnectPatience patience_;
  Activity& activity_;
  std::map<QueuePairKey, std::shared_ptr<Attempt>> attempts_;
  std::uint64_t next_number_;
};

}  // namespace danaus::manager
