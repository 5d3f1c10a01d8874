// Mailbox: a manager's post office. Takes requests and casts from anyone, hands them to one
// handler, sends the replies; sends requests and casts of the manager's own and matches their
// replies. Everything here runs on the `mailbox` thread, but for what is marked otherwise. Never
// blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "danaus/failure.hpp"
#include "messages/codec.hpp"
#include "messages/envelope.hpp"
#include "messages/message.hpp"

namespace danaus::mailbox {

using Clock = std::chrono::steady_clock;

/// A request or cast that was admitted: well-formed, for us, for this life of ours, within limits.
struct Request {
  messages::Sender from;
  messages::Message message;
  /// False for a cast.
  bool wants_reply = true;
  /// When the requester stops waiting.
  Clock::time_point deadline;
};

/// What came of a request of our own.
struct PeerReply {
  /// The peer's reply, or the error that kept it away: Timeout, Unreachable, PeerLost, Busy, …
  messages::ReplyBody body;
  /// The life of the peer that answered; nothing where no reply came.
  std::optional<messages::Incarnation> incarnation;
};

/// Bounds of a mailbox. Requests past them are answered with Busy.
struct Limits {
  std::size_t requests_in_flight = 4096;
  std::size_t requests_per_client = 256;
  /// Messages waiting for one peer, or replies waiting for one client.
  std::size_t queued_per_peer = 4096;
};

struct MailboxConfig {
  std::string identity;
  messages::Incarnation incarnation{};
  /// ZeroMQ endpoint, may end in ":*"; empty: passive, nobody can dial us.
  std::string bind;
  /// What `self().at` says; empty: the bound endpoint.
  std::string advertise;
  /// The deadline of a request that names none.
  std::chrono::milliseconds default_timeout{30'000};
  Limits limits;
};

class Mailbox {
 public:
  /// Answers one request; for a cast its result is dropped. May await. An exception that escapes is
  /// answered: an Error as it is, std::bad_alloc with ResourceExhausted, others with Internal. A
  /// FatalError (fatal_error.hpp) and what is no std::exception go to the FailureSink besides. What
  /// a handler awaits on another io_context must be gone before the mailbox is destroyed.
  using Handler = std::function<asio::awaitable<messages::ReplyBody>(Request)>;

  /// Binds. Throws Error: InvalidArgument, IoFailed (address in use, no permission).
  Mailbox(MailboxConfig config, FailureSink& failures);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// Who we are and where we can be dialled. Any thread.
  [[nodiscard]] const messages::ActorRef& self() const noexcept;
  [[nodiscard]] const messages::Incarnation& incarnation() const noexcept;

  /// The context of the mailbox thread. Handlers and the manager's tables live on it. Its `run()`
  /// returns when `shut_down` is done and no handler is left; what escapes from `run()` is fatal.
  /// Any thread.
  [[nodiscard]] asio::io_context& context() noexcept;

  /// Starts serving with `handler`. Once, before or while `context()` runs.
  void serve(Handler handler);

  /// Sends a request and awaits its reply; ends by `deadline` in any case. With an incarnation only
  /// that life of the peer answers, any other says StalePeer. Errors are in the reply's body. The
  /// first refused connect is Unreachable at once: who expects a peer that is just starting tries
  /// again. What lives at the endpoint under another identity can only say WrongAddressee.
  asio::awaitable<PeerReply> request(messages::ActorRef to,
                                     std::optional<messages::Incarnation> incarnation,
                                     messages::Message message, Clock::time_point deadline);

  /// Sends a cast: no reply, and when it cannot be delivered it is dropped and counted.
  void cast(const messages::ActorRef& to, const std::optional<messages::Incarnation>& incarnation,
            const messages::Message& message);

  /// Stops accepting, ends our own requests with ShuttingDown, waits until no handler is active or
  /// `patience` has passed, sends what replies are ready, closes the sockets. Not from a handler.
  asio::awaitable<void> shut_down(std::chrono::milliseconds patience);

  /// Counted since start, by name ("mailbox.malformed_frames").
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Sends a request and decodes its reply as the message's own reply type.
template <messages::DescribedMessage M>
asio::awaitable<std::expected<typename M::Reply, Error>> call(
    Mailbox& mailbox, messages::ActorRef to, std::optional<messages::Incarnation> incarnation,
    M message, Clock::time_point deadline) {
  messages::Message wrapped = std::move(message);
  PeerReply reply =
      co_await mailbox.request(std::move(to), incarnation, std::move(wrapped), deadline);
  if (!reply.body) {
    co_return std::unexpected{std::move(reply.body).error()};
  }
  co_return messages::decode<typename M::Reply>(*reply.body);
}

}  // namespace danaus::mailbox
