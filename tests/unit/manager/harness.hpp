// Harness: managers over a network that the test holds in its hands. Every message waits in a
// channel (one per sender and receiver, in order) until the test delivers, loses or duplicates it;
// everything runs on one io_context, driven by the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include "manager/manager.hpp"
#include "messages/codec.hpp"
#include "tests/unit/manager/fake_transport.hpp"

namespace danaus::manager::testing {

using namespace std::chrono_literals;

/// A result that comes while the network is driven.
template <class T>
class Later {
 public:
  using Value = std::expected<T, Error>;
  [[nodiscard]] bool ready() const { return slot_->has_value(); }
  [[nodiscard]] const Value& get() const { return slot_->value(); }
  [[nodiscard]] const T& value() const { return slot_->value().value(); }
  /// The error's code; fails where there is none.
  [[nodiscard]] ErrorCode code() const { return slot_->value().error().code(); }
  [[nodiscard]] const std::string& message() const { return slot_->value().error().message(); }
  void set(Value value) const { slot_->emplace(std::move(value)); }

 private:
  std::shared_ptr<std::optional<Value>> slot_ = std::make_shared<std::optional<Value>>();
};

struct PendingReply;

enum class Fate : std::uint8_t { delivered, lost, reply_lost };

class Net {
 public:
  Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;
  ~Net();

  // ---- managers -------------------------------------------------------------------------------

  /// Starts a manager `name`@tcp://`name`:1 with devices "soft0"… unless told otherwise.
  void start(const std::string& name, std::vector<messages::DeviceInfo> devices = soft_devices(1),
             ManagerConfig config = default_config());
  /// Its process dies: what is under way to it fails with PeerLost.
  void kill(const std::string& name);
  [[nodiscard]] static std::vector<messages::DeviceInfo> soft_devices(int count);
  [[nodiscard]] static ManagerConfig default_config();
  [[nodiscard]] static messages::DeviceInfo device(std::string name, std::string transport,
                                                   bool usable = true);

  [[nodiscard]] static messages::ActorRef ref(const std::string& name);
  [[nodiscard]] messages::Incarnation incarnation(const std::string& name) const;
  [[nodiscard]] Fabric& fabric() { return *fabric_; }
  [[nodiscard]] Manager& manager(const std::string& name);

  // ---- calls ------------------------------------------------------------------------------------

  Later<QueuePairHandle> queue_pair(const std::string& at, messages::ActorRef other,
                                    std::optional<messages::Incarnation> incarnation = {},
                                    std::string self_device = "soft0",
                                    std::string other_device = "soft0",
                                    std::chrono::milliseconds timeout = 5s);
  Later<messages::Bytes> send(const std::string& from, const std::string& to,
                              messages::Message message, std::chrono::milliseconds timeout = 5s,
                              bool wants_reply = true);
  Later<Registration> register_buffer(const std::string& at, std::uint64_t address,
                                      std::uint64_t size, std::string name = {});
  Later<messages::Unit> release_buffer(const std::string& at, std::uint64_t mr_id);
  Later<messages::Unit> close_peer(const std::string& at, messages::ActorRef other);
  Later<messages::Unit> tear_down(const std::string& at);

  /// Sends and drives the network until the typed reply is there.
  template <messages::DescribedMessage M>
  std::expected<typename M::Reply, Error> ask(const std::string& from, const std::string& to,
                                              M message) {
    const auto later = send(from, to, messages::Message{std::move(message)});
    drive_until([&] { return later.ready(); });
    if (!later.get()) {
      return std::unexpected{later.get().error()};
    }
    return messages::decode<typename M::Reply>(later.value());
  }
  [[nodiscard]] messages::Stats stats(const std::string& at);
  [[nodiscard]] std::uint64_t counter(const std::string& at, const std::string& name) {
    return stats(at).counters.at(name);
  }

  // ---- the network
  // --------------------------------------------------------------------------------

  using Channel = std::pair<std::string, std::string>;
  /// Channels that hold a message.
  [[nodiscard]] std::vector<Channel> channels() const;
  [[nodiscard]] std::size_t in_flight() const;
  /// Names of the messages in a channel; a reply is "reply".
  [[nodiscard]] std::vector<std::string> waiting(const Channel& channel) const;
  /// Takes the oldest message of a channel to its fate, then runs whoever can run.
  void deliver(const Channel& channel, Fate fate = Fate::delivered);
  /// Delivers requests, replies and casts until nothing is left to do.
  void drive();
  /// The same until `done`, waiting for timers too; fails the test after 20 s.
  void drive_until(const std::function<bool()>& done);
  /// Runs whoever can run, delivers nothing.
  void settle();
  /// As `drive_until`, delivering nothing.
  void wait_until(const std::function<bool()>& done);
  /// Messages of this name never arrive.
  void lose(const std::string& message_name) { lost_.insert(message_name); }
  void stop_losing() { lost_.clear(); }
  /// How many messages of this name have been sent.
  [[nodiscard]] int sent(const std::string& message_name) const;

  // ---- what is looked at -----------------------------------------------------------------------

  /// Whether the two managers hold, for this pair, one queue pair each in RTS, connected to the
  /// other.
  [[nodiscard]] bool connected(const std::string& left, const std::string& right);
  /// Breaks the queue pair as if the connection had died.
  void break_queue_pair(std::uint32_t number);

 private:
  class Link;
  struct Node;
  struct Packet;
  void post(const Channel& channel, Packet packet);
  void arrive(const std::shared_ptr<PendingReply>& pending, const messages::Sender& from,
              const Channel& back, const std::optional<messages::Incarnation>& incarnation,
              const messages::Message& message, mailbox::Clock::time_point deadline, Fate fate);
  void arrive_cast(const messages::Sender& from, const std::string& receiver,
                   const std::optional<messages::Incarnation>& incarnation,
                   const messages::Message& message);

  asio::io_context context_;
  std::shared_ptr<Fabric> fabric_ = std::make_shared<Fabric>();
  std::map<Channel, std::deque<Packet>> channels_;
  std::set<std::string> lost_;
  std::map<std::string, int> sent_;
  std::map<std::string, std::shared_ptr<Node>> nodes_;
};

}  // namespace danaus::manager::testing
