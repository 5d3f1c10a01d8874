// OperationQueueTest: an OperationQueue over a FakeQueuePair.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/transport/fake_queue_pair.hpp"
#include "transport/atomic_results.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::transport::testing {

inline constexpr auto no_deadline = Clock::time_point::max();
inline constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

inline Operation put_of(std::uint64_t length) {
  return {.opcode = Opcode::rdma_write,
          .local_address = 0x10'0000'0000,
          .lkey = 11,
          .remote_address = 0x20'0000'0000,
          .rkey = 22,
          .length = length};
}

inline Operation get_of(std::uint64_t length) {
  auto operation = put_of(length);
  operation.opcode = Opcode::rdma_read;
  return operation;
}

/// Whether a sleeper on `fd` would be woken now.
inline bool is_readable(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

inline void sleep_on(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&entry, 1, -1);
}

/// The code of a failed outcome; nothing of a good one.
inline std::optional<ErrorCode> code_of(const std::expected<void, Error>& outcome) {
  return outcome ? std::nullopt : std::optional{outcome.error().code()};
}

/// A domain that registers whatever it is given.
struct FakeResultDomain final : Domain {
  struct Region final : MemoryRegion {
    Region(std::uint64_t start, std::uint64_t length, std::uint64_t key)
        : address_{start}, size_{length}, key_{key} {}
    [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }
    [[nodiscard]] std::uint64_t remote_address() const noexcept override { return address_; }
    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] std::uint64_t lkey() const noexcept override { return key_; }
    [[nodiscard]] std::uint64_t rkey() const noexcept override { return key_; }
    void revoke() noexcept override {}
    std::expected<void, Error> deregister() override { return {}; }

    std::uint64_t address_;
    std::uint64_t size_;
    std::uint64_t key_;
  };

  std::expected<std::unique_ptr<MemoryRegion>, Error> register_memory(std::uint64_t address,
                                                                      std::uint64_t size,
                                                                      AccessFlags) override {
    if (refuses) {
      return std::unexpected{Error{ErrorCode::registration_failed, "the fake refuses"}};
    }
    ++registrations;
    return std::make_unique<Region>(address, size, lkey);
  }
  std::expected<std::unique_ptr<QueuePair>, Error> create_queue_pair(
      const QueuePairConfig&) override {
    return std::unexpected{Error{ErrorCode::internal, "the fake has none"}};
  }

  std::uint64_t lkey = 1234;
  int registrations = 0;
  bool refuses = false;
};

class OperationQueueTest : public ::testing::Test {
 protected:
  explicit OperationQueueTest(std::uint32_t slots = 512) { make(slots); }

  void make(std::uint32_t slots) {
    queue_.reset();
    auto owned = std::make_unique<FakeQueuePair>(slots);
    fake_ = owned.get();
    queue_ = std::make_unique<OperationQueue>(std::move(owned), "worker b (soft0)",
                                              std::make_unique<AtomicResults>(domain_, slots));
  }

  std::future<std::expected<void, Error>> run_in_thread(Operation operation,
                                                        Clock::time_point deadline = no_deadline) {
    return std::async(std::launch::async,
                      [this, operation, deadline] { return queue_->run(operation, deadline); });
  }

  OperationId submitted(const Operation& operation) { return queue_->submit(operation).value(); }

  FakeResultDomain domain_;
  // The queue's; valid as long as the queue.
  FakeQueuePair* fake_ = nullptr;
  std::unique_ptr<OperationQueue> queue_;
};

}  // namespace danaus::transport::testing
