#include "tests/integration/harness/traced_thread.hpp"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace danaus::integration {
namespace {

pid_t find_thread(pid_t pid, const std::string& name) {
  const auto tasks = std::filesystem::path{"/proc"} / std::to_string(pid) / "task";
  for (const auto& task : std::filesystem::directory_iterator{tasks}) {
    std::ifstream comm{task.path() / "comm"};
    std::string found;
    if (std::getline(comm, found) && found == name) {
      return std::stoi(task.path().filename().string());
    }
  }
  throw std::runtime_error{"process " + std::to_string(pid) + " has no thread called " + name};
}

void traced(long result, const std::string& what) {
  if (result < 0) {
    throw std::system_error{errno, std::system_category(), "ptrace: " + what};
  }
}

}  // namespace

TracedThread::TracedThread(pid_t pid, const std::string& name) : tid_{find_thread(pid, name)} {
  traced(::ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr), "PTRACE_SEIZE " + name);
  attached_ = true;
  stop(Deadline{});
}

TracedThread::~TracedThread() {
  detach();
}

void TracedThread::stop(Deadline deadline) {
  traced(::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr), "PTRACE_INTERRUPT");
  const bool stopped = eventually(
      [&] {
        int status = 0;
        return ::waitpid(tid_, &status, __WALL | WNOHANG) == tid_ && WIFSTOPPED(status);
      },
      deadline);
  if (!stopped) {
    throw std::runtime_error{"thread " + std::to_string(tid_) + " did not stop when traced"};
  }
}

void TracedThread::detach() noexcept {
  if (attached_) {
    ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
    attached_ = false;
  }
}

void TracedThread::reap_if_ended() {
  int status = 0;
  if (attached_ && ::waitpid(tid_, &status, __WALL | WNOHANG) == tid_ &&
      (WIFEXITED(status) || WIFSIGNALED(status))) {
    attached_ = false;
  }
}

#if defined(__x86_64__)

void TracedThread::make_it_exit(Deadline deadline) {
  // A thread that waits for events was stopped inside a system call: its instruction pointer is
  // just behind a `syscall` instruction (0f 05), which can be executed once more with another
  // number.
  constexpr long syscall_instruction = 0x050f;
  constexpr unsigned long long instruction_length = 2;
  user_regs_struct registers{};
  for (;;) {
    traced(::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers), "PTRACE_GETREGS");
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKTEXT, tid_, registers.rip - instruction_length, nullptr);
    if (errno == 0 && (word & 0xffff) == syscall_instruction) {
      break;
    }
    if (deadline.passed()) {
      throw std::runtime_error{"the thread was never found waiting in a system call"};
    }
    traced(::ptrace(PTRACE_CONT, tid_, nullptr, nullptr), "PTRACE_CONT");
    stop(deadline);
  }
  registers.rip -= instruction_length;
  registers.rax = SYS_exit;
  registers.rdi = 0;
  // Else the kernel takes the register for the result of an interrupted call and restarts that.
  registers.orig_rax = static_cast<unsigned long long>(-1);
  traced(::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers), "PTRACE_SETREGS");
  detach();
}

#else

void TracedThread::make_it_exit(Deadline) {
  throw std::runtime_error{"ending a thread from outside is written for x86-64 only"};
}

#endif

}  // namespace danaus::integration
