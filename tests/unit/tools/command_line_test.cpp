#include "tools/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace danaus::tools {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A command line with one option of each kind.
class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    app_.add_option("--buffer", buffers_)->allow_extra_args(false);
    add_size(app_, "--size", size_, "A size");
    add_duration(app_, "--timeout", timeout_, "A duration");
    app_.add_flag("--insecure", insecure_);
    app_.set_config("--config");
  }

  std::string refusal(const std::vector<const char*>& arguments) {
    try {
      (void)parse(app_, arguments);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string config_file(const std::string& text) {
    std::string path = testing::TempDir() + "danaus_command_line_test_" +
                       testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
    std::ofstream{path} << text;
    return path;
  }

  CLI::App app_{"A command.", "danaus test"};
  std::vector<std::string> buffers_;
  std::uint64_t size_ = 0;
  milliseconds timeout_{0};
  bool insecure_ = false;
};

TEST_F(CommandLine, SetsWhatItIsGiven) {
  EXPECT_EQ(refusal({"--size", "2MiB", "--timeout=5s", "--buffer", "a=1", "--buffer", "b=2"}),
            "accepted");
  EXPECT_EQ(size_, 2U << 20U);
  EXPECT_EQ(timeout_, milliseconds{5000});
  EXPECT_THAT(buffers_, ElementsAre("a=1", "b=2"));
}

TEST_F(CommandLine, NamesTheOptionOfABadValue) {
  EXPECT_THAT(refusal({"--size", "2MB"}), AllOf(HasSubstr("--size"), HasSubstr("KiB")));
  EXPECT_THAT(refusal({"--timeout", "5"}), AllOf(HasSubstr("--timeout"), HasSubstr("ms or s")));
}

TEST_F(CommandLine, SuggestsTheOptionBehindATypingError) {
  EXPECT_THAT(refusal({"--siez", "2MiB"}),
              AllOf(HasSubstr("--siez"), HasSubstr("did you mean \"--size\"?")));
}

TEST_F(CommandLine, RefusesAnUnknownOption) {
  EXPECT_THAT(refusal({"--frobnicate"}), HasSubstr("--frobnicate"));
}

TEST_F(CommandLine, ReadsItsOptionsFromAConfigFile) {
  const std::string path = config_file(
      "size = \"1KiB\"\ntimeout = \"250ms\"\nbuffer = [\"a=1MiB\", \"b=2MiB\"]\ninsecure = true\n");
  EXPECT_EQ(refusal({"--config", path.c_str()}), "accepted");
  EXPECT_EQ(size_, 1024U);
  EXPECT_EQ(timeout_, milliseconds{250});
  EXPECT_THAT(buffers_, ElementsAre("a=1MiB", "b=2MiB"));
  EXPECT_TRUE(insecure_);
}

TEST_F(CommandLine, GoesBeforeTheConfigFile) {
  const std::string path = config_file("size = \"1KiB\"\n");
  EXPECT_EQ(refusal({"--config", path.c_str(), "--size", "2KiB"}), "accepted");
  EXPECT_EQ(size_, 2048U);
}

TEST_F(CommandLine, NamesAnUnknownKeyOfTheConfigFile) {
  const std::string path = config_file("size = \"1KiB\"\nsiez = \"1KiB\"\n");
  EXPECT_THAT(refusal({"--config", path.c_str()}), HasSubstr("siez"));
}

TEST_F(CommandLine, NamesABadValueOfTheConfigFile) {
  const std::string path = config_file("size = \"1MB\"\n");
  EXPECT_THAT(refusal({"--config", path.c_str()}), AllOf(HasSubstr("--size"), HasSubstr("KiB")));
}

TEST_F(CommandLine, NamesAMissingConfigFile) {
  EXPECT_THAT(refusal({"--config", "/nonexistent/danaus.toml"}),
              HasSubstr("/nonexistent/danaus.toml"));
}

TEST_F(CommandLine, PrintsItsHelpAndEnds) {
  testing::internal::CaptureStdout();
  const std::vector<const char*> arguments{"--help"};
  EXPECT_EQ(parse(app_, arguments), ExitCode::success);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("danaus test"), HasSubstr("--timeout DURATION")));
}

TEST(Target, MustBeDialable) {
  EXPECT_EQ(parse_target("a@tcp://127.0.0.1:5").id, "a");
  EXPECT_THROW((void)parse_target("a"), UsageError);
  EXPECT_THROW((void)parse_target("a@"), UsageError);
  EXPECT_THROW((void)parse_target("a b@tcp://127.0.0.1:5"), UsageError);
}

TEST(Target, MayNameABuffer) {
  const auto target = parse_buffer_target("a@tcp://127.0.0.1:5/weights");
  EXPECT_EQ(target.owner.at, "tcp://127.0.0.1:5");
  EXPECT_EQ(target.buffer, "weights");
  EXPECT_THROW((void)parse_buffer_target("a@tcp://127.0.0.1:5"), UsageError);
  EXPECT_THROW((void)parse_buffer_target("a/weights"), UsageError);
}

}  // namespace
}  // namespace danaus::tools
