#include "tools/file_io.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "messages/bytes.hpp"
#include "messages/error.hpp"

namespace danaus::tools {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::resource_exhausted;
    default:
      return ErrorCode::io_failed;
  }
}

Error file_error(std::string_view attempt, std::string_view path, int error_number) {
  return Error{code_of(error_number), fmt::format("cannot {} {}: {}", attempt, path,
                                                  std::generic_category().message(error_number))};
}

/// `path` with its symbolic links followed, so that a rename replaces the file and not the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real{realpath(path.c_str(), nullptr),
                                                         &std::free};
  return real ? std::string{real.get()} : path;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The temporary file to remove when a signal ends the process: a plain array and a flag, since only
// async-signal-safe means may be used then (signal-safety(7)).
std::array<char, PATH_MAX> removable_path{};
std::atomic<bool> removable{false};
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void remove_and_end(int signal) {
  if (removable) {
    unlink(removable_path.data());
  }
  // SA_RESETHAND has put the default action back: this ends the process as if unhandled.
  raise(signal);
}

void remove_on_signal(const std::string& path) {
  path.copy(removable_path.data(), removable_path.size() - 1);
  removable_path[std::min(path.size(), removable_path.size() - 1)] = '\0';
  removable = true;
  struct sigaction action{};
  action.sa_handler = remove_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : ending_signals) {
    struct sigaction current{};
    sigaction(signal, nullptr, &current);
    // What the parent had ignored (nohup) stays ignored.
    if (current.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
}

/// Files get what umask leaves of this, as from any other program.
constexpr mode_t default_mode = 0666;

}  // namespace

UniqueFd::UniqueFd(UniqueFd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

InputFile::InputFile(std::string path)
    // O_NONBLOCK: opening a pipe that nobody writes to must fail below, not wait.
    : path_{std::move(path)}, fd_{open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
  if (fd_.get() < 0) {
    throw file_error("open", path_, errno);
  }
  struct stat status{};
  if (fstat(fd_.get(), &status) != 0) {
    throw file_error("inspect", path_, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format("{} is not a regular file, so its size is not known; copy what it holds "
                    "into a file first",
                    path_)};
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  std::byte first{};
  if (size_ == 0 && pread(fd_.get(), &first, 1, 0) == 1) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("{} says that it is empty, but holds something, as files of /proc do; "
                            "copy what it holds into a file first",
                            path_)};
  }
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> window) const {
  while (!window.empty()) {
    const ssize_t count =
        pread(fd_.get(), window.data(), window.size(), static_cast<off_t>(offset));
    if (count < 0 && errno != EINTR) {
      throw file_error("read", path_, errno);
    }
    if (count == 0) {
      throw Error{ErrorCode::io_failed,
                  fmt::format("{} ends at byte {}, it had {} when it was opened; somebody has "
                              "shortened it meanwhile",
                              path_, offset, size_)};
    }
    if (count > 0) {
      offset += static_cast<std::uint64_t>(count);
      window = window.subspan(static_cast<std::size_t>(count));
    }
  }
}

OutputFile::OutputFile(const std::string& path, std::uint64_t size)
    : path_{path}, target_{resolved(path)} {
  struct stat status{};
  const bool exists = stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} is a directory; name a file", path_)};
  }
  if (exists && !S_ISREG(status.st_mode)) {
    regular_ = false;
    // As above: a pipe that nobody reads from fails. What is opened is waited for in writing.
    fd_ = UniqueFd{open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)};
    if (fd_.get() < 0 || fcntl(fd_.get(), F_SETFL, O_WRONLY) != 0) {
      throw file_error("open", path_, errno);
    }
    return;
  }
  const std::string temporary =
      fmt::format("{}/.danaus-{:016x}", directory_of(target_), messages::random_u64());
  fd_ = UniqueFd{open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, default_mode)};
  if (fd_.get() < 0) {
    throw file_error("create a temporary file beside", path_, errno);
  }
  temporary_ = temporary;
  remove_on_signal(temporary_);
  // From here on a failure must remove the file, and a constructor that throws runs no destructor.
  const auto fail = [&](std::string_view attempt, int error_number) {
    unlink(temporary_.c_str());
    removable = false;
    return file_error(attempt, path_, error_number);
  };
  if (exists && fchmod(fd_.get(), status.st_mode & 07777U) != 0) {
    throw fail("give the permissions of the old file to the new", errno);
  }
  if (size > 0 && fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    throw fail(fmt::format("reserve {} bytes for", size), errno);
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    removable = false;
  }
}

void OutputFile::write(std::span<const std::byte> window) {
  while (!window.empty()) {
    const ssize_t count = ::write(fd_.get(), window.data(), window.size());
    if (count < 0 && errno != EINTR) {
      throw file_error("write", path_, errno);
    }
    if (count > 0) {
      window = window.subspan(static_cast<std::size_t>(count));
    }
  }
}

void OutputFile::commit() {
  if (temporary_.empty()) {
    return;
  }
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw file_error("put the new file in place of", path_, errno);
  }
  removable = false;
  temporary_.clear();
}

}  // namespace danaus::tools
