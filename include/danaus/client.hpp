// Client: asks any manager anything, blocking with a deadline. Needs no worker and no port.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "messages/codec.hpp"
#include "messages/envelope.hpp"
#include "messages/error.hpp"
#include "messages/message.hpp"

namespace danaus {

struct ClientConfig {
  /// Who to speak as; empty: "client-" and a random number.
  std::string identity;
  /// Which life of that identity to speak as; none: a new one. For a client that goes on where
  /// another left off, as a handshake does that is driven by several.
  std::optional<messages::Incarnation> incarnation = std::nullopt;
};

/// Any thread, several at once.
class Client {
 public:
  explicit Client(ClientConfig config = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// Sends `message` to the manager at `to` and waits for its reply, typed by the message. Throws
  /// Error: the manager's own, or Unreachable, PeerLost, Timeout, Busy.
  template <messages::DescribedMessage M>
  [[nodiscard]] typename M::Reply call(const messages::ActorRef& to, M message,
                                       std::chrono::milliseconds timeout) {
    messages::ReplyBody reply = request(to, messages::Message{std::move(message)}, timeout);
    if (!reply) {
      throw std::move(reply).error();
    }
    auto value = messages::decode<typename M::Reply>(*reply);
    if (!value) {
      throw std::move(value).error();
    }
    return *std::move(value);
  }

  /// The same untyped. `delivered`, if given, tells an `Err` of the manager's (true) from a failure
  /// to get any reply (false).
  [[nodiscard]] messages::ReplyBody request(const messages::ActorRef& to,
                                            const messages::Message& message,
                                            std::chrono::milliseconds timeout,
                                            bool* delivered = nullptr);

  /// Sends a cast; returns once it is on its way or dropped.
  void cast(const messages::ActorRef& to, const messages::Message& message);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace danaus
