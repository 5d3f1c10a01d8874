// A progress bar on stderr, where that is a terminal.
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace danaus::tools {

class ProgressBar {
 public:
  /// Shows nothing unless `visible`.
  ProgressBar(std::uint64_t total_bytes, bool visible);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Wipes the bar off its line.
  ~ProgressBar();

  /// Redraws at most ten times a second.
  void update(std::uint64_t bytes);

  /// Whether stderr is a terminal.
  [[nodiscard]] static bool has_terminal() noexcept;

 private:
  std::uint64_t total_;
  bool visible_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
};

/// "[#####     ]  50 %  1.2 GB/s".
[[nodiscard]] std::string progress_line(std::uint64_t bytes, std::uint64_t total,
                                        std::chrono::duration<double> elapsed);

/// In 10^9 bytes per second; 0 where no time has passed.
[[nodiscard]] double gbytes_per_second(std::uint64_t bytes, double seconds);

}  // namespace danaus::tools
