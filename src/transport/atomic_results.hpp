// AtomicResults: registered memory of one queue pair's, where the device writes what its atomics
// found, so that their callers need none. Registered at the first atomic: most queue pairs carry
// none, and registering costs time and, on some devices, pinned memory.
// `prepare` on any thread; all else under the OperationQueue's mutex, after it.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "messages/error.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

class AtomicResults {
 public:
  /// Room for `slots` atomics at once; `domain` is the queue pair's and outlives this.
  AtomicResults(Domain& domain, std::uint32_t slots) : domain_{domain}, slots_{slots} {}
  AtomicResults(const AtomicResults&) = delete;
  AtomicResults& operator=(const AtomicResults&) = delete;
  ~AtomicResults() = default;

  /// Registers, at the first call; may block then. Errors: as Domain::register_memory.
  std::expected<void, Error> prepare();

  /// A place for one result; nothing when all are taken.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept;
  [[nodiscard]] std::uint64_t address_of(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint64_t lkey() const noexcept { return region_->lkey(); }
  /// Ends the use of a place that no device writes to any more; what is there.
  std::uint64_t give_back(std::uint32_t slot) noexcept;

 private:
  Domain& domain_;
  const std::uint32_t slots_;
  std::mutex mutex_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint32_t> free_;
  // After the values: it goes before them.
  std::unique_ptr<MemoryRegion> region_;
};

}  // namespace danaus::transport
