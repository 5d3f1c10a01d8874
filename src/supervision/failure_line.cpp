#include "supervision/failure_line.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace danaus::supervision {

static_assert(FailureLine::max_length <= PIPE_BUF);

namespace {

// An escaped character takes up to six: \u001f.
constexpr std::size_t max_escaped = 6;
constexpr std::string_view line_end = "\"}\n";

/// Writes once; true when there is nothing more to try (written, or an error that will not pass).
bool try_write(int descriptor, bool is_socket, std::string_view text, bool& written) noexcept {
  const ssize_t sent =
      is_socket ? ::send(descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                : ::write(descriptor, text.data(), text.size());
  written = sent >= 0;
  return written || (errno != EAGAIN && errno != EINTR);
}

}  // namespace

FailureLine::FailureLine(std::string_view component, std::string_view reason,
                         std::string_view identity,
                         std::chrono::system_clock::time_point time) noexcept {
  append(R"({"level":"critical","event":"worker_failed","component":")");
  append_escaped(component, max_component);
  append(R"(","identity":")");
  append_escaped(identity, max_identity);
  append(R"(","time":")");
  append_time(time);
  append(R"(","reason":")");
  append_escaped(reason, max_reason);
  append(line_end);
}

void FailureLine::append(std::string_view text) noexcept {
  length_ += text.copy(text_.data() + length_, max_length - length_);
}

void FailureLine::append_escaped(std::string_view value, std::size_t limit) noexcept {
  constexpr std::string_view hex = "0123456789abcdef";
  for (const char character : value.substr(0, limit)) {
    if (length_ + max_escaped + line_end.size() > max_length) {
      return;
    }
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      const std::array<char, 2> escaped{'\\', character};
      append({escaped.data(), escaped.size()});
    } else if (code < 0x20U || code >= 0x7fU) {
      // Bytes past ASCII too: a value that was cut may end within a UTF-8 sequence.
      const std::array<char, max_escaped> escaped{
          '\\', 'u', '0', '0', hex[code >> 4U], hex[code & 0xfU]};
      append({escaped.data(), escaped.size()});
    } else {
      append({&character, 1});
    }
  }
}

void FailureLine::append_number(unsigned value, unsigned digits) noexcept {
  std::array<char, 10> number{};
  const auto end = std::to_chars(number.data(), number.data() + number.size(), value).ptr;
  const auto length = static_cast<unsigned>(end - number.data());
  for (unsigned padding = length; padding < digits; ++padding) {
    append("0");
  }
  append({number.data(), length});
}

// By <chrono>'s calendar alone: gmtime_r(3) takes a lock of the C library.
void FailureLine::append_time(std::chrono::system_clock::time_point time) noexcept {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<milliseconds>(time - day)};
  append_number(static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append("-");
  append_number(static_cast<unsigned>(date.month()), 2);
  append("-");
  append_number(static_cast<unsigned>(date.day()), 2);
  append("T");
  append_number(static_cast<unsigned>(clock.hours().count()), 2);
  append(":");
  append_number(static_cast<unsigned>(clock.minutes().count()), 2);
  append(":");
  append_number(static_cast<unsigned>(clock.seconds().count()), 2);
  append(".");
  append_number(static_cast<unsigned>(clock.subseconds().count()), 3);
  append("Z");
}

bool write_without_blocking(int descriptor, std::string_view text) noexcept {
  int type = 0;
  socklen_t type_size = sizeof(type);
  const bool is_socket = ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0;
  int own = descriptor;
  if (!is_socket) {
    // A second open file on the same pipe, terminal or file (proc_pid_fd(5)): O_NONBLOCK set on the
    // given one would reach every process that shares it. O_APPEND: the second one's offset is 0.
    std::array<char, 32> path{"/proc/self/fd/"};
    constexpr std::size_t prefix = 14;
    std::to_chars(path.data() + prefix, path.data() + path.size() - 1, descriptor);
    own = ::open(path.data(), O_WRONLY | O_NONBLOCK | O_APPEND | O_NOCTTY | O_CLOEXEC);
    if (own < 0) {
      own = descriptor;  // no /proc: write when poll(2) says that there is room
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + write_patience;
  bool written = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd room{.fd = own, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&room, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0 && try_write(own, is_socket, text, written)) {
      break;
    }
    if (ready == 0 || (ready < 0 && errno != EINTR)) {
      break;
    }
  }
  if (own != descriptor) {
    ::close(own);
  }
  return written;
}

}  // namespace danaus::supervision
