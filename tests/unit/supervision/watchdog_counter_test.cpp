#include "supervision/watchdog_counter.hpp"

#include <gtest/gtest.h>

namespace danaus::supervision {
namespace {

using namespace std::chrono_literals;

class WatchdogCounterTest : public ::testing::Test {
 protected:
  static constexpr auto interval = 1s;

  Pulse tick_after(WatchdogCounter::Clock::duration pause) {
    now_ += pause;
    return counter_.tick(now_, beats_);
  }

  /// Ticks in time and without a beat, one fewer than make a stall.
  void come_close_to_a_stall() {
    for (unsigned tick = 1; tick < WatchdogCounter::ticks_to_stall; ++tick) {
      ASSERT_EQ(tick_after(interval), Pulse::missing) << "tick " << tick;
    }
  }

  WatchdogCounter counter_{interval};
  WatchdogCounter::Clock::time_point now_{100s};
  std::uint64_t beats_ = 0;
};

TEST_F(WatchdogCounterTest, CallsAThreadStalledAfterEnoughTicksWithoutABeat) {
  EXPECT_EQ(tick_after(interval), Pulse::missing);
  come_close_to_a_stall();
  EXPECT_EQ(tick_after(interval), Pulse::stalled);
}

TEST_F(WatchdogCounterTest, StartsAgainAtEachBeat) {
  EXPECT_EQ(tick_after(interval), Pulse::missing);
  come_close_to_a_stall();
  ++beats_;
  EXPECT_EQ(tick_after(interval), Pulse::beating);
  come_close_to_a_stall();
  EXPECT_EQ(tick_after(interval), Pulse::stalled);
}

TEST_F(WatchdogCounterTest, StartsAgainWhenItsOwnTickComesLate) {
  EXPECT_EQ(tick_after(interval), Pulse::missing);
  come_close_to_a_stall();
  EXPECT_EQ(tick_after(60s), Pulse::missing) << "the process was stopped for a minute";
  come_close_to_a_stall();
  EXPECT_EQ(tick_after(interval), Pulse::stalled);
}

TEST_F(WatchdogCounterTest, NeverCallsAThreadStalledWhileAllTicksAreLate) {
  for (int tick = 0; tick < 100; ++tick) {
    EXPECT_EQ(tick_after(2 * interval + 1ns), Pulse::missing);
  }
}

TEST_F(WatchdogCounterTest, TakesATickThatIsLateByLessThanAnIntervalAsInTime) {
  EXPECT_EQ(tick_after(interval), Pulse::missing);
  Pulse pulse = Pulse::missing;
  for (unsigned tick = 0; tick < WatchdogCounter::ticks_to_stall; ++tick) {
    pulse = tick_after(2 * interval);
  }
  EXPECT_EQ(pulse, Pulse::stalled);
}

TEST_F(WatchdogCounterTest, StaysCalmWhileBeatsComeHoweverSlowly) {
  for (int tick = 0; tick < 100; ++tick) {
    beats_ += tick % 9 == 0 ? 1 : 0;
    EXPECT_NE(tick_after(interval), Pulse::stalled) << "tick " << tick;
  }
}

}  // namespace
}  // namespace danaus::supervision
