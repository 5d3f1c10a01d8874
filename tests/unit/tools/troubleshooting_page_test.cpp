// The troubleshooting page has an entry for every error code, and for nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "messages/error_code.hpp"

namespace danaus {
namespace {

/// The text below each "### `Code`" heading.
std::map<std::string, std::string> entries_of_page() {
  std::ifstream page{DANAUS_TROUBLESHOOTING_PAGE};
  EXPECT_TRUE(page) << DANAUS_TROUBLESHOOTING_PAGE;
  const std::string before = "### `";
  std::map<std::string, std::string> entries;
  std::string current;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(before)) {
      current = line.substr(before.size(), line.find('`', before.size()) - before.size());
      EXPECT_TRUE(entries.emplace(current, "").second) << current << " has two entries";
    } else if (line.starts_with('#')) {
      current.clear();
    } else if (!current.empty()) {
      entries[current] += line;
    }
  }
  return entries;
}

TEST(TroubleshootingPage, HasAnEntryForEveryErrorCode) {
  const auto entries = entries_of_page();
  constexpr std::size_t shortest_help = 80;
  for (const ErrorCode code : all_error_codes()) {
    const auto entry = entries.find(std::string{to_string(code)});
    ASSERT_NE(entry, entries.end()) << to_string(code);
    EXPECT_GE(entry->second.size(), shortest_help) << to_string(code);
  }
}

TEST(TroubleshootingPage, HasNoEntryForACodeThatDoesNotExist) {
  for (const auto& [name, text] : entries_of_page()) {
    EXPECT_TRUE(error_code_from_string(name)) << name;
  }
}

}  // namespace
}  // namespace danaus
