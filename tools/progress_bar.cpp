#include "tools/progress_bar.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace danaus::tools {
namespace {

constexpr std::chrono::milliseconds redraw_interval{100};
constexpr std::size_t bar_width = 30;
/// ECMA-48: to the start of the line, erase it.
constexpr const char* wipe = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::uint64_t total_bytes, bool visible)
    : total_{total_bytes},
      visible_{visible},
      start_{std::chrono::steady_clock::now()},
      next_{start_ + redraw_interval} {}

ProgressBar::~ProgressBar() {
  if (visible_) {
    std::fputs(wipe, stderr);
  }
}

void ProgressBar::update(std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now < next_) {
    return;
  }
  next_ = now + redraw_interval;
  std::fputs((wipe + progress_line(bytes, total_, now - start_)).c_str(), stderr);
}

bool ProgressBar::has_terminal() noexcept {
  return isatty(STDERR_FILENO) == 1;
}

std::string progress_line(std::uint64_t bytes, std::uint64_t total,
                          std::chrono::duration<double> elapsed) {
  const double share = total == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * bar_width);
  return fmt::format("[{:<{}}] {:3.0f} %  {:.2f} GB/s", std::string(filled, '#'), bar_width,
                     share * 100, gbytes_per_second(bytes, elapsed.count()));
}

double gbytes_per_second(std::uint64_t bytes, double seconds) {
  constexpr double giga = 1e9;
  return seconds > 0 ? static_cast<double>(bytes) / seconds / giga : 0.0;
}

}  // namespace danaus::tools
