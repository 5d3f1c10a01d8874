// Client of the public API: a passive mailbox on a thread of its own.
#include "danaus/client.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "mailbox/mailbox.hpp"
#include "messages/actor_ref.hpp"
#include "supervision/watched_thread.hpp"
#include "worker/blocking_calls.hpp"

namespace danaus {

namespace {

using worker::Clock;

using Answer = std::expected<mailbox::PeerReply, Error>;

/// How long a cast that is on its way may take to leave once the client goes.
constexpr std::chrono::milliseconds drain_patience{1'000};
constexpr std::chrono::milliseconds cast_patience{5'000};
// Nobody watches a client's thread for a stall; it beats all the same.
constexpr std::chrono::milliseconds beat_interval{1'000};

std::string identity_or_random(std::string identity) {
  return identity.empty() ? fmt::format("client-{:016x}", messages::random_u64())
                          : std::move(identity);
}

/// A client that fails ends no process: whoever waits, and whoever comes, gets the error.
class ClientFailures final : public FailureSink {
 public:
  explicit ClientFailures(worker::BlockingCalls& calls) : calls_{calls} {}

  void fail(Failure failure) override {
    spdlog::error("a client has failed: {}: {}", failure.component, failure.reason);
    calls_.end_all({ErrorCode::shutting_down,
                    fmt::format("the client has failed: {}; make a new one", failure.reason)});
  }

 private:
  worker::BlockingCalls& calls_;
};

}  // namespace

class Client::Impl {
 public:
  explicit Impl(ClientConfig config)
      : mailbox_{{.identity = identity_or_random(std::move(config.identity)),
                  .incarnation = config.incarnation.value_or(messages::random_bytes<16>()),
                  .bind = {},
                  .advertise = {},
                  .limits = {}},
                 failures_},
        thread_{"client", mailbox_.context(), supervision::Watch::death, beat_interval, failures_} {
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    const auto shut_down =
        calls_.run(mailbox_.context(), end(), Clock::now() + drain_patience, "closing the client");
    static_cast<void>(shut_down);
    thread_.join(drain_patience);
  }

  [[nodiscard]] Answer request(const messages::ActorRef& to, const messages::Message& message,
                               Clock::time_point deadline) {
    return calls_.run(
        mailbox_.context(), ask(to, message, deadline), deadline,
        fmt::format("{} to {}", messages::message_name(message), messages::to_string(to)));
  }

  void cast(const messages::ActorRef& to, const messages::Message& message) {
    const auto sent =
        calls_.run(mailbox_.context(), send(to, message), Clock::now() + cast_patience, "a cast");
    if (!sent) {
      throw Error{sent.error()};
    }
  }

 private:
  asio::awaitable<Answer> ask(messages::ActorRef to, messages::Message message,
                              Clock::time_point deadline) {
    auto asking = mailbox_.request(std::move(to), std::nullopt, std::move(message), deadline);
    co_return co_await std::move(asking);
  }

  asio::awaitable<std::expected<void, Error>> send(messages::ActorRef to,
                                                   messages::Message message) {
    mailbox_.cast(to, std::nullopt, message);
    co_return std::expected<void, Error>{};
  }

  asio::awaitable<std::expected<void, Error>> end() {
    auto shutting_down = mailbox_.shut_down(drain_patience);
    co_await std::move(shutting_down);
    co_return std::expected<void, Error>{};
  }

  worker::BlockingCalls calls_;
  ClientFailures failures_{calls_};
  mailbox::Mailbox mailbox_;
  supervision::WatchedThread thread_;
};

Client::Client(ClientConfig config) : impl_{std::make_unique<Impl>(std::move(config))} {}

Client::~Client() = default;

messages::ReplyBody Client::request(const messages::ActorRef& to, const messages::Message& message,
                                    std::chrono::milliseconds timeout, bool* delivered) {
  Answer answer = impl_->request(to, message, worker::deadline_after(timeout));
  if (delivered != nullptr) {
    // Only a reply that came carries the life of the one who sent it; or it is of another manager
    // than the one that was asked.
    *delivered =
        answer && (answer->incarnation.has_value() ||
                   (!answer->body && answer->body.error().code() == ErrorCode::wrong_addressee));
  }
  if (!answer) {
    return std::unexpected{std::move(answer).error()};
  }
  return std::move(answer->body);
}

void Client::cast(const messages::ActorRef& to, const messages::Message& message) {
  impl_->cast(to, message);
}

}  // namespace danaus
