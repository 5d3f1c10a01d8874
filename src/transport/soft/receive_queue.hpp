// ReceiveQueue: the receives of a soft queue pair, posted and completed. A receive has no memory:
// it tells that a write with immediate has arrived.
// Guarded by its queue pair's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/soft/ring.hpp"
#include "transport/types.hpp"

namespace danaus::transport::soft {

class ReceiveQueue {
 public:
  explicit ReceiveQueue(std::uint32_t max_recv_wr)
      : posted_{max_recv_wr}, completions_{max_recv_wr} {}

  [[nodiscard]] bool is_full() const noexcept {
    return posted_.size() + completions_.size() == posted_.capacity();
  }
  [[nodiscard]] bool has_posted() const noexcept { return !posted_.empty(); }
  [[nodiscard]] bool has_completions() const noexcept { return !completions_.empty(); }

  /// It must not be full.
  void post(std::uint64_t id) { posted_.push(id); }

  /// Completes the oldest. False: none is posted.
  bool deliver(std::uint32_t immediate, std::uint64_t length) {
    if (posted_.empty()) {
      return false;
    }
    completions_.push({.id = posted_.pop(),
                       .status = CompletionStatus::success,
                       .opcode = CompletionOpcode::receive_with_immediate,
                       .immediate = immediate,
                       .byte_length = length});
    return true;
  }

  /// Completes all of them as flushed.
  void flush() {
    while (!posted_.empty()) {
      completions_.push({.id = posted_.pop(),
                         .status = CompletionStatus::work_request_flushed,
                         .opcode = CompletionOpcode::receive_with_immediate});
    }
  }

  /// Takes completions, oldest first.
  std::size_t take(std::span<WorkCompletion> completions) {
    std::size_t count = 0;
    while (count < completions.size() && !completions_.empty()) {
      completions[count++] = completions_.pop();
    }
    return count;
  }

 private:
  Ring<std::uint64_t> posted_;
  Ring<WorkCompletion> completions_;
};

}  // namespace danaus::transport::soft
