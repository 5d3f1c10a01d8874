#include "tests/unit/manager/harness.hpp"

#include <gtest/gtest.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "manager/peer_link.hpp"
#include "manager/signal.hpp"

namespace danaus::manager::testing {

/// A request under way: shared by the requester and by whatever becomes of its packets.
struct PendingReply {
  explicit PendingReply(asio::io_context& context) : arrived{context} {}
  Signal arrived;
  std::optional<mailbox::PeerReply> reply;
  void set(mailbox::PeerReply value) {
    if (!reply) {
      reply = std::move(value);
      arrived.notify();
    }
  }
};

struct Net::Packet {
  std::string name;
  /// Carries it out at the receiver.
  std::function<void(Fate)> arrive;
};

struct Net::Node {
  std::string name;
  messages::ActorRef self;
  messages::Incarnation incarnation = messages::random_bytes<16>();
  bool alive = true;
  std::unique_ptr<Manager> manager;
};

class Net::Link final : public PeerLink {
 public:
  Link(Net& net, Node& node) : net_{net}, node_{node} {}

  const messages::ActorRef& self() const noexcept override { return node_.self; }
  const messages::Incarnation& incarnation() const noexcept override { return node_.incarnation; }
  asio::io_context& context() noexcept override { return net_.context_; }

  asio::awaitable<mailbox::PeerReply> request(messages::ActorRef to,
                                              std::optional<messages::Incarnation> incarnation,
                                              messages::Message message,
                                              mailbox::Clock::time_point deadline) override {
    const auto pending = std::make_shared<PendingReply>(net_.context_);
    const messages::Sender from{node_.self.id, node_.self.at, node_.incarnation};
    Net& net = net_;
    const Channel there{from.id, to.id};
    const Channel back{to.id, from.id};
    ++net.sent_[std::string{messages::message_name(message)}];
    Packet packet{std::string{messages::message_name(message)},
                  [&net, pending, from, back, incarnation, message, deadline](Fate fate) {
                    net.arrive(pending, from, back, incarnation, message, deadline, fate);
                  }};
    net.post(there, std::move(packet));
    while (!pending->reply && Clock::now() < deadline) {
      co_await pending->arrived.wait_until(deadline);
    }
    if (!pending->reply) {
      pending->set({std::unexpected{Error{ErrorCode::timeout, "no reply came in time"}}, {}});
    }
    co_return *pending->reply;
  }

  void cast(const messages::ActorRef& to, const std::optional<messages::Incarnation>& incarnation,
            const messages::Message& message) override {
    const messages::Sender from{node_.self.id, node_.self.at, node_.incarnation};
    Net& net = net_;
    const std::string receiver = to.id;
    ++net.sent_[std::string{messages::message_name(message)}];
    net.post({from.id, to.id}, {std::string{messages::message_name(message)},
                                [&net, from, receiver, incarnation, message](Fate fate) {
                                  if (fate == Fate::delivered) {
                                    net.arrive_cast(from, receiver, incarnation, message);
                                  }
                                }});
  }

  std::map<std::string, std::uint64_t> counters() const override { return {{"link.test", 1}}; }

 private:
  Net& net_;
  Node& node_;
};

namespace {

template <class T>
asio::awaitable<void> fill(asio::awaitable<std::expected<T, Error>> work, Later<T> later) {
  later.set(co_await std::move(work));
}

asio::awaitable<void> fill_void(asio::awaitable<std::expected<void, Error>> work,
                                Later<messages::Unit> later) {
  const auto result = co_await std::move(work);
  if (result) {
    later.set(messages::Unit{});
  } else {
    later.set(std::unexpected{result.error()});
  }
}

asio::awaitable<void> finish(asio::awaitable<void> work, Later<messages::Unit> later) {
  co_await std::move(work);
  later.set(messages::Unit{});
}

}  // namespace

Net::Net() = default;

Net::~Net() {
  for (const auto& [name, node] : nodes_) {
    if (node->manager) {
      const Later<messages::Unit> done;
      asio::co_spawn(context_, finish(node->manager->tear_down(), done), asio::detached);
      drive_until([&] { return done.ready(); });
    }
  }
  nodes_.clear();
}

void Net::start(const std::string& name, std::vector<messages::DeviceInfo> devices,
                ManagerConfig config) {
  auto node = std::make_shared<Node>();
  node->name = name;
  node->self = ref(name);
  std::vector<std::unique_ptr<transport::Device>> fakes;
  for (messages::DeviceInfo& info : devices) {
    fakes.push_back(std::make_unique<FakeDevice>(fabric_, std::move(info)));
  }
  node->manager = std::make_unique<Manager>(std::move(config), std::make_unique<Link>(*this, *node),
                                            context_, context_, std::move(fakes));
  nodes_[name] = std::move(node);
}

void Net::kill(const std::string& name) {
  const std::shared_ptr<Node> node = std::move(nodes_.at(name));
  nodes_.erase(name);
  const Later<messages::Unit> done;
  asio::co_spawn(context_, finish(node->manager->tear_down(), done), asio::detached);
  // What is under way from it or to it is lost, also what its end still sends.
  wait_until([&] {
    for (auto& [channel, packets] : channels_) {
      if (channel.first == name || channel.second == name) {
        for (const Packet& packet : std::exchange(packets, {})) {
          packet.arrive(Fate::lost);
        }
      }
    }
    return done.ready();
  });
}

std::vector<messages::DeviceInfo> Net::soft_devices(int count) {
  std::vector<messages::DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(device("soft" + std::to_string(i), "soft"));
  }
  return devices;
}

messages::DeviceInfo Net::device(std::string name, std::string transport, bool usable) {
  return {.name = std::move(name),
          .transport = std::move(transport),
          .port = 1,
          .usable = usable,
          .reason = usable ? "" : "its port is down",
          .attributes = {}};
}

ManagerConfig Net::default_config() {
  ManagerConfig config;
  config.ready_patience = 5ms;
  return config;
}

messages::ActorRef Net::ref(const std::string& name) {
  return {name, "tcp://" + name + ":1"};
}

Manager& Net::manager(const std::string& name) {
  return *nodes_.at(name)->manager;
}

messages::Incarnation Net::incarnation(const std::string& name) const {
  return nodes_.at(name)->incarnation;
}

// ---- calls --------------------------------------------------------------------------------------

Later<QueuePairHandle> Net::queue_pair(const std::string& at, messages::ActorRef other,
                                       std::optional<messages::Incarnation> incarnation,
                                       std::string self_device, std::string other_device,
                                       std::chrono::milliseconds timeout) {
  const Later<QueuePairHandle> later;
  auto work = manager(at).queue_pair(std::move(other), incarnation, std::move(self_device),
                                     std::move(other_device), mailbox::Clock::now() + timeout);
  asio::co_spawn(context_, fill(std::move(work), later), asio::detached);
  settle();
  return later;
}

Later<messages::Bytes> Net::send(const std::string& from, const std::string& to,
                                 messages::Message message, std::chrono::milliseconds timeout,
                                 bool wants_reply) {
  const Later<messages::Bytes> later;
  mailbox::Request request{{from, "tcp://" + from + ":1", {}},
                           std::move(message),
                           wants_reply,
                           mailbox::Clock::now() + timeout};
  if (const auto node = nodes_.find(from); node != nodes_.end()) {
    request.from.incarnation = node->second->incarnation;
  }
  asio::co_spawn(context_, fill(manager(to).handle(std::move(request)), later), asio::detached);
  settle();
  return later;
}

Later<Registration> Net::register_buffer(const std::string& at, std::uint64_t address,
                                         std::uint64_t size, std::string name) {
  const Later<Registration> later;
  auto work = manager(at).register_buffer(address, size, std::move(name), transport::full_access);
  asio::co_spawn(context_, fill(std::move(work), later), asio::detached);
  settle();
  return later;
}

Later<messages::Unit> Net::release_buffer(const std::string& at, std::uint64_t mr_id) {
  const Later<messages::Unit> later;
  asio::co_spawn(context_, fill_void(manager(at).release_buffer(mr_id), later), asio::detached);
  settle();
  return later;
}

Later<messages::Unit> Net::close_peer(const std::string& at, messages::ActorRef other) {
  const Later<messages::Unit> later;
  auto work =
      manager(at).close_peer(std::move(other), "soft0", "soft0", mailbox::Clock::now() + 5s);
  asio::co_spawn(context_, fill_void(std::move(work), later), asio::detached);
  settle();
  return later;
}

Later<messages::Unit> Net::tear_down(const std::string& at) {
  const Later<messages::Unit> later;
  asio::co_spawn(context_, finish(manager(at).tear_down(), later), asio::detached);
  settle();
  return later;
}

messages::Stats Net::stats(const std::string& at) {
  const auto later = send("observer", at, messages::Message{messages::GetStats{}});
  return messages::decode<messages::Stats>(later.value()).value();
}

// ---- the network --------------------------------------------------------------------------------

void Net::post(const Channel& channel, Packet packet) {
  if (lost_.contains(packet.name)) {
    packet.arrive(Fate::lost);
    return;
  }
  channels_[channel].push_back(std::move(packet));
}

namespace {
mailbox::PeerReply failed(ErrorCode code, const std::string& message) {
  return {std::unexpected{Error{code, message}}, std::nullopt};
}
}  // namespace

void Net::arrive(const std::shared_ptr<PendingReply>& pending, const messages::Sender& from,
                 const Channel& back, const std::optional<messages::Incarnation>& incarnation,
                 const messages::Message& message, mailbox::Clock::time_point deadline, Fate fate) {
  const auto node = nodes_.find(back.first);
  if (node == nodes_.end()) {
    pending->set(failed(ErrorCode::unreachable, back.first + " is not there"));
    return;
  }
  if (fate == Fate::lost) {
    pending->set(failed(ErrorCode::peer_lost, "the request was lost"));
    return;
  }
  const messages::Incarnation life = node->second->incarnation;
  if (incarnation && *incarnation != life) {
    pending->set({std::unexpected{Error{ErrorCode::stale_peer, "meant for another life"}}, life});
    return;
  }
  const Later<messages::Bytes> answer;
  mailbox::Request request{from, message, true, deadline};
  asio::co_spawn(context_, fill(node->second->manager->handle(std::move(request)), answer),
                 [this, pending, answer, back, life, fate](const std::exception_ptr&) {
                   post(back, {"reply", [pending, answer, life, fate](Fate reply_fate) {
                                 if (fate == Fate::reply_lost || reply_fate != Fate::delivered) {
                                   pending->set(failed(ErrorCode::peer_lost, "the reply was lost"));
                                 } else {
                                   pending->set({answer.get(), life});
                                 }
                               }});
                 });
}

void Net::arrive_cast(const messages::Sender& from, const std::string& receiver,
                      const std::optional<messages::Incarnation>& incarnation,
                      const messages::Message& message) {
  const auto node = nodes_.find(receiver);
  if (node == nodes_.end() || (incarnation && *incarnation != node->second->incarnation)) {
    return;
  }
  mailbox::Request request{from, message, false, mailbox::Clock::now() + 5s};
  const Later<messages::Bytes> dropped;
  asio::co_spawn(context_, fill(node->second->manager->handle(std::move(request)), dropped),
                 asio::detached);
}

std::vector<Net::Channel> Net::channels() const {
  std::vector<Channel> busy;
  for (const auto& [channel, packets] : channels_) {
    if (!packets.empty()) {
      busy.push_back(channel);
    }
  }
  return busy;
}

std::size_t Net::in_flight() const {
  std::size_t count = 0;
  for (const auto& [channel, packets] : channels_) {
    count += packets.size();
  }
  return count;
}

std::vector<std::string> Net::waiting(const Channel& channel) const {
  std::vector<std::string> names;
  if (const auto found = channels_.find(channel); found != channels_.end()) {
    for (const Packet& packet : found->second) {
      names.push_back(packet.name);
    }
  }
  return names;
}

void Net::deliver(const Channel& channel, Fate fate) {
  std::deque<Packet>& packets = channels_.at(channel);
  const Packet packet = std::move(packets.front());
  packets.pop_front();
  packet.arrive(fate);
  settle();
}

void Net::settle() {
  context_.restart();
  while (context_.poll() > 0) {
  }
}

void Net::drive() {
  settle();
  for (auto busy = channels(); !busy.empty(); busy = channels()) {
    deliver(busy.front());
  }
}

void Net::drive_until(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  for (;;) {
    drive();
    if (done()) {
      return;
    }
    ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "nothing came of it within 20 s";
    context_.restart();
    context_.run_one_for(100ms);
  }
}

void Net::wait_until(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  for (;;) {
    settle();
    if (done()) {
      return;
    }
    ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "nothing came of it within 20 s";
    context_.restart();
    context_.run_one_for(100ms);
  }
}

int Net::sent(const std::string& message_name) const {
  const auto found = sent_.find(message_name);
  return found == sent_.end() ? 0 : found->second;
}

// ---- what is looked at
// ---------------------------------------------------------------------------

bool Net::connected(const std::string& left, const std::string& right) {
  constexpr auto ready_to_send =
      static_cast<std::uint32_t>(transport::QueuePairState::ready_to_send);
  const auto ends = [&](const std::string& at, const std::string& other) {
    std::vector<messages::QueuePairDescriptor> found;
    for (const messages::QueuePairStats& stats : stats(at).queue_pairs) {
      if (stats.queue_pair.other.id == other) {
        found.push_back(stats.queue_pair);
      }
    }
    return found;
  };
  const auto here = ends(left, right);
  const auto there = ends(right, left);
  return here.size() == 1 && there.size() == 1 && here[0].state == ready_to_send &&
         there[0].state == ready_to_send && here[0].qp_num == there[0].peer_qp_num &&
         there[0].qp_num == here[0].peer_qp_num;
}

void Net::break_queue_pair(std::uint32_t number) {
  fabric_->queue_pairs.at(number)->die();
}

}  // namespace danaus::manager::testing
