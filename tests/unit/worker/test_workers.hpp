// Workers and clients for the tests of this folder, on loopback, and how to look at what they did.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "danaus/danaus.hpp"

namespace danaus::testing {

// A bound on hangs, not on speed: these tests run with sanitizers on busy machines.
inline constexpr std::chrono::milliseconds patience{30'000};

[[nodiscard]] inline WorkerConfig config_of(std::string identity,
                                            std::string bind = "tcp://127.0.0.1:*") {
  WorkerConfig config;
  config.identity = std::move(identity);
  config.bind = std::move(bind);
  return config;
}

/// The error that `call` throws; fails the test where it throws none.
template <class Call>
[[nodiscard]] Error error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ErrorCode::internal, "no error was thrown"};
}

/// Names the code in failures.
[[nodiscard]] inline std::string code_name(const Error& error) {
  return std::string{to_string(error.code())};
}

/// `size` bytes that differ from each other and from those of another seed.
[[nodiscard]] inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2'654'435'761U + 1;
  for (std::byte& byte : bytes) {
    state = state * 1'664'525U + 1'013'904'223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

inline void fill(const Buffer& buffer, const std::vector<std::byte>& bytes) {
  ASSERT_EQ(buffer.size(), bytes.size());
  std::ranges::copy(bytes, buffer.memory().begin());
}

[[nodiscard]] inline std::vector<std::byte> content(const Buffer& buffer) {
  return {buffer.memory().begin(), buffer.memory().end()};
}

}  // namespace danaus::testing
