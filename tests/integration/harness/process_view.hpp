// What the kernel says of another process: its memory's contents, its resident size, its open
// files. None of it passes through the code under test. Any thread. Relies on process_vm_readv(2),
// process_vm_writev(2) and /proc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace danaus::integration {

/// Throws std::system_error when the range is not mapped there.
[[nodiscard]] std::vector<std::byte> read_memory(pid_t pid, std::uint64_t address,
                                                 std::size_t size);
void write_memory(pid_t pid, std::uint64_t address, const std::vector<std::byte>& bytes);

/// `size` bytes that repeat nowhere within a page of each other and differ for each `seed`.
[[nodiscard]] std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed);

/// Resident memory, in bytes.
[[nodiscard]] std::uint64_t resident_size(pid_t pid);

/// Open file descriptors.
[[nodiscard]] std::size_t open_files(pid_t pid);

/// The names of its threads.
[[nodiscard]] std::vector<std::string> thread_names(pid_t pid);

}  // namespace danaus::integration
