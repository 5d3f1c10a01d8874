#include "messages/bytes.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace danaus::messages {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

std::optional<unsigned> hex_value(char digit) {
  if (digit >= '0' && digit <= '9') {
    return static_cast<unsigned>(digit - '0');
  }
  if (digit >= 'a' && digit <= 'f') {
    return static_cast<unsigned>(digit - 'a' + 10);
  }
  if (digit >= 'A' && digit <= 'F') {
    return static_cast<unsigned>(digit - 'A' + 10);
  }
  return std::nullopt;
}

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += hex_digits[value >> 4U];
    text += hex_digits[value & 0xFU];
  }
  return text;
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = hex_value(text[i]);
    const auto low = hex_value(text[i + 1]);
    if (!high || !low) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<std::byte>((*high << 4U) | *low));
  }
  return bytes;
}

void fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw std::system_error{errno, std::generic_category(), "getrandom"};
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  fill_random(std::as_writable_bytes(std::span{&value, 1}));
  return value;
}

bool equal_in_constant_time(std::span<const std::byte> left,
                            std::span<const std::byte> right) noexcept {
  if (left.size() != right.size()) {
    return false;
  }
  std::byte difference{0};
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference |= left[i] ^ right[i];
  }
  return difference == std::byte{0};
}

}  // namespace danaus::messages
