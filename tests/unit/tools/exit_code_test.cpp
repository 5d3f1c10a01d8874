#include "tools/exit_code.hpp"

#include <gtest/gtest.h>

namespace danaus::tools {
namespace {

TEST(ExitCode, TellsNoAnswerFromABadOne) {
  EXPECT_EQ(exit_code_of({ErrorCode::unreachable, ""}), ExitCode::unreachable);
  EXPECT_EQ(exit_code_of({ErrorCode::timeout, ""}), ExitCode::unreachable);
  EXPECT_EQ(exit_code_of({ErrorCode::peer_lost, ""}), ExitCode::unreachable);
  EXPECT_EQ(exit_code_of({ErrorCode::auth_failed, ""}), ExitCode::unreachable);
  EXPECT_EQ(exit_code_of({ErrorCode::not_found, ""}), ExitCode::failed);
  EXPECT_EQ(exit_code_of({ErrorCode::io_failed, ""}), ExitCode::failed);
}

TEST(Report, IsOneLineWithTheCodeAndWithoutControlCharacters) {
  testing::internal::CaptureStderr();
  report("get", Error{ErrorCode::not_found, "no buffer \"\x1b[2J\n\""});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "danaus get: no buffer \"\\x1b[2J\\x0a\" [NotFound]\n");
}

TEST(Report, PointsToTheUsage) {
  testing::internal::CaptureStderr();
  report("get", "what?", true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "danaus get: what?\nRun 'danaus get --help' for the usage.\n");
}

}  // namespace
}  // namespace danaus::tools
