#include "tests/integration/harness/process_view.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>

namespace danaus::integration {
namespace {

using Copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

/// The kernel may move less than was asked for, so it is asked again for the rest.
void copy_all(Copy copy, pid_t pid, std::byte* local, std::uint64_t address, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const iovec here{.iov_base = local + done, .iov_len = size - done};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in another process
    const iovec there{.iov_base = reinterpret_cast<void*>(address + done), .iov_len = size - done};
    const ssize_t moved = copy(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      throw std::system_error{errno, std::system_category(),
                              "memory of process " + std::to_string(pid)};
    }
    done += static_cast<std::size_t>(moved);
  }
}

std::filesystem::path proc(pid_t pid) {
  return std::filesystem::path{"/proc"} / std::to_string(pid);
}

}  // namespace

std::vector<std::byte> read_memory(pid_t pid, std::uint64_t address, std::size_t size) {
  std::vector<std::byte> bytes(size);
  copy_all(::process_vm_readv, pid, bytes.data(), address, size);
  return bytes;
}

void write_memory(pid_t pid, std::uint64_t address, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> copy = bytes;
  copy_all(::process_vm_writev, pid, copy.data(), address, copy.size());
}

std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  // A random block, numbered anew at each repetition: fast enough for a gigabyte, and a block that
  // lands at another's place is seen.
  constexpr std::size_t block_size = 4096;
  std::mt19937_64 random{seed};
  std::vector<std::byte> block(std::min(block_size, size));
  std::ranges::generate(block, [&] { return static_cast<std::byte>(random()); });
  for (std::size_t at = 0; at < size; at += block_size) {
    const std::size_t length = std::min(block_size, size - at);
    std::memcpy(bytes.data() + at, block.data(), length);
    const std::uint64_t number = at / block_size + seed;
    std::memcpy(bytes.data() + at, &number, std::min(sizeof number, length));
  }
  return bytes;
}

std::uint64_t resident_size(pid_t pid) {
  std::ifstream statm{proc(pid) / "statm"};
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_files(pid_t pid) {
  const std::filesystem::directory_iterator entries{proc(pid) / "fd"};
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::vector<std::string> thread_names(pid_t pid) {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator{proc(pid) / "task"}) {
    std::ifstream comm{task.path() / "comm"};
    std::string name;
    if (std::getline(comm, name)) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace danaus::integration
