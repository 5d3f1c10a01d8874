// Whatever ends a manager ends its worker: proved on real processes, disturbed from outside. The
// command under test carries no fault hook.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/integration/harness/calls.hpp"
#include "tests/integration/harness/temporary_directory.hpp"
#include "tests/integration/harness/traced_thread.hpp"

namespace danaus::integration {
namespace {

using ::testing::Contains;

constexpr ExitStatus failed{.code = 1, .signal = {}};
constexpr std::chrono::milliseconds watchdog_timeout = 1s;

WorkerOptions watched_worker() {
  return {.identity = "watched", .arguments = {"--watchdog-timeout", "1s"}};
}

/// The structured log lines that say that the worker failed.
std::vector<nlohmann::json> failure_lines(const WorkerProcess& worker) {
  std::vector<nlohmann::json> lines;
  std::istringstream text{worker.process().standard_error()};
  for (std::string line; std::getline(text, line);) {
    const nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_object() && parsed.value("event", "") == "worker_failed") {
      lines.push_back(parsed);
    }
  }
  return lines;
}

void expect_failed(WorkerProcess& worker, const std::string& component) {
  const std::optional<ExitStatus> status = worker.process().wait_for_exit();
  ASSERT_TRUE(status.has_value()) << "it still runs; it wrote: "
                                  << worker.process().standard_error();
  EXPECT_EQ(*status, failed) << worker.process().standard_error();
  const auto lines = failure_lines(worker);
  ASSERT_EQ(lines.size(), 1U) << worker.process().standard_error();
  EXPECT_EQ(lines[0].at("component"), component) << lines[0];
  EXPECT_EQ(lines[0].at("identity"), "watched") << lines[0];
  EXPECT_FALSE(lines[0].at("reason").get<std::string>().empty());
}

/// Which libzmq call fails inside the mailbox's loop.
class AnErrorPastTheHandlers : public ::testing::TestWithParam<std::string> {};

TEST_P(AnErrorPastTheHandlers, EndsTheWorker) {
  Client client;
  const TemporaryDirectory directory;
  const auto trigger = directory.path() / "trigger";
  WorkerOptions options = watched_worker();
  options.environment = {"LD_PRELOAD=" + built_program("libfailing_zeromq.so"),
                         "DANAUS_TEST_TRIGGER=" + trigger.string(),
                         "DANAUS_TEST_CALL=" + GetParam(),
                         // Sanitizers want to be the first library, which nothing here needs.
                         "ASAN_OPTIONS=verify_asan_link_order=0"};
  WorkerProcess worker{options};
  ASSERT_TRUE(worker.answers(client));
  std::ofstream{trigger} << "now";
  // Something to receive; the answer never comes.
  client.cast(worker.ref(), messages::ListDevices{});
  expect_failed(worker, "mailbox");
}

INSTANTIATE_TEST_SUITE_P(In, AnErrorPastTheHandlers,
                         ::testing::Values("zmq_msg_recv", "zmq_getsockopt"),
                         [](const auto& test) { return test.param; });

class AStalledThread : public ::testing::TestWithParam<std::string> {};

TEST_P(AStalledThread, EndsTheWorker) {
  Client client;
  WorkerProcess worker{watched_worker()};
  ASSERT_TRUE(worker.answers(client));
  TracedThread thread{worker.pid(), GetParam()};
  // The process's end is reported only once the thread that is traced has been reaped.
  EXPECT_TRUE(eventually([&] {
    thread.reap_if_ended();
    return worker.process().wait_for_exit(Deadline{0ms}).has_value();
  }));
  expect_failed(worker, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Called, AStalledThread,
                         ::testing::Values("mailbox", "data", "responder-0"), [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class ADeadThread : public ::testing::TestWithParam<std::string> {};

TEST_P(ADeadThread, EndsTheWorker) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "a thread is ended from outside by x86-64 registers";
#endif
  Client client;
  WorkerProcess worker{watched_worker()};
  ASSERT_TRUE(worker.answers(client));
  ASSERT_THAT(thread_names(worker.pid()), Contains(GetParam()));
  TracedThread{worker.pid(), GetParam()}.make_it_exit();
  expect_failed(worker, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Called, ADeadThread,
                         ::testing::Values("mailbox", "data", "responder-0", "responder-1",
                                           "device-work-0"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(AStoppedProcess, ThatGoesOnIsNoFailure) {
  Client client;
  WorkerProcess worker{watched_worker()};
  for (unsigned round = 0; round < 2; ++round) {
    worker.process().signal(SIGSTOP);
    EXPECT_FALSE(worker.process().wait_for_exit(Deadline{3 * watchdog_timeout}).has_value());
    worker.process().signal(SIGCONT);
    EXPECT_TRUE(worker.answers(client));
  }
  // Nor is it one later: the watchdog has had time to count all its ticks anew.
  EXPECT_FALSE(worker.process().wait_for_exit(Deadline{2 * watchdog_timeout}).has_value());
  EXPECT_TRUE(worker.answers(client));
  EXPECT_TRUE(failure_lines(worker).empty());
}

}  // namespace
}  // namespace danaus::integration
