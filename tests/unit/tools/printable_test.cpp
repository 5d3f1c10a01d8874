#include "tools/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace danaus::tools {
namespace {

TEST(Printable, LeavesTextInAnyLanguageAsItIs) {
  EXPECT_EQ(printable("worker-1 größer 数据 🦋"), "worker-1 größer 数据 🦋");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("a\r\nb\tc"), "a\\x0d\\x0ab\\x09c");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable(std::string{'\0'}), "\\x00");
}

TEST(Printable, EscapesTheEightBitControlCharacters) {
  // U+009B is the one-character form of ESC [.
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");                    // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

RC_GTEST_PROP(Printable, NeverEmitsAControlCharacter, (const std::string& text)) {
  for (const char c : printable(text)) {
    const auto value = static_cast<unsigned char>(c);
    RC_ASSERT(value >= 0x20 && value != 0x7F);
  }
}

}  // namespace
}  // namespace danaus::tools
