#include "supervision/failure_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

namespace danaus::supervision {
namespace {

using namespace std::chrono_literals;

nlohmann::json parsed(const FailureLine& line) {
  return nlohmann::json::parse(line.text());
}

std::string read_all(int descriptor) {
  std::string text(1 << 16, '\0');
  const ssize_t length = ::read(descriptor, text.data(), text.size());
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

TEST(FailureLine, SaysWhatFailedWhereAndWhenAsOneLineOfJson) {
  const std::chrono::system_clock::time_point time{1'700'000'000'042ms};
  const FailureLine line{"mailbox", "bad_alloc", "worker-a", time};
  EXPECT_EQ(parsed(line), (nlohmann::json{{"level", "critical"},
                                          {"event", "worker_failed"},
                                          {"component", "mailbox"},
                                          {"reason", "bad_alloc"},
                                          {"identity", "worker-a"},
                                          {"time", "2023-11-14T22:13:20.042Z"}}));
  EXPECT_EQ(std::ranges::count(line.text(), '\n'), 1);
  EXPECT_TRUE(line.text().ends_with('\n'));
}

TEST(FailureLine, EscapesWhatJsonDoesNotAllow) {
  const FailureLine line{"mailbox", "a \"quoted\\path\"\n\t\x01", "w", {}};
  EXPECT_EQ(parsed(line).at("reason"), "a \"quoted\\path\"\n\t\x01");
  EXPECT_EQ(std::ranges::count(line.text(), '\n'), 1);
}

TEST(FailureLine, StaysValidJsonWithinItsLengthHoweverLongTheReason) {
  for (const std::string unit : {"x", "\n", "\xc3\xa9"}) {
    std::string reason;
    while (reason.size() < 100'000) {
      reason += unit;
    }
    const FailureLine line{reason, reason, reason, {}};
    EXPECT_LE(line.text().size(), FailureLine::max_length);
    EXPECT_FALSE(parsed(line).at("reason").get<std::string>().empty());
    EXPECT_TRUE(line.text().ends_with('\n'));
  }
}

class WriteWithoutBlockingTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(pipe_), 0); }
  void TearDown() override {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  int pipe_[2] = {-1, -1};
};

TEST_F(WriteWithoutBlockingTest, WritesToAPipeAndLeavesItsFlagsAlone) {
  const int before = ::fcntl(pipe_[1], F_GETFL);
  EXPECT_TRUE(write_without_blocking(pipe_[1], "the line\n"));
  EXPECT_EQ(read_all(pipe_[0]), "the line\n");
  EXPECT_EQ(::fcntl(pipe_[1], F_GETFL), before);
}

TEST_F(WriteWithoutBlockingTest, GivesUpOnAPipeThatNobodyReads) {
  ASSERT_EQ(::fcntl(pipe_[1], F_SETFL, O_NONBLOCK), 0);
  const std::string filling(4096, 'x');
  while (::write(pipe_[1], filling.data(), filling.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(pipe_[1], F_SETFL, 0), 0);
  EXPECT_FALSE(write_without_blocking(pipe_[1], "the line\n"));
}

TEST_F(WriteWithoutBlockingTest, WritesToASocket) {
  int sockets[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  EXPECT_TRUE(write_without_blocking(sockets[1], "the line\n"));
  EXPECT_EQ(read_all(sockets[0]), "the line\n");
  ::close(sockets[0]);
  ::close(sockets[1]);
}

TEST_F(WriteWithoutBlockingTest, AppendsToAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int descriptor = ::fileno(file);
  ASSERT_EQ(::write(descriptor, "before\n", 7), 7);
  EXPECT_TRUE(write_without_blocking(descriptor, "the line\n"));
  ASSERT_EQ(::lseek(descriptor, 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(descriptor), "before\nthe line\n");
  ASSERT_EQ(std::fclose(file), 0);
}

TEST_F(WriteWithoutBlockingTest, RefusesAClosedDescriptor) {
  EXPECT_FALSE(write_without_blocking(1'000'000, "the line\n"));
}

}  // namespace
}  // namespace danaus::supervision
