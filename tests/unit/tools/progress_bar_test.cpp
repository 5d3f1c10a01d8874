#include "tools/progress_bar.hpp"

#include <gtest/gtest.h>

namespace danaus::tools {
namespace {

TEST(ProgressLine, ShowsShareAndSpeed) {
  EXPECT_EQ(progress_line(500'000'000, 1'000'000'000, std::chrono::duration<double>{0.25}),
            "[###############               ]  50 %  2.00 GB/s");
}

TEST(ProgressLine, IsFullForNothingToDo) {
  EXPECT_EQ(progress_line(0, 0, std::chrono::duration<double>{0}),
            "[##############################] 100 %  0.00 GB/s");
}

TEST(ProgressBar, IsSilentWhereNotVisible) {
  testing::internal::CaptureStderr();
  {
    ProgressBar{10, false}.update(5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace danaus::tools
