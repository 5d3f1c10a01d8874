// Crossing connects: every order in which the messages of two connecting managers can arrive, and
// random weather on top.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

/// Walks all sequences of choices, each of them from the start: the classic odometer.
class Explorer {
 public:
  /// One of `options`, as this walk has it.
  std::size_t choose(std::size_t options) {
    if (depth_ == path_.size()) {
      path_.push_back({0, options});
    }
    return path_[depth_++].first;
  }
  /// On to the next walk; false after the last.
  bool next() {
    depth_ = 0;
    while (!path_.empty() && ++path_.back().first == path_.back().second) {
      path_.pop_back();
    }
    return !path_.empty();
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> path_;
  std::size_t depth_ = 0;
};

using Action = std::function<void()>;

/// Delivers and acts in the order that `explorer` picks until nothing is left.
void play(Net& net, Explorer& explorer, std::vector<Action> actions) {
  net.settle();
  for (;;) {
    const auto channels = net.channels();
    const std::size_t options = channels.size() + (actions.empty() ? 0 : 1);
    if (options == 0) {
      return;
    }
    const std::size_t choice = options == 1 ? 0 : explorer.choose(options);
    if (choice < channels.size()) {
      net.deliver(channels[choice]);
    } else {
      const Action action = std::move(actions.front());
      actions.erase(actions.begin());
      action();
    }
  }
}

TEST(CrossingConnects, ConvergeInEveryOrderOfDelivery) {
  Explorer explorer;
  int walks = 0;
  do {
    Net net;
    net.start("a");
    net.start("b");
    std::optional<Later<QueuePairHandle>> from_a;
    std::optional<Later<QueuePairHandle>> from_b;
    play(net, explorer,
         {[&] { from_a = net.queue_pair("a", Net::ref("b")); },
          [&] { from_b = net.queue_pair("b", Net::ref("a")); }});
    net.drive_until([&] { return from_a->ready() && from_b->ready(); });
    net.drive();
    ASSERT_TRUE(from_a->get()) << from_a->message();
    ASSERT_TRUE(from_b->get()) << from_b->message();
    ASSERT_TRUE(net.connected("a", "b"));
    ASSERT_EQ(net.fabric().queue_pairs.size(), 2U) << "nothing but the one pair is left";
    ASSERT_EQ(from_a->value().descriptor.qp_num, from_b->value().descriptor.peer_qp_num);
    ++walks;
  } while (explorer.next());
  EXPECT_GE(walks, 10) << "the order of delivery was not explored";
}

TEST(CrossingConnects, ConvergeAlsoWhenThePairIsClosedMeanwhile) {
  Explorer explorer;
  do {
    Net net;
    net.start("a");
    net.start("b");
    std::vector<Later<QueuePairHandle>> handles;
    play(net, explorer,
         {[&] { handles.push_back(net.queue_pair("a", Net::ref("b"))); },
          [&] { handles.push_back(net.queue_pair("b", Net::ref("a"))); },
          [&] { static_cast<void>(net.close_peer("a", Net::ref("b"))); }});
    net.drive_until(
        [&] { return std::ranges::all_of(handles, [](const auto& h) { return h.ready(); }); });
    net.drive();
    for (const auto& handle : handles) {
      if (!handle.get()) {
        ASSERT_TRUE(handle.code() == ErrorCode::queue_pair_reset) << handle.message();
      }
    }
    const auto again = net.queue_pair("a", Net::ref("b"));
    net.drive_until([&] { return again.ready(); });
    net.drive();
    ASSERT_TRUE(again.get()) << again.message();
    ASSERT_TRUE(net.connected("a", "b"));
  } while (explorer.next());
}

TEST(CrossingConnects, ConvergeWhenOneReplyIsLostInEveryOrder) {
  Explorer explorer;
  do {
    Net net;
    net.start("a");
    net.start("b");
    const auto from_a = net.queue_pair("a", Net::ref("b"));
    const auto from_b = net.queue_pair("b", Net::ref("a"));
    net.settle();
    bool to_lose = true;
    for (auto channels = net.channels(); !channels.empty(); channels = net.channels()) {
      const std::size_t choice = channels.size() == 1 ? 0 : explorer.choose(channels.size());
      const bool is_reply = net.waiting(channels[choice]).front() == "reply";
      const bool lose = is_reply && std::exchange(to_lose, to_lose && !is_reply);
      net.deliver(channels[choice], lose ? Fate::reply_lost : Fate::delivered);
    }
    net.drive_until([&] { return from_a.ready() && from_b.ready(); });
    net.drive();
    const auto again_a = net.queue_pair("a", Net::ref("b"));
    const auto again_b = net.queue_pair("b", Net::ref("a"));
    net.drive_until([&] { return again_a.ready() && again_b.ready(); });
    net.drive();
    ASSERT_TRUE(again_a.get()) << again_a.message();
    ASSERT_TRUE(again_b.get()) << again_b.message();
    ASSERT_TRUE(net.connected("a", "b"));
    ASSERT_EQ(net.fabric().queue_pairs.size(), 2U);
  } while (explorer.next());
}

TEST(CrossingConnects, AHundredAtOnceConverge) {
  Net net;
  net.start("a");
  net.start("b");
  std::vector<Later<QueuePairHandle>> handles;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(net.queue_pair("a", Net::ref("b")));
    handles.push_back(net.queue_pair("b", Net::ref("a")));
  }
  net.drive();
  for (const auto& handle : handles) {
    ASSERT_TRUE(handle.ready());
    ASSERT_TRUE(handle.get()) << handle.message();
  }
  EXPECT_TRUE(net.connected("a", "b"));
  EXPECT_EQ(net.fabric().queue_pairs_created, 2);
}

TEST(CrossingConnects, SurviveRandomWeather) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random{seed};
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    Net net;
    net.start("a");
    net.start("b");
    std::vector<Later<QueuePairHandle>> handles;
    bool deaf = false;
    for (int step = 0; step < 60; ++step) {
      const std::string here = one_in(2) ? "a" : "b";
      const std::string there = here == "a" ? "b" : "a";
      const auto channels = net.channels();
      if (one_in(6)) {
        handles.push_back(net.queue_pair(here, Net::ref(there)));
      } else if (one_in(25)) {
        static_cast<void>(net.close_peer(here, Net::ref(there)));
      } else if (one_in(25) && !net.fabric().queue_pairs.empty()) {
        net.break_queue_pair(net.fabric().queue_pairs.begin()->first);
        deaf = true;
      } else if (one_in(60)) {
        net.kill(here);
        net.start(here);
        deaf = true;
      } else if (!channels.empty()) {
        const auto fate = one_in(8) ? (one_in(2) ? Fate::lost : Fate::reply_lost) : Fate::delivered;
        net.deliver(channels[random() % channels.size()], fate);
      }
    }
    net.drive_until(
        [&] { return std::ranges::all_of(handles, [](const auto& h) { return h.ready(); }); });
    const auto from_a = net.queue_pair("a", Net::ref("b"));
    const auto from_b = net.queue_pair("b", Net::ref("a"));
    net.drive_until([&] { return from_a.ready() && from_b.ready(); });
    net.drive();
    ASSERT_TRUE(from_a.get()) << "seed " << seed << ": " << from_a.message();
    ASSERT_TRUE(from_b.get()) << "seed " << seed << ": " << from_b.message();
    for (const std::string name : {"a", "b"}) {
      const auto stats = net.stats(name);
      ASSERT_EQ(stats.queue_pairs.size(), 1U) << "seed " << seed;
      ASSERT_EQ(stats.queue_pairs[0].queue_pair.state, 3U) << "seed " << seed;
    }
    // What died without a word is found out by the transport, which here has none.
    if (!deaf) {
      ASSERT_TRUE(net.connected("a", "b")) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace danaus::manager::testing
