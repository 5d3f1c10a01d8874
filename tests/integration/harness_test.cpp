// The harness itself: what the other tests conclude rests on it.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdint>

#include "tests/integration/harness/process.hpp"
#include "tests/integration/harness/process_view.hpp"
#include "tests/integration/harness/traced_thread.hpp"

namespace danaus::integration {
namespace {

ProcessOptions shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script}, .environment = {"GREETING=hello"}};
}

TEST(Harness, ReadsOutputErrorsAndExitCodeOfAProcess) {
  Process process{shell("echo $GREETING; echo rest; echo oops >&2; exit 7")};
  EXPECT_EQ(process.read_line(), "hello");
  EXPECT_EQ(process.read_rest(), "rest\n");
  EXPECT_EQ(process.wait_for_exit(), (ExitStatus{.code = 7, .signal = {}}));
  EXPECT_EQ(process.standard_error(), "oops\n");
}

TEST(Harness, TellsAProcessThatRunsFromOneThatHasEnded) {
  Process process{{.arguments = {"/bin/sleep", "1000"}, .environment = {}}};
  EXPECT_FALSE(process.wait_for_exit(Deadline{0ms}).has_value());
  EXPECT_FALSE(process.read_line(Deadline{0ms}).has_value());
  process.signal(SIGSTOP);
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait_for_exit(), (ExitStatus{.code = {}, .signal = SIGKILL}));
}

TEST(Harness, EndsAThreadOfAProcessFromOutside) {
  // The one thread of a process that waits: the process ends with it, by exit(2) and not a signal.
  Process process{{.arguments = {"/bin/sleep", "1000"}, .environment = {}}};
  ASSERT_TRUE(eventually([&] { return thread_names(process.pid()).at(0) == "sleep"; }));
  TracedThread{process.pid(), "sleep"}.make_it_exit();
  EXPECT_EQ(process.wait_for_exit(), (ExitStatus{.code = 0, .signal = {}}));
}

TEST(Harness, SeesAndChangesMemoryByAddress) {
  std::array<std::uint64_t, 2> numbers{1, 2};
  const auto address = reinterpret_cast<std::uint64_t>(&numbers[1]);
  const std::vector<std::byte> bytes = pattern(sizeof(std::uint64_t), 3);
  write_memory(::getpid(), address, bytes);
  EXPECT_EQ(read_memory(::getpid(), address, bytes.size()), bytes);
  EXPECT_EQ(numbers[0], 1U);
  EXPECT_ANY_THROW((void)read_memory(::getpid(), 0, 1));
}

TEST(Harness, MakesPatternsThatDifferBySeedAndByPlace) {
  constexpr std::size_t page = 4096;
  const auto bytes = pattern(3 * page, 1);
  EXPECT_NE(bytes, pattern(3 * page, 2));
  EXPECT_FALSE(std::equal(bytes.begin(), bytes.begin() + page, bytes.begin() + page));
  EXPECT_EQ(pattern(1, 9).size(), 1U);
}

}  // namespace
}  // namespace danaus::integration
