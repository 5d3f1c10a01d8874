#include "tools/stderr_log.hpp"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tools/printable.hpp"

namespace danaus::tools {
namespace {

/// A pipe that poll(2) calls writable has a free page, and takes PIPE_BUF bytes without blocking
/// (pipe(7)): longer lines are cut.
constexpr std::size_t max_line = PIPE_BUF;
constexpr std::string_view cut_mark = "...\n";

bool is_writable(int fd) {
  pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLOUT) != 0;
}

class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::string_view text{formatted.data(), formatted.size()};
    if (text.ends_with('\n')) {
      text.remove_suffix(1);
    }
    // Names in a log line may come from the wire.
    std::string line = printable(text) + '\n';
    if (dropped_ > 0) {
      line = fmt::format("({} log lines were dropped: stderr was not read)\n", dropped_) + line;
    }
    if (line.size() > max_line) {
      line.resize(max_line - cut_mark.size());
      line += cut_mark;
    }
    if (is_writable(STDERR_FILENO) && write(STDERR_FILENO, line.data(), line.size()) >= 0) {
      dropped_ = 0;
    } else {
      ++dropped_;
    }
  }

  void flush_() override {}

 private:
  std::uint64_t dropped_ = 0;
};

}  // namespace

void log_to_stderr(spdlog::level::level_enum level) {
  auto logger = std::make_shared<spdlog::logger>("danaus", std::make_shared<StderrSink>());
  logger->set_level(level);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace danaus::tools
