// PendingRequests: the requests of our own that wait for a reply on one connection, by correlation
// id. `mailbox` thread. Shared between the connection and the coroutines that wait, as either may
// go first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "mailbox/mailbox.hpp"

namespace danaus::mailbox {

class PendingRequest;

class PendingRequests {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// The request with this id; nullptr where none waits.
  [[nodiscard]] PendingRequest* find(std::uint64_t id) noexcept;

  /// Ends every request with `error`.
  void fail_all(const Error& error);

 private:
  friend class PendingRequest;
  std::map<std::uint64_t, PendingRequest*> waiting_;
};

/// One request that waits; lives in the frame of the coroutine that made it, and is found by its id
/// as long as it lives.
class PendingRequest {
 public:
  PendingRequest(std::shared_ptr<PendingRequests> table, std::uint64_t id,
                 const asio::any_io_executor& executor,
                 std::optional<messages::Incarnation> incarnation);
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;
  ~PendingRequest();

  /// The life of the peer that may answer; nothing: any.
  [[nodiscard]] const std::optional<messages::Incarnation>& incarnation() const noexcept {
    return incarnation_;
  }

  /// Ends the wait. The first one counts.
  void complete(PeerReply reply);

  /// The reply, or nothing when `deadline` came first.
  asio::awaitable<std::optional<PeerReply>> wait(Clock::time_point deadline);

 private:
  std::shared_ptr<PendingRequests> table_;
  std::uint64_t id_;
  asio::steady_timer timer_;
  std::optional<messages::Incarnation> incarnation_;
  std::optional<PeerReply> reply_;
};

}  // namespace danaus::mailbox
