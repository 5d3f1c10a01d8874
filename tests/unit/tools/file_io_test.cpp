#include "tools/file_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace danaus::tools {
namespace {

namespace fs = std::filesystem;

/// A folder of the test's own, removed after it.
class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = testing::TempDir() + "danaus_file_io_test_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_text(const fs::path& path, std::string_view text) { std::ofstream{path} << text; }

  std::string text_of(const fs::path& path) {
    std::ifstream stream{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }

  std::size_t files_in_folder() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}));
  }

  fs::path folder_;
};

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span{text});
}

ErrorCode code_of(const auto& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

TEST_F(Files, AreReadWindowByWindow) {
  write_text(folder_ / "in put", "0123456789");
  const InputFile file{folder_ / "in put"};
  EXPECT_EQ(file.size(), 10U);
  std::array<char, 4> window{};
  file.read(3, std::as_writable_bytes(std::span{window}));
  EXPECT_EQ(std::string(window.begin(), window.end()), "3456");
}

TEST_F(Files, ThatShrinkWhileTheyAreReadAreNoticed) {
  write_text(folder_ / "input", "0123456789");
  const InputFile file{folder_ / "input"};
  fs::resize_file(folder_ / "input", 5);
  std::array<std::byte, 10> window{};
  EXPECT_EQ(code_of([&] { file.read(0, window); }), ErrorCode::io_failed);
}

TEST_F(Files, ToReadMustExistAndBeRegular) {
  EXPECT_EQ(code_of([&] { InputFile{folder_ / "missing"}; }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { InputFile{folder_}; }), ErrorCode::invalid_argument);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { InputFile{folder_ / "pipe"}; }), ErrorCode::invalid_argument);
}

TEST_F(Files, AppearAsAWholeOnCommit) {
  OutputFile file{folder_ / "output", 10};
  file.write(bytes("01234"));
  EXPECT_FALSE(fs::exists(folder_ / "output"));
  file.write(bytes("56789"));
  file.commit();
  EXPECT_EQ(text_of(folder_ / "output"), "0123456789");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(Files, ThatAreNotCommittedLeaveNothingAndKeepTheOldOne) {
  write_text(folder_ / "output", "old");
  {
    OutputFile file{folder_ / "output", 3};
    file.write(bytes("new"));
  }
  EXPECT_EQ(text_of(folder_ / "output"), "old");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(Files, AreRemovedWhenASignalEndsTheProcess) {
  const auto write_and_end = [&] {
    OutputFile file{folder_ / "output", 3};
    file.write(bytes("new"));
    raise(SIGTERM);
  };
  EXPECT_EXIT(write_and_end(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(Files, KeepThePermissionsOfTheOldOne) {
  write_text(folder_ / "output", "old");
  ASSERT_EQ(chmod((folder_ / "output").c_str(), 0640), 0);
  OutputFile file{folder_ / "output", 3};
  file.commit();
  EXPECT_EQ(fs::status(folder_ / "output").permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(Files, BehindASymbolicLinkAreReplacedAndTheLinkStays) {
  write_text(folder_ / "target", "old");
  fs::create_symlink("target", folder_ / "link");
  OutputFile file{folder_ / "link", 3};
  file.write(bytes("new"));
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(text_of(folder_ / "target"), "new");
}

TEST_F(Files, ToWriteNeedTheirFolder) {
  EXPECT_EQ(code_of([&] { OutputFile(folder_ / "missing" / "output", 1); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { OutputFile(folder_, 1); }), ErrorCode::invalid_argument);
}

TEST_F(Files, LargerThanTheDiskFailBeforeAnythingIsWritten) {
  EXPECT_EQ(code_of([&] { OutputFile(folder_ / "output", std::uint64_t{1} << 60U); }),
            ErrorCode::resource_exhausted);
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(Files, ThatAreNotRegularAreWrittenToDirectly) {
  OutputFile file{"/dev/null", 3};
  file.write(bytes("new"));
  file.commit();
  EXPECT_FALSE(file.is_regular());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, TellOfAFullDisk) {
  OutputFile file{"/dev/full", 3};
  EXPECT_EQ(code_of([&] { file.write(bytes("new")); }), ErrorCode::resource_exhausted);
}

}  // namespace
}  // namespace danaus::tools
