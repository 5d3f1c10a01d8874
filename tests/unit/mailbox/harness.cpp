#include "harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "messages/codec.hpp"

namespace danaus::mailbox::testing {

void Gate::open_for_one(asio::io_context& context) {
  asio::post(context, [this] {
    if (waiting_.empty()) {
      ++permits_;
      return;
    }
    waiting_.front()->cancel();
    waiting_.erase(waiting_.begin());
  });
}

void Gate::open(asio::io_context& context) {
  asio::post(context, [this] {
    open_ = true;
    for (asio::steady_timer* timer : std::exchange(waiting_, {})) {
      timer->cancel();
    }
  });
}

asio::awaitable<void> Gate::wait() {
  {
    const std::lock_guard lock{mutex_};
    ++arrivals_;
    arrived_.notify_all();
  }
  if (open_) {
    co_return;
  }
  if (permits_ > 0) {
    --permits_;
    co_return;
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer{executor, asio::steady_timer::time_point::max()};
  waiting_.push_back(&timer);
  std::error_code ignored;
  auto token = asio::redirect_error(asio::use_awaitable, ignored);
  co_await timer.async_wait(token);
}

void Gate::wait_for_arrivals(std::size_t count) {
  std::unique_lock lock{mutex_};
  if (!arrived_.wait_for(lock, ample, [&] { return arrivals_ >= count; })) {
    throw std::runtime_error{"too few came to the gate"};
  }
}

asio::awaitable<messages::ReplyBody> answer_with_number(Request request) {
  if (const auto* message = std::get_if<messages::ManagerMessage>(&request.message)) {
    if (const auto* asked = std::get_if<messages::GetQpState>(message)) {
      co_return messages::encode(static_cast<std::uint32_t>(std::stoul(asked->self_device)));
    }
  }
  co_return messages::encode(messages::Unit{});
}

static asio::awaitable<messages::ReplyBody> answer_when_open(Gate* gate, Request request) {
  co_await gate->wait();
  co_return co_await answer_with_number(std::move(request));
}

Mailbox::Handler waiting_at(Gate& gate) {
  return [&gate](Request request) { return answer_when_open(&gate, std::move(request)); };
}

messages::Message numbered(std::uint32_t number) {
  return messages::ManagerMessage{messages::GetQpState{
      .other = {"other", ""}, .self_device = std::to_string(number), .other_device = ""}};
}

std::optional<std::uint32_t> number_in(const messages::ReplyBody& body) {
  if (!body) {
    return std::nullopt;
  }
  const auto number = messages::decode<std::uint32_t>(*body);
  return number ? std::optional{*number} : std::nullopt;
}

MailboxConfig config_of(std::string identity, std::string bind) {
  MailboxConfig config;
  config.identity = std::move(identity);
  config.incarnation = messages::random_bytes<16>();
  config.bind = std::move(bind);
  return config;
}

std::string free_endpoint() {
  zmq::context_t context;
  zmq::socket_t socket{context, zmq::socket_type::router};
  socket.bind("tcp://127.0.0.1:*");
  return socket.get(zmq::sockopt::last_endpoint);
}

RunningMailbox::RunningMailbox(MailboxConfig config, Mailbox::Handler handler)
    : mailbox_{std::move(config), sink_} {
  mailbox_.serve(std::move(handler));
  thread_ = std::thread{[this] { mailbox_.context().run(); }};
}

RunningMailbox::~RunningMailbox() {
  mailbox_.context().stop();
  thread_.join();
}

std::future<PeerReply> RunningMailbox::start_asking(
    messages::ActorRef to, messages::Message message, std::chrono::milliseconds timeout,
    std::optional<messages::Incarnation> incarnation) {
  auto request =
      mailbox_.request(std::move(to), incarnation, std::move(message), Clock::now() + timeout);
  return asio::co_spawn(context(), std::move(request), asio::use_future);
}

PeerReply RunningMailbox::ask(messages::ActorRef to, messages::Message message,
                              std::chrono::milliseconds timeout,
                              std::optional<messages::Incarnation> incarnation) {
  return start_asking(std::move(to), std::move(message), timeout, incarnation).get();
}

std::optional<ErrorCode> RunningMailbox::ask_for_error(
    messages::ActorRef to, messages::Message message, std::chrono::milliseconds timeout,
    std::optional<messages::Incarnation> incarnation) {
  const PeerReply reply = ask(std::move(to), std::move(message), timeout, incarnation);
  return reply.body ? std::nullopt : std::optional{reply.body.error().code()};
}

void RunningMailbox::cast(messages::ActorRef to, messages::Message message) {
  asio::post(context(), [&] { mailbox_.cast(to, std::nullopt, message); });
  // One thread, first in first out: when this is done, so is the cast.
  asio::post(context(), asio::use_future).get();
}

void RunningMailbox::shut_down(std::chrono::milliseconds patience) {
  asio::co_spawn(context(), mailbox_.shut_down(patience), asio::use_future).get();
}

std::uint64_t RunningMailbox::counter(const std::string& name) const {
  return mailbox_.counters().at("mailbox." + name);
}

RawSocket::RawSocket(zmq::socket_type type, const std::string& routing_id)
    : socket_{context_, type} {
  if (!routing_id.empty()) {
    socket_.set(zmq::sockopt::routing_id, routing_id);
  }
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(ample.count()));
  socket_.set(zmq::sockopt::sndtimeo, static_cast<int>(ample.count()));
}

void RawSocket::send(const Frames& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto flags = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
    if (!socket_.send(zmq::buffer(frames[i]), flags)) {
      throw std::runtime_error{"a raw socket could not send"};
    }
  }
}

Frames RawSocket::receive() {
  Frames frames;
  bool more = true;
  while (more) {
    zmq::message_t part;
    if (!socket_.recv(part)) {
      throw std::runtime_error{"nothing came to a raw socket"};
    }
    more = part.more();
    frames.push_back(part.to_string());
  }
  return frames;
}

std::string text(const messages::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string encode(const messages::Header& header) {
  return text(messages::encode_header(header));
}

std::string encode_body(const messages::Message& message) {
  return text(messages::encode_message(message));
}

messages::Header raw_request(const messages::ActorRef& to, std::uint64_t id) {
  return {.kind = messages::Kind::request,
          .id = id,
          .to = {to.id, std::nullopt},
          .from = {"raw", "", std::nullopt},
          .timeout_ms = std::nullopt};
}

RawReply receive_reply(RawSocket& dealer) {
  const Frames frames = dealer.receive();
  if (frames.size() != 2) {
    throw std::runtime_error{"a reply has two parts"};
  }
  auto header = messages::decode_header(std::as_bytes(std::span{frames[0]}));
  auto body = messages::decode_reply(std::as_bytes(std::span{frames[1]}));
  if (!header || !body) {
    throw std::runtime_error{"a reply that cannot be read"};
  }
  return {*std::move(header), *std::move(body)};
}

}  // namespace danaus::mailbox::testing
