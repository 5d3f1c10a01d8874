// AtomicMemory: 64-bit words of user memory, read and written under locks that all soft devices of
// a process share, so that atomics of any of its queue pairs exclude each other.
//
// Reaches the words only inside system calls, so that memory that vanished is an error and not a
// crash: they go through a pipe, which always works (process_vm_readv(2) on oneself may be
// forbidden, seccomp(2)). Any thread; never waits but for another's atomic. The caller holds a use
// of the region.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>

#include "transport/soft/file_descriptor.hpp"
#include "transport/types.hpp"

namespace danaus::transport::soft {

class AtomicMemory {
 public:
  enum class Failure : std::uint8_t {
    /// The memory is not mapped, or not for this.
    fault,
    /// The process is out of descriptors; said once in the log.
    no_descriptors,
  };

  /// The one of this process.
  [[nodiscard]] static AtomicMemory& instance();

  /// Carries out an atomic on the word at `address`, a multiple of 8; what was there before.
  [[nodiscard]] std::expected<std::uint64_t, Failure> execute(Opcode opcode, std::uint64_t address,
                                                              std::uint64_t compare_add,
                                                              std::uint64_t swap);

  /// Writes 8 bytes at any address.
  [[nodiscard]] std::expected<void, Failure> store(std::uint64_t address, std::uint64_t value);

 private:
  AtomicMemory() = default;

  /// What excludes each other: all that is done to the words that share it.
  struct Stripe {
    std::mutex mutex;
    /// Opened at the first use; empty between uses.
    FileDescriptor read_end;
    FileDescriptor write_end;
  };

  [[nodiscard]] Stripe& stripe_of(std::uint64_t address) noexcept;

  /// So many atomics can run at once, at two descriptors each: more than the threads of the passive
  /// side, so that they seldom meet but on one word.
  std::array<Stripe, 16> stripes_;
};

}  // namespace danaus::transport::soft
