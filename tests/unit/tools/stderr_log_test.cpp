#include "tools/stderr_log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

namespace danaus::tools {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// Stderr is a pipe that the test reads, or does not.
class StderrLog : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = ends[0];
    saved_stderr_ = dup(STDERR_FILENO);
    saved_logger_ = spdlog::default_logger();
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_to_stderr(spdlog::level::info);
  }

  void TearDown() override {
    spdlog::set_default_logger(saved_logger_);
    dup2(saved_stderr_, STDERR_FILENO);
    close(saved_stderr_);
    close(read_end_);
  }

  /// What the pipe holds now.
  std::string drain() {
    std::string text;
    std::array<char, 4096> buffer{};
    fcntl(read_end_, F_SETFL, O_NONBLOCK);
    ssize_t count = 0;
    while ((count = read(read_end_, buffer.data(), buffer.size())) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  int read_end_ = -1;
  int saved_stderr_ = -1;
  std::shared_ptr<spdlog::logger> saved_logger_;
};

TEST_F(StderrLog, WritesOneLineAtOnce) {
  spdlog::info("hello {}", 7);
  EXPECT_THAT(drain(), EndsWith("info hello 7\n"));
}

TEST_F(StderrLog, KeepsItsLevel) {
  spdlog::debug("hidden");
  EXPECT_EQ(drain(), "");
}

TEST_F(StderrLog, EscapesControlCharacters) {
  spdlog::info("peer \x1b[2J\n says");
  EXPECT_THAT(drain(), EndsWith("peer \\x1b[2J\\x0a says\n"));
}

TEST_F(StderrLog, DropsLinesThatNobodyReadsAndSaysSo) {
  // Far more than a pipe holds; a sink that blocks would never come back.
  constexpr int lines = 2'000;
  for (int i = 0; i < lines; ++i) {
    spdlog::info("{}", std::string(1000, 'x'));
  }
  EXPECT_THAT(drain(), Not(HasSubstr("dropped")));
  spdlog::info("read again");
  EXPECT_THAT(drain(), AllOf(HasSubstr("log lines were dropped"), EndsWith("read again\n")));
}

TEST_F(StderrLog, CutsALineThatAPipeMightNotTakeWhole) {
  spdlog::info("{}", std::string(100'000, 'x'));
  const std::string text = drain();
  EXPECT_EQ(text.size(), 4096U);
  EXPECT_THAT(text, EndsWith("x...\n"));
}

}  // namespace
}  // namespace danaus::tools
