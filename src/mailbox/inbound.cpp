#include "mailbox/inbound.hpp"

#include <cxxabi.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <new>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/steady_timer.hpp>

#include "mailbox/endpoint.hpp"
#include "mailbox/fatal_error.hpp"
#include "mailbox/socket_options.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox {
namespace {

/// Messages taken in one turn of the loop, so that a flood does not hold up timers and replies.
constexpr std::size_t max_messages_per_turn = 64;

/// Routing id, header, body.
constexpr std::size_t parts_of_a_message = 3;

}  // namespace

/// One admitted request or cast, from its arrival until its handler has ended.
class Inbound::Exchange {
 public:
  Exchange(asio::io_context& context, Admission::Ticket its_ticket, const messages::Header& header,
           std::string_view name)
      : ticket{std::move(its_ticket)},
        deadline{context},
        id{header.id},
        requester{header.from.id, header.from.incarnation},
        wants_reply{header.kind == messages::Kind::request},
        message_name{name} {}

  Admission::Ticket ticket;
  asio::steady_timer deadline;
  std::uint64_t id;
  messages::Addressee requester;
  bool wants_reply;
  std::string_view message_name;
  bool answered = false;
};

Inbound::Inbound(asio::io_context& context, zmq::context_t& zmq_context,
                 const MailboxConfig& config, const Self& self, Counters& counters,
                 FailureSink& failures)
    : context_{context},
      config_{config},
      self_{self},
      counters_{counters},
      failures_{failures},
      socket_{context, zmq_context, zmq::socket_type::router},
      replies_{socket_, config.limits.queued_per_peer, counters},
      admission_{std::make_shared<Admission>(config.limits.requests_in_flight,
                                             config.limits.requests_per_client)} {
  set_inbound_options(socket_.raw(), config.identity);
}

std::string Inbound::bind(const std::string& endpoint) {
  std::string bound = bind_endpoint(socket_.raw(), endpoint);
  socket_file_ = SocketFile{endpoint};
  return bound;
}

void Inbound::serve(Mailbox::Handler handler) {
  handler_ = std::move(handler);
  socket_.watch([this] { take_messages(); });
}

void Inbound::close(int linger_ms) {
  if (socket_.is_open()) {
    replies_.flush();
    socket_file_.remove();
    socket_.close(linger_ms);
  }
}

void Inbound::take_messages() {
  replies_.flush();
  for (std::size_t i = 0; i < max_messages_per_turn; ++i) {
    const std::optional<Received> received = socket_.receive(parts_of_a_message);
    if (!received) {
      return;
    }
    take(*received);
  }
}

void Inbound::take(const Received& received) {
  replies_.seen(received.parts.front().to_string(), received.connection);
  if (received.has_excess_parts || received.parts.size() != parts_of_a_message) {
    if (is_worth_a_line(counters_.add(Counter::malformed_frames))) {
      spdlog::warn("dropped a message that is not a header and a body (counted as {})",
                   to_string(Counter::malformed_frames));
    }
    return;
  }
  const auto header = messages::decode_header(bytes_of(received.parts[1]));
  if (!header) {
    const bool is_version = header.error().error.code() == ErrorCode::unsupported_version;
    refuse(received, header.error(),
           is_version ? Counter::unsupported_versions : Counter::malformed_frames);
    return;
  }
  if (header->kind == messages::Kind::reply) {
    // Replies come back on the connection of their request, never here.
    counters_.add(Counter::unexpected_replies);
    return;
  }
  take_wellformed(received, *header);
}

void Inbound::take_wellformed(const Received& received, const messages::Header& header) {
  if (header.to.id != self_.ref.id) {
    refuse(received, header,
           {ErrorCode::wrong_addressee,
            fmt::format("this is {}, not {}; check the address", self_.ref.id, header.to.id),
            {{"identity", self_.ref.id}}},
           Counter::wrong_addressees);
    return;
  }
  if (header.to.incarnation && *header.to.incarnation != self_.incarnation) {
    refuse(received, header,
           {ErrorCode::stale_peer,
            fmt::format("{} has restarted since: what was addressed to an earlier life of it is "
                        "gone; look it up again",
                        self_.ref.id),
            {{"incarnation", messages::to_hex(self_.incarnation)}}},
           Counter::stale_requests);
    return;
  }
  if (!accepting_) {
    refuse(received, header,
           {ErrorCode::shutting_down, fmt::format("{} is shutting down", self_.ref.id)},
           Counter::refused_shutting_down);
    return;
  }
  auto ticket = admission_->admit(received.parts.front().to_string(), received.connection);
  if (!ticket) {
    refuse(received, header,
           {ErrorCode::busy,
            fmt::format("{} has as many requests in flight as it takes ({} in all, {} of one "
                        "client); try again later",
                        self_.ref.id, config_.limits.requests_in_flight,
                        config_.limits.requests_per_client)},
           Counter::refused_busy);
    return;
  }
  auto message = messages::decode_message(bytes_of(received.parts[2]));
  if (!message) {
    const bool is_unknown = message.error().code() == ErrorCode::unknown_message;
    refuse(received, header, std::move(message).error(),
           is_unknown ? Counter::unknown_messages : Counter::malformed_frames);
    return;
  }

  const std::chrono::milliseconds timeout =
      header.timeout_ms ? std::chrono::milliseconds{*header.timeout_ms} : config_.default_timeout;
  auto exchange = std::make_shared<Exchange>(context_, *std::move(ticket), header,
                                             messages::message_name(*message));
  counters_.add(exchange->wants_reply ? Counter::requests_received : Counter::casts_received);
  Request request{.from = header.from,
                  .message = *std::move(message),
                  .wants_reply = exchange->wants_reply,
                  .deadline = Clock::now() + std::min(timeout, max_request_timeout)};
  start(std::move(exchange), std::move(request));
}

/// A header that could not be read in full is answered where there is an id to answer to. Only what
/// is, or may be, a request: an error in answer to a reply would go back and forth for ever.
void Inbound::refuse(const Received& received, const messages::RefusedHeader& refused,
                     Counter counter) {
  if (is_worth_a_line(counters_.add(counter))) {
    spdlog::warn("refused a message: {} (counted as {})", refused.error.message(),
                 to_string(counter));
  }
  if (refused.id && refused.kind.value_or(messages::Kind::request) == messages::Kind::request) {
    reply(received.parts.front().to_string(), received.connection, *refused.id,
          {refused.from.substr(0, messages::max_identity_length), std::nullopt},
          std::unexpected{refused.error});
  }
}

void Inbound::refuse(const Received& received, const messages::Header& header, Error error,
                     Counter counter) {
  if (is_worth_a_line(counters_.add(counter))) {
    spdlog::warn("refused a message of {}: {} (counted as {})", header.from.id, error.message(),
                 to_string(counter));
  }
  if (header.kind == messages::Kind::cast) {
    counters_.add(Counter::casts_refused);
    return;
  }
  reply(received.parts.front().to_string(), received.connection, header.id,
        {header.from.id, header.from.incarnation}, std::unexpected{std::move(error)});
}

void Inbound::reply(const std::string& client, int connection, std::uint64_t id,
                    messages::Addressee addressee, const messages::ReplyBody& body) {
  if (!socket_.is_open()) {
    counters_.add(Counter::replies_undeliverable);
    return;
  }
  messages::Bytes encoded = messages::encode_reply(body);
  if (encoded.size() > messages::max_part_size) {
    encoded = messages::encode_reply(std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("the reply takes {} bytes, a message may have {}; ask for less",
                          encoded.size(), messages::max_part_size)}});
  }
  const messages::Header header{.kind = messages::Kind::reply,
                                .id = id,
                                .to = std::move(addressee),
                                .from = self_.sender(),
                                .timeout_ms = std::nullopt};
  replies_.send(client, connection, {messages::encode_header(header), std::move(encoded)});
}

void Inbound::start(std::shared_ptr<Exchange> exchange, Request request) {
  if (exchange->wants_reply) {
    exchange->deadline.expires_at(request.deadline);
    exchange->deadline.async_wait([this, exchange](const std::error_code& error) {
      if (error != asio::error::operation_aborted) {
        time_out(*exchange);
      }
    });
  }
  asio::co_spawn(context_, run_handler(std::move(exchange), std::move(request)),
                 [](const std::exception_ptr& failure) {
                   if (failure) {
                     std::rethrow_exception(failure);
                   }
                 });
}

asio::awaitable<void> Inbound::run_handler(std::shared_ptr<Exchange> exchange, Request request) {
  const messages::ReplyBody body = co_await guarded_handler(std::move(request));
  exchange->deadline.cancel();
  finish(*exchange, body);
}

/// The handler's answer, whatever it throws.
asio::awaitable<messages::ReplyBody> Inbound::guarded_handler(Request request) {
  const std::string_view name = messages::message_name(request.message);
  const auto internal = [&](std::string_view what) {
    if (is_worth_a_line(counters_.add(Counter::handler_exceptions))) {
      spdlog::error("the handler of {} failed: {} (counted as {})", name, what,
                    to_string(Counter::handler_exceptions));
    }
    return Error{ErrorCode::internal, fmt::format("handling {} failed: {}", name, what)};
  };
  try {
    asio::awaitable<messages::ReplyBody> answer = handler_(std::move(request));
    co_return co_await std::move(answer);
  } catch (const Error& error) {
    co_return std::unexpected{error};
  } catch (const FatalError& error) {
    failures_.fail({"mailbox", fmt::format("the handler of {}: {}", name, error.what())});
    co_return std::unexpected{internal(error.what())};
  } catch (const std::bad_alloc&) {
    co_return std::unexpected{Error{ErrorCode::resource_exhausted,
                                    fmt::format("handling {} failed: out of memory", name)}};
  } catch (const std::exception& error) {
    co_return std::unexpected{internal(error.what())};
  } catch (const abi::__forced_unwind&) {
    // The thread is being cancelled: that must not be caught.
    throw;
  } catch (...) {
    // Not one of ours or of the standard library's: nothing is known of the state it left.
    failures_.fail({"mailbox", fmt::format("the handler of {} threw something unknown", name)});
    co_return std::unexpected{internal("something unknown was thrown")};
  }
}

void Inbound::finish(Exchange& exchange, const messages::ReplyBody& body) {
  if (!exchange.wants_reply) {
    return;
  }
  if (std::exchange(exchange.answered, true)) {
    counters_.add(Counter::late_results);
  } else if (!exchange.ticket.is_same_connection()) {
    counters_.add(Counter::replies_to_replaced_clients);
  } else {
    reply(exchange.ticket.client(), exchange.ticket.connection(), exchange.id, exchange.requester,
          body);
  }
}

void Inbound::time_out(Exchange& exchange) {
  if (exchange.answered) {
    return;
  }
  counters_.add(Counter::deadlines_passed);
  finish(exchange, std::unexpected{Error{
                       ErrorCode::timeout,
                       fmt::format("{} was not done by its deadline; it may still be carried out",
                                   exchange.message_name)}});
}

}  // namespace danaus::mailbox
