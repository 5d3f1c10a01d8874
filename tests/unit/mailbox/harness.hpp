// What the mailbox tests share: a mailbox on a thread of its own, a failure sink that remembers, a
// gate for handlers to wait at, and raw ZeroMQ peers that keep no rule.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>
#include <zmq.hpp>

#include "danaus/failure.hpp"
#include "mailbox/mailbox.hpp"

namespace danaus::mailbox::testing {

/// Long enough never to be reached unless the test fails.
inline constexpr std::chrono::milliseconds ample{20'000};

class RecordingSink : public FailureSink {
 public:
  void fail(Failure failure) override {
    const std::lock_guard lock{mutex_};
    failures_.push_back(std::move(failure));
  }
  [[nodiscard]] std::vector<Failure> failures() const {
    const std::lock_guard lock{mutex_};
    return failures_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Failure> failures_;
};

/// Where a handler waits until the test lets it go on. Created and used through the mailbox's
/// context.
class Gate {
 public:
  /// Lets one waiter through, now or as soon as one comes.
  void open_for_one(asio::io_context& context);
  /// Lets all through for good.
  void open(asio::io_context& context);
  asio::awaitable<void> wait();
  /// Becomes ready when as many have come to the gate, gone through or not.
  void wait_for_arrivals(std::size_t count);

 private:
  std::vector<asio::steady_timer*> waiting_;
  std::size_t permits_ = 0;
  bool open_ = false;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::size_t arrivals_ = 0;
};

/// Answers GetQpState with the number in its `self_device`, anything else with Unit.
asio::awaitable<messages::ReplyBody> answer_with_number(Request request);

/// Answers with the number, each request when the gate lets it through.
Mailbox::Handler waiting_at(Gate& gate);

/// A GetQpState to be answered by `answer_with_number`.
messages::Message numbered(std::uint32_t number);

/// The number in an answer to `numbered`.
std::optional<std::uint32_t> number_in(const messages::ReplyBody& body);

MailboxConfig config_of(std::string identity, std::string bind = "tcp://127.0.0.1:*");

/// A port that nobody listens on (any more).
std::string free_endpoint();

/// A mailbox that serves on its own thread until it is destroyed.
class RunningMailbox {
 public:
  explicit RunningMailbox(MailboxConfig config, Mailbox::Handler handler = answer_with_number);
  RunningMailbox(const RunningMailbox&) = delete;
  RunningMailbox& operator=(const RunningMailbox&) = delete;
  ~RunningMailbox();

  [[nodiscard]] Mailbox& mailbox() { return mailbox_; }
  [[nodiscard]] asio::io_context& context() { return mailbox_.context(); }
  [[nodiscard]] const messages::ActorRef& ref() const { return mailbox_.self(); }
  [[nodiscard]] std::vector<Failure> failures() const { return sink_.failures(); }

  std::future<PeerReply> start_asking(
      messages::ActorRef to, messages::Message message, std::chrono::milliseconds timeout = ample,
      std::optional<messages::Incarnation> incarnation = std::nullopt);
  PeerReply ask(messages::ActorRef to, messages::Message message,
                std::chrono::milliseconds timeout = ample,
                std::optional<messages::Incarnation> incarnation = std::nullopt);
  /// The code of the error that `ask` ended with; nothing where it succeeded.
  std::optional<ErrorCode> ask_for_error(
      messages::ActorRef to, messages::Message message, std::chrono::milliseconds timeout = ample,
      std::optional<messages::Incarnation> incarnation = std::nullopt);
  void cast(messages::ActorRef to, messages::Message message);
  void shut_down(std::chrono::milliseconds patience);
  [[nodiscard]] std::uint64_t counter(const std::string& name) const;

 private:
  RecordingSink sink_;
  Mailbox mailbox_;
  std::thread thread_;
};

using Frames = std::vector<std::string>;

/// A raw ZeroMQ socket that blocks for at most `ample`.
class RawSocket {
 public:
  explicit RawSocket(zmq::socket_type type, const std::string& routing_id = "");
  zmq::socket_t& socket() { return socket_; }
  void send(const Frames& frames);
  /// Fails the test when nothing comes.
  Frames receive();
  void close() { socket_.close(); }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

std::string text(const messages::Bytes& bytes);
std::string encode(const messages::Header& header);
std::string encode_body(const messages::Message& message);

/// A request of a raw peer "raw" to `to`.
messages::Header raw_request(const messages::ActorRef& to, std::uint64_t id);

struct RawReply {
  messages::Header header;
  messages::ReplyBody body;
};
/// Takes the next reply of a raw DEALER apart.
RawReply receive_reply(RawSocket& dealer);

}  // namespace danaus::mailbox::testing
