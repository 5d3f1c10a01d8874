// What the tests of the wire share.
#pragma once

#include <gtest/gtest.h>

#include <expected>
#include <string>
#include <string_view>

#include "messages/bytes.hpp"
#include "messages/codec.hpp"
#include "messages/error.hpp"

namespace danaus::messages::test {

inline constexpr auto invalid = ErrorCode::invalid_argument;
inline constexpr auto malformed = ErrorCode::malformed;

inline Bytes hex(std::string_view digits) {
  return from_hex(digits).value();
}

/// MessagePack by hand: `text` as a short string.
inline std::string text(std::string_view text) {
  const auto head = static_cast<std::byte>(0xA0U | text.size());
  return to_hex(std::span{&head, 1}) + to_hex(std::as_bytes(std::span{text}));
}

/// {"name": body} in hex, for a name of at most 31 characters.
inline std::string entry(std::string_view name, std::string_view body) {
  return "81" + text(name) + std::string{body};
}

/// The result is the error `code` and its message contains `part`.
template <class T>
void expect_error(const std::expected<T, Error>& result, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(to_string(result.error().code()), to_string(code)) << result.error().message();
  EXPECT_NE(result.error().message().find(part), std::string::npos) << result.error().message();
}

}  // namespace danaus::messages::test
