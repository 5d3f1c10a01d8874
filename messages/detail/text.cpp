#include "messages/detail/text.hpp"

#include <cstddef>

namespace danaus::messages::detail {
namespace {

constexpr std::size_t max_printed_length = 64;
constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char character : text.substr(0, max_printed_length)) {
    const auto code = static_cast<unsigned char>(character);
    if (code >= 0x20U && code < 0x7FU) {
      result += character;
    } else {
      result += "\\x";
      result += hex_digits[code >> 4U];
      result += hex_digits[code & 0xFU];
    }
  }
  if (text.size() > max_printed_length) {
    result += "...";
  }
  return result;
}

std::string quoted(std::string_view text) {
  // Not "'" + printable(text): with optimisation GCC 12 warns of overlapping memory there
  // (gcc.gnu.org/PR105651).
  std::string result{"'"};
  result += printable(text);
  result += '\'';
  return result;
}

}  // namespace danaus::messages::detail
