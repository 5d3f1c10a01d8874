#include "mailbox/outbound.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include "mailbox/socket_options.hpp"
#include "messages/bytes.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox {
namespace {

/// Connections open at once. Each takes a TCP socket and three eventfds of ours, so this many need
/// a descriptor limit (`ulimit -n`) of four times as much; short of that, libzmq says EMFILE.
constexpr std::size_t max_connections = 4096;

PeerReply failed(Error error) {
  return {.body = std::unexpected{std::move(error)}, .incarnation = std::nullopt};
}

std::expected<messages::Bytes, Error> encode_bounded(const messages::Message& message) {
  messages::Bytes body = messages::encode_message(message);
  if (body.size() > messages::max_part_size) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("{} takes {} bytes when encoded, a message may have {}",
                          messages::message_name(message), body.size(), messages::max_part_size)}};
  }
  return body;
}

/// Milliseconds until `deadline`, rounded up: the peer must not give up before we do.
std::uint32_t milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(left, 1, std::numeric_limits<std::uint32_t>::max()));
}

Error timed_out(std::string_view name, const PeerConnection* connection,
                const messages::ActorRef& to) {
  const std::string_view why =
      connection != nullptr && connection->is_established()
          ? "it is connected but did not answer: it may be stopped or overloaded"
          : "no connection came about: check the address, and that no firewall swallows it";
  return {ErrorCode::timeout,
          fmt::format("{} to {} got no answer in time; {}", name, messages::to_string(to), why),
          {{"peer", to.id}, {"endpoint", to.at}}};
}

}  // namespace

Outbound::Outbound(asio::io_context& context, zmq::context_t& zmq_context, const Self& self,
                   const Limits& limits, Counters& counters)
    : context_{context},
      zmq_context_{zmq_context},
      self_{self},
      limits_{limits},
      counters_{counters},
      next_id_{messages::random_u64()} {}

asio::awaitable<PeerReply> Outbound::request(messages::ActorRef to,
                                             std::optional<messages::Incarnation> incarnation,
                                             messages::Message message,
                                             Clock::time_point deadline) {
  if (requests_stopped_) {
    co_return failed(shutting_down());
  }
  const auto body = encode_bounded(message);
  if (!body) {
    co_return failed(body.error());
  }
  auto connected = connection_to(to);
  if (!connected) {
    co_return failed(std::move(connected).error());
  }
  const std::shared_ptr<PeerConnection> connection = *std::move(connected);
  if (connection->pending()->size() >= limits_.queued_per_peer) {
    counters_.add(Counter::requests_busy);
    co_return failed(
        {ErrorCode::busy, fmt::format("{} requests already wait for {}; try again later",
                                      limits_.queued_per_peer, messages::to_string(to))});
  }

  const messages::Header header{.kind = messages::Kind::request,
                                .id = next_id_++,
                                .to = {to.id, incarnation},
                                .from = self_.sender(),
                                .timeout_ms = milliseconds_until(deadline)};
  const asio::any_io_executor executor = context_.get_executor();
  PendingRequest pending{connection->pending(), header.id, executor, incarnation};
  if (auto sent = connection->send(header, *body); !sent) {
    counters_.add(Counter::requests_busy);
    co_return failed(std::move(sent).error());
  }
  counters_.add(Counter::requests_sent);

  std::optional<PeerReply> reply = co_await pending.wait(deadline);
  if (!reply) {
    counters_.add(Counter::requests_timed_out);
    co_return failed(timed_out(messages::message_name(message), connection.get(), to));
  }
  co_return *std::move(reply);
}

void Outbound::cast(const messages::ActorRef& to,
                    const std::optional<messages::Incarnation>& incarnation,
                    const messages::Message& message) {
  const auto send = [&]() -> std::expected<void, Error> {
    const auto body = encode_bounded(message);
    if (!body) {
      return std::unexpected{body.error()};
    }
    const auto connection = connection_to(to);
    if (!connection) {
      return std::unexpected{connection.error()};
    }
    const messages::Header header{.kind = messages::Kind::cast,
                                  .id = next_id_++,
                                  .to = {to.id, incarnation},
                                  .from = self_.sender(),
                                  .timeout_ms = std::nullopt};
    return (*connection)->send(header, *body);
  };
  if (const auto sent = send()) {
    counters_.add(Counter::casts_sent);
  } else if (is_worth_a_line(counters_.add(Counter::casts_dropped))) {
    spdlog::warn("dropped a cast of {} to {}: {} (counted as {})", messages::message_name(message),
                 messages::to_string(to), sent.error().message(),
                 to_string(Counter::casts_dropped));
  }
}

void Outbound::stop_requests() {
  requests_stopped_ = true;
  for (const auto& [key, connection] : connections_) {
    connection->pending()->fail_all(shutting_down());
  }
}

void Outbound::close(int linger_ms) {
  closed_ = true;
  requests_stopped_ = true;
  for (const auto& [key, connection] : connections_) {
    connection->close(shutting_down(), linger_ms);
  }
  connections_.clear();
}

std::expected<std::shared_ptr<PeerConnection>, Error> Outbound::connection_to(
    const messages::ActorRef& to) {
  const auto found = connections_.find({to.id, to.at});
  if (found != connections_.end() && found->second->is_open()) {
    return found->second;
  }
  if (closed_) {
    return std::unexpected{shutting_down()};
  }
  if (auto checked = messages::check_actor_ref(to); !checked) {
    return std::unexpected{std::move(checked).error()};
  }
  if (to.at.empty()) {
    return std::unexpected{
        Error{ErrorCode::unreachable,
              fmt::format("{} is a passive peer: it has no endpoint, so nobody can ask it; let it "
                          "ask instead",
                          to.id)}};
  }
  return connect(to);
}

std::expected<std::shared_ptr<PeerConnection>, Error> Outbound::connect(
    const messages::ActorRef& to) {
  if (connections_.size() >= max_connections && !make_room()) {
    return std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("cannot connect to {}: {} connections are open and all wait for replies",
                          messages::to_string(to), max_connections)}};
  }
  try {
    auto connection = std::make_shared<PeerConnection>(
        context_, zmq_context_, self_, to, limits_.queued_per_peer, counters_, [this] {
          // Later: the connection is in the middle of closing.
          asio::post(context_, [this] { forget_closed(); });
        });
    connections_[{to.id, to.at}] = connection;
    return connection;
  } catch (const zmq::error_t& error) {
    if (error.num() == EMFILE || error.num() == ENFILE) {
      return std::unexpected{
          Error{ErrorCode::resource_exhausted,
                fmt::format("cannot connect to {}: out of file descriptors with {} connections "
                            "open; raise the limit (ulimit -n)",
                            messages::to_string(to), connections_.size())}};
    }
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("cannot connect to {}: {}; write tcp://HOST:PORT or ipc://PATH",
                          messages::to_string(to), error.what())}};
  }
}

/// Closes a connection that nobody waits on; false where there is none.
bool Outbound::make_room() {
  forget_closed();
  if (connections_.size() < max_connections) {
    return true;
  }
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->is_established() && entry.second->pending()->size() == 0;
  });
  if (idle == connections_.end()) {
    return false;
  }
  idle->second->close(shutting_down(), shutdown_linger_ms);
  connections_.erase(idle);
  return true;
}

void Outbound::forget_closed() {
  std::erase_if(connections_, [](const auto& entry) { return !entry.second->is_open(); });
}

Error Outbound::shutting_down() const {
  return {ErrorCode::shutting_down, fmt::format("{} is shutting down", self_.ref.id)};
}

}  // namespace danaus::mailbox
