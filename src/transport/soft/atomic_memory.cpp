#include "transport/soft/atomic_memory.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

using Failure = AtomicMemory::Failure;

bool open_pipe(FileDescriptor& read_end, FileDescriptor& write_end) {
  if (read_end) {
    return true;
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    static std::once_flag said;
    std::call_once(said, [error = errno] {
      spdlog::warn(
          "soft: atomics fail for want of a pipe: {}; raise the limit on open files "
          "(ulimit -n)",
          std::generic_category().message(error));
    });
    return false;
  }
  read_end = FileDescriptor{ends[0]};
  write_end = FileDescriptor{ends[1]};
  return true;
}

/// The word at `from` to `to` through an empty pipe, which it leaves empty. At most PIPE_BUF bytes
/// go in as a whole (pipe(7)); false when either end of the way is not to be reached.
bool copy_word(int write_end, int read_end, const void* from, void* to) noexcept {
  constexpr auto size = static_cast<ssize_t>(atomic_length);
  if (::write(write_end, from, atomic_length) != size) {
    return false;
  }
  if (::read(read_end, to, atomic_length) != size) {
    std::array<std::byte, atomic_length> bin{};
    static_cast<void>(::read(read_end, bin.data(), bin.size()));
    return false;
  }
  return true;
}

std::uint64_t value_after(Opcode opcode, std::uint64_t before, std::uint64_t compare_add,
                          std::uint64_t swap) noexcept {
  if (opcode == Opcode::atomic_fetch_and_add) {
    return before + compare_add;
  }
  return before == compare_add ? swap : before;
}

}  // namespace

AtomicMemory& AtomicMemory::instance() {
  static AtomicMemory memory;
  return memory;
}

AtomicMemory::Stripe& AtomicMemory::stripe_of(std::uint64_t address) noexcept {
  return stripes_[(address / atomic_length) % stripes_.size()];
}

std::expected<std::uint64_t, Failure> AtomicMemory::execute(Opcode opcode, std::uint64_t address,
                                                            std::uint64_t compare_add,
                                                            std::uint64_t swap) {
  Stripe& stripe = stripe_of(address);
  const std::lock_guard lock{stripe.mutex};
  if (!open_pipe(stripe.read_end, stripe.write_end)) {
    return std::unexpected{Failure::no_descriptors};
  }
  const int in = stripe.write_end.get();
  const int out = stripe.read_end.get();
  std::uint64_t before = 0;
  if (!copy_word(in, out, for_kernel(address), &before)) {
    return std::unexpected{Failure::fault};
  }
  const std::uint64_t after = value_after(opcode, before, compare_add, swap);
  if (after != before && !copy_word(in, out, &after, for_kernel(address))) {
    return std::unexpected{Failure::fault};
  }
  return before;
}

std::expected<void, Failure> AtomicMemory::store(std::uint64_t address, std::uint64_t value) {
  Stripe& stripe = stripe_of(address);
  const std::lock_guard lock{stripe.mutex};
  if (!open_pipe(stripe.read_end, stripe.write_end)) {
    return std::unexpected{Failure::no_descriptors};
  }
  if (!copy_word(stripe.write_end.get(), stripe.read_end.get(), &value, for_kernel(address))) {
    return std::unexpected{Failure::fault};
  }
  return {};
}

}  // namespace danaus::transport::soft
