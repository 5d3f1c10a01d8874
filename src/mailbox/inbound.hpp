// Inbound: the ROUTER. Takes messages from anyone, refuses what is not for us or too much, runs the
// handler for each, and sends its reply, or Timeout when the deadline comes first.
// `mailbox` thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <zmq.hpp>

#include "danaus/failure.hpp"
#include "mailbox/admission.hpp"
#include "mailbox/counters.hpp"
#include "mailbox/mailbox.hpp"
#include "mailbox/reply_queues.hpp"
#include "mailbox/self.hpp"
#include "mailbox/socket_file.hpp"
#include "mailbox/zmq_socket.hpp"
#include "messages/envelope.hpp"

namespace danaus::mailbox {

/// The longest that a request may ask us to keep it: a `timeout_ms` beyond is taken as this.
inline constexpr std::chrono::milliseconds max_request_timeout = std::chrono::hours{1};

class Inbound {
 public:
  /// Opens the socket. `self` may be completed until `serve`.
  Inbound(asio::io_context& context, zmq::context_t& zmq_context, const MailboxConfig& config,
          const Self& self, Counters& counters, FailureSink& failures);
  Inbound(const Inbound&) = delete;
  Inbound& operator=(const Inbound&) = delete;

  /// Returns the bound endpoint. Throws Error.
  std::string bind(const std::string& endpoint);

  void serve(Mailbox::Handler handler);

  /// From now on every request is answered with ShuttingDown.
  void stop_accepting() noexcept { accepting_ = false; }

  [[nodiscard]] Admission& admission() noexcept { return *admission_; }

  /// Sends what replies are ready and closes; what is unsent lingers.
  void close(int linger_ms);

 private:
  class Exchange;

  void take_messages();
  void take(const Received& received);
  void take_wellformed(const Received& received, const messages::Header& header);
  void refuse(const Received& received, const messages::RefusedHeader& refused, Counter counter);
  void refuse(const Received& received, const messages::Header& header, Error error,
              Counter counter);
  void reply(const std::string& client, int connection, std::uint64_t id,
             messages::Addressee addressee, const messages::ReplyBody& body);

  void start(std::shared_ptr<Exchange> exchange, Request request);
  asio::awaitable<void> run_handler(std::shared_ptr<Exchange> exchange, Request request);
  asio::awaitable<messages::ReplyBody> guarded_handler(Request request);
  void finish(Exchange& exchange, const messages::ReplyBody& body);
  void time_out(Exchange& exchange);

  asio::io_context& context_;
  const MailboxConfig& config_;
  const Self& self_;
  Counters& counters_;
  FailureSink& failures_;
  ZmqSocket socket_;
  SocketFile socket_file_;
  ReplyQueues replies_;
  // Shared with the tickets of handlers that outlast us.
  std::shared_ptr<Admission> admission_;
  Mailbox::Handler handler_;
  bool accepting_ = true;
};

}  // namespace danaus::mailbox
