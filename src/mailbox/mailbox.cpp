#include "mailbox/mailbox.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "mailbox/counters.hpp"
#include "mailbox/endpoint.hpp"
#include "mailbox/inbound.hpp"
#include "mailbox/outbound.hpp"
#include "mailbox/self.hpp"
#include "mailbox/socket_options.hpp"

namespace danaus::mailbox {

class Mailbox::Impl {
 public:
  Impl(MailboxConfig config, FailureSink& failures) : config_{std::move(config)} {
    if (!messages::is_valid_identity(config_.identity)) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("'{}' is no identity: 1 to {} of A-Z a-z 0-9 . _ -", config_.identity,
                              messages::max_identity_length)};
    }
    set_context_options(zmq_context_);
    self_.ref.id = config_.identity;
    self_.incarnation = config_.incarnation;
    if (!config_.bind.empty()) {
      inbound_ =
          std::make_unique<Inbound>(*context_, zmq_context_, config_, self_, counters_, failures);
      const std::string bound = inbound_->bind(config_.bind);
      self_.ref.at = dialled_endpoint(config_.identity, config_.advertise, bound);
    }
    outbound_ =
        std::make_unique<Outbound>(*context_, zmq_context_, self_, config_.limits, counters_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Sockets leave the io_context before it goes; the coroutines in it go with it, while everything
  /// that they refer to is still there; ZeroMQ's context waits for its sockets, so it comes last.
  ~Impl() {
    close(0);
    if (inbound_) {
      inbound_->admission().on_idle({});
    }
    work_.reset();
    context_.reset();
  }

  void serve(Handler handler) {
    if (inbound_) {
      inbound_->serve(std::move(handler));
    }
  }

  asio::awaitable<void> shut_down(std::chrono::milliseconds patience) {
    if (std::exchange(shutting_down_, true)) {
      co_return;
    }
    outbound_->stop_requests();
    if (inbound_) {
      inbound_->stop_accepting();
      co_await wait_until_idle(patience);
    }
    close(shutdown_linger_ms);
    work_.reset();
  }

  MailboxConfig config_;
  Self self_;
  Counters counters_;
  zmq::context_t zmq_context_;
  std::unique_ptr<asio::io_context> context_ = std::make_unique<asio::io_context>();
  // `run()` must not return because nothing happens to be waiting: a passive mailbox has no socket.
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_->get_executor()};
  std::unique_ptr<Inbound> inbound_;
  std::unique_ptr<Outbound> outbound_;

 private:
  asio::awaitable<void> wait_until_idle(std::chrono::milliseconds patience) {
    Admission& admission = inbound_->admission();
    if (admission.in_flight() > 0) {
      asio::steady_timer idle{*context_, patience};
      admission.on_idle([&idle] { idle.cancel(); });
      std::error_code ignored;
      auto token = asio::redirect_error(asio::use_awaitable, ignored);
      co_await idle.async_wait(token);
      admission.on_idle({});
    }
    if (admission.in_flight() > 0) {
      spdlog::warn("{} shuts down with {} requests still being handled; they get no reply",
                   config_.identity, admission.in_flight());
    }
  }

  void close(int linger_ms) {
    if (outbound_) {
      outbound_->close(linger_ms);
    }
    if (inbound_) {
      inbound_->close(linger_ms);
    }
  }

  bool shutting_down_ = false;
};

Mailbox::Mailbox(MailboxConfig config, FailureSink& failures)
    : impl_{std::make_unique<Impl>(std::move(config), failures)} {}

Mailbox::~Mailbox() = default;

const messages::ActorRef& Mailbox::self() const noexcept {
  return impl_->self_.ref;
}

const messages::Incarnation& Mailbox::incarnation() const noexcept {
  return impl_->self_.incarnation;
}

asio::io_context& Mailbox::context() noexcept {
  return *impl_->context_;
}

void Mailbox::serve(Handler handler) {
  impl_->serve(std::move(handler));
}

asio::awaitable<PeerReply> Mailbox::request(messages::ActorRef to,
                                            std::optional<messages::Incarnation> incarnation,
                                            messages::Message message, Clock::time_point deadline) {
  return impl_->outbound_->request(std::move(to), incarnation, std::move(message), deadline);
}

void Mailbox::cast(const messages::ActorRef& to,
                   const std::optional<messages::Incarnation>& incarnation,
                   const messages::Message& message) {
  impl_->outbound_->cast(to, incarnation, message);
}

asio::awaitable<void> Mailbox::shut_down(std::chrono::milliseconds patience) {
  return impl_->shut_down(patience);
}

std::map<std::string, std::uint64_t> Mailbox::counters() const {
  return impl_->counters_.snapshot();
}

}  // namespace danaus::mailbox
