#include "tests/integration/harness/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <system_error>

extern char** environ;  // NOLINT(readability-redundant-declaration): environ(7) asks for it

namespace danaus::integration {
namespace {

[[noreturn]] void throw_errno(int error, const std::string& what) {
  throw std::system_error{error, std::system_category(), what};
}

int checked(int result, const std::string& what) {
  if (result < 0) {
    throw_errno(errno, what);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// The test's environment with `additions` in place of what they name.
std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> result = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text{*entry};
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& addition : additions) {
      replaced = replaced || addition.starts_with(name);
    }
    if (!replaced) {
      result.push_back(text);
    }
  }
  return result;
}

}  // namespace

std::string to_string(const ExitStatus& status) {
  if (status.code) {
    return "exit code " + std::to_string(*status.code);
  }
  return "signal " + std::to_string(status.signal.value_or(0));
}

void PrintTo(const ExitStatus& status, std::ostream* stream) {
  *stream << to_string(status);
}

Process::Process(const ProcessOptions& options) {
  std::array<int, 2> pipe_ends{};
  checked(::pipe2(pipe_ends.data(), O_CLOEXEC), "pipe2");
  output_ = FileDescriptor{pipe_ends[0]};
  const FileDescriptor write_end{pipe_ends[1]};
  error_ = FileDescriptor{checked(::memfd_create("standard_error", MFD_CLOEXEC), "memfd_create")};

  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error_.get(), STDERR_FILENO);
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_with(options.environment);
  const int error = ::posix_spawn(&pid_, arguments.at(0).c_str(), &actions, nullptr,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw_errno(error, "starting " + arguments[0]);
  }
  // By number: the wrapper of glibc 2.36 lacks its extern "C".
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pidfd_ = FileDescriptor{checked(pidfd, "pidfd_open")};
}

Process::Process(Process&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)},
      pidfd_{std::move(other.pidfd_)},
      output_{std::move(other.output_)},
      error_{std::move(other.error_)},
      unread_{std::move(other.unread_)},
      exit_status_{other.exit_status_} {}

Process::~Process() {
  if (pid_ >= 0 && !exit_status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Process::signal(int number) {
  if (exit_status_) {
    throw std::logic_error{"the process has ended: " + to_string(*exit_status_)};
  }
  checked(::kill(pid_, number), "kill");
  if (number == SIGSTOP) {
    siginfo_t info{};
    checked(::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED), "waitid");
  }
}

bool Process::fill_output(Deadline deadline) {
  pollfd waiting{.fd = output_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, deadline.poll_timeout()) <= 0) {
    return false;
  }
  std::array<char, 4096> chunk{};
  const ssize_t got = ::read(output_.get(), chunk.data(), chunk.size());
  if (got <= 0) {
    return false;
  }
  unread_.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<std::string> Process::read_line(Deadline deadline) {
  while (unread_.find('\n') == std::string::npos) {
    if (!fill_output(deadline)) {
      return std::nullopt;
    }
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

std::string Process::read_rest(Deadline deadline) {
  while (fill_output(deadline)) {
  }
  return std::exchange(unread_, {});
}

std::string Process::standard_error() const {
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::pread(error_.get(), chunk.data(), chunk.size(),
                        static_cast<off_t>(text.size()))) > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<ExitStatus> Process::wait_for_exit(Deadline deadline) {
  if (exit_status_) {
    return exit_status_;
  }
  pollfd waiting{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, deadline.poll_timeout()) <= 0) {
    return std::nullopt;
  }
  int status = 0;
  checked(::waitpid(pid_, &status, 0), "waitpid");
  exit_status_.emplace();
  if (WIFEXITED(status)) {
    exit_status_->code = WEXITSTATUS(status);
  } else {
    exit_status_->signal = WTERMSIG(status);
  }
  return exit_status_;
}

CommandResult run_command(const ProcessOptions& options, Deadline deadline) {
  Process process{options};
  std::string output = process.read_rest(deadline);
  const std::optional<ExitStatus> status = process.wait_for_exit(deadline);
  if (!status) {
    throw std::runtime_error{options.arguments.at(0) + " still runs at its deadline; it wrote: " +
                             output + process.standard_error()};
  }
  return {.status = *status, .output = std::move(output), .error = process.standard_error()};
}

std::string built_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

}  // namespace danaus::integration
