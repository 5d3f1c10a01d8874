// FailureLine: the one structured log line of a failed worker, and how it gets out whatever state
// the process is in. Used on the `supervisor` thread just before the exit. Takes no lock, allocates
// nothing and bypasses the logger: the thread that is stuck may hold any of their locks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace danaus::supervision {

/// One line of JSON, e.g. {"level":"critical","event":"worker_failed","component":"mailbox", …}.
class FailureLine {
 public:
  /// As much as a pipe takes in one piece (PIPE_BUF, pipe(7)), so lines of others never mix with
  /// it.
  static constexpr std::size_t max_length = 4096;
  /// Longer values are cut.
  static constexpr std::size_t max_identity = 256;
  static constexpr std::size_t max_component = 128;
  static constexpr std::size_t max_reason = 2048;

  FailureLine(std::string_view component, std::string_view reason, std::string_view identity,
              std::chrono::system_clock::time_point time) noexcept;

  /// With the newline at its end.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), length_}; }

 private:
  void append(std::string_view text) noexcept;
  void append_escaped(std::string_view value, std::size_t limit) noexcept;
  void append_time(std::chrono::system_clock::time_point time) noexcept;
  void append_number(unsigned value, unsigned digits) noexcept;

  std::array<char, max_length> text_{};
  std::size_t length_ = 0;
};

/// How long a reader that does not read may hold up the exit.
inline constexpr std::chrono::milliseconds write_patience{1000};

/// Writes `text`, of at most FailureLine::max_length bytes, to the descriptor with one write(2);
/// gives up after `write_patience`. Leaves the flags of the open file alone: others may share it.
/// Returns whether it got out.
bool write_without_blocking(int descriptor, std::string_view text) noexcept;

}  // namespace danaus::supervision
