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
  explicit ReceiveQueue(std::uint32_t max_recv_wr) noexcept : max_recv_wr_{max_recv_wr} {}

  [[nodiscard]] bool is_full() const noexcept {
    return posted_.size() + completions_.size() == max_recv_wr_;
  }
  [[nodiscard]] bool has_posted() const noexcept { return !posted_.empty(); }
  [[nodiscard]] bool has_completions() const noexcept { return !completions_.empty(); }

  /// It must not be full.
  void post(std::uint64_t id) {
    if (posted_.capacity() == 0) {
      posted_ = Ring<std::uint64_t>{max_recv_wr_};
      completions_ = Ring<WorkCompletion>{max_recv_wr_};
    }
    posted_.push(id);
  }

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
  std::uint32_t max_recv_wr_;
  // Without room until the first receive: most queue pairs have none, and there may be thousands.
  Ring<std::uint64_t> posted_{0};
  Ring<WorkCompletion> completions_{0};
};

}  // namespace danaus::transport::soft
