// PeerLink: what the manager needs of its mailbox: who it is, requests and casts to peers. Cut out
// so that tests can hold every message in their hands and deliver them in any order. `mailbox`
// thread.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "mailbox/mailbox.hpp"
#include "messages/codec.hpp"
#include "messages/message.hpp"

namespace danaus::manager {

class PeerLink {
 public:
  PeerLink() = default;
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;
  virtual ~PeerLink() = default;

  [[nodiscard]] virtual const messages::ActorRef& self() const noexcept = 0;
  [[nodiscard]] virtual const messages::Incarnation& incarnation() const noexcept = 0;
  [[nodiscard]] virtual asio::io_context& context() noexcept = 0;

  /// As Mailbox::request and Mailbox::cast.
  virtual asio::awaitable<mailbox::PeerReply> request(
      messages::ActorRef to, std::optional<messages::Incarnation> incarnation,
      messages::Message message, mailbox::Clock::time_point deadline) = 0;
  virtual void cast(const messages::ActorRef& to,
                    const std::optional<messages::Incarnation>& incarnation,
                    const messages::Message& message) = 0;

  [[nodiscard]] virtual std::map<std::string, std::uint64_t> counters() const = 0;
};

/// The link over a real mailbox, which outlives it.
[[nodiscard]] std::unique_ptr<PeerLink> make_mailbox_link(mailbox::Mailbox& mailbox);

/// A peer's typed answer, and the life of it that gave it; none where no answer came.
template <class Reply>
struct PeerAnswer {
  std::expected<Reply, Error> reply;
  std::optional<messages::Incarnation> incarnation;
};

/// Sends a request and decodes the reply as the message's own reply type.
template <messages::DescribedMessage M>
asio::awaitable<PeerAnswer<typename M::Reply>> ask(PeerLink& link, messages::ActorRef to,
                                                   std::optional<messages::Incarnation> incarnation,
                                                   M message, mailbox::Clock::time_point deadline) {
  messages::Message wrapped = std::move(message);
  mailbox::PeerReply answer =
      co_await link.request(std::move(to), incarnation, std::move(wrapped), deadline);
  if (!answer.body) {
    co_return PeerAnswer<typename M::Reply>{std::unexpected{std::move(answer.body).error()},
                                            answer.incarnation};
  }
  co_return PeerAnswer<typename M::Reply>{messages::decode<typename M::Reply>(*answer.body),
                                          answer.incarnation};
}

}  // namespace danaus::manager
