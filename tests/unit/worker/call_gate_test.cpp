#include "worker/call_gate.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "test_workers.hpp"

namespace danaus::worker {
namespace {

using danaus::testing::error_of;
using danaus::testing::patience;

constexpr std::chrono::milliseconds at_once{0};

const Error first{ErrorCode::shutting_down, "first"};
const Error second{ErrorCode::internal, "second"};

TEST(CallGate, KeepsCallsOutOnceClosedAndTellsTheFirstReason) {
  CallGate gate;
  gate.close(first);
  gate.close(second);
  EXPECT_EQ(error_of([&gate] { static_cast<void>(gate.enter()); }), first);
  EXPECT_TRUE(gate.wait_until_empty(at_once));
}

TEST(CallGate, CountsTheCallsThatAreInside) {
  CallGate gate;
  {
    const auto pass = gate.enter();
    const auto another = gate.enter();
    gate.close(first);
    EXPECT_FALSE(gate.wait_until_empty(at_once));
  }
  EXPECT_TRUE(gate.wait_until_empty(at_once));
}

TEST(CallGate, WakesWhoWaitsWhenTheLastCallLeaves) {
  CallGate gate;
  std::promise<void> inside;
  std::promise<void> leave;
  auto call = std::async(std::launch::async, [&] {
    const auto pass = gate.enter();
    inside.set_value();
    leave.get_future().wait();
  });
  inside.get_future().wait();
  gate.close(first);
  auto empty = std::async(std::launch::async, [&gate] { return gate.wait_until_empty(patience); });
  leave.set_value();
  EXPECT_TRUE(empty.get());
  call.get();
}

}  // namespace
}  // namespace danaus::worker
