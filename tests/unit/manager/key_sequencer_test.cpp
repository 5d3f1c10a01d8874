#include "manager/key_sequencer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

namespace danaus::manager {
namespace {

class KeySequencerTest : public ::testing::Test {
 protected:
  /// Enters, notes its name, keeps the ticket until `leave(name)`.
  void enter(const std::string& key, const std::string& name) {
    asio::co_spawn(context, work(key, name), asio::detached);
    run();
  }
  void leave(const std::string& name) {
    gates.at(name)->notify();
    run();
  }
  void run() {
    context.restart();
    while (context.poll() > 0) {
    }
  }

  asio::io_context context;
  KeySequencer<std::string> sequencer{context};
  std::vector<std::string> entered;
  std::map<std::string, std::unique_ptr<Signal>> gates;

 private:
  asio::awaitable<void> work(std::string key, std::string name) {
    gates[name] = std::make_unique<Signal>(context);
    const auto ticket = co_await sequencer.enter(key);
    entered.push_back(name);
    co_await gates.at(name)->wait_until(no_deadline);
  }
};

TEST_F(KeySequencerTest, LetsOneInAtATimeInTheOrderOfArrival) {
  enter("k", "first");
  enter("k", "second");
  enter("k", "third");
  EXPECT_EQ(entered, (std::vector<std::string>{"first"}));
  leave("first");
  EXPECT_EQ(entered, (std::vector<std::string>{"first", "second"}));
  leave("second");
  EXPECT_EQ(entered, (std::vector<std::string>{"first", "second", "third"}));
  leave("third");
}

TEST_F(KeySequencerTest, KeysDoNotWaitForEachOther) {
  enter("a", "first");
  enter("b", "second");
  EXPECT_EQ(entered, (std::vector<std::string>{"first", "second"}));
  leave("first");
  leave("second");
}

TEST_F(KeySequencerTest, ForgetsAKeyThatNobodyWorksOn) {
  enter("k", "first");
  EXPECT_EQ(sequencer.busy_keys(), 1U);
  leave("first");
  EXPECT_EQ(sequencer.busy_keys(), 0U);
}

}  // namespace
}  // namespace danaus::manager
