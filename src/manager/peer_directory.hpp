// PeerDirectory: which devices a peer has, asked once per life of it; and whether a life still is.
// `mailbox` thread.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "manager/peer_link.hpp"
#include "manager/signal.hpp"
#include "messages/values.hpp"

namespace danaus::manager {

/// Peers remembered at once; past that all are asked anew.
inline constexpr std::size_t max_remembered_peers = 1024;

class PeerDirectory {
 public:
  explicit PeerDirectory(PeerLink& link) : link_{link} {}

  /// The peer's devices. With an incarnation, of that life alone (StalePeer). Callers that come
  /// while the peer is being asked share its answer.
  asio::awaitable<std::expected<std::vector<messages::DeviceInfo>, Error>> devices(
      messages::ActorRef peer, std::optional<messages::Incarnation> incarnation,
      Clock::time_point deadline);

  /// Asks the peer whether it still lives the life `incarnation`. Errors: StalePeer, and as a
  /// request.
  asio::awaitable<std::expected<void, Error>> verify(messages::ActorRef peer,
                                                     messages::Incarnation incarnation,
                                                     Clock::time_point deadline);

  /// The peer was seen in this life: what is remembered of another is forgotten.
  void seen(const std::string& peer, const messages::Incarnation& incarnation);
  void forget(const std::string& peer) { known_.erase(peer); }

 private:
  struct Known {
    std::string at;
    std::optional<messages::Incarnation> incarnation;
    std::vector<messages::DeviceInfo> devices;
  };
  /// A question on its way, shared by those who wait for its answer.
  struct Question {
    explicit Question(asio::io_context& context) : done{context} {}
    Signal done;
    bool finished = false;
    std::expected<std::vector<messages::DeviceInfo>, Error> answer;
    std::optional<messages::Incarnation> incarnation;
  };
  using QuestionKey = std::pair<std::string, std::optional<messages::Incarnation>>;

  [[nodiscard]] const Known* known(const messages::ActorRef& peer,
                                   const std::optional<messages::Incarnation>& incarnation) const;

  PeerLink& link_;
  std::map<std::string, Known> known_;
  std::map<QuestionKey, std::shared_ptr<Question>> questions_;
};

}  // namespace danaus::manager
