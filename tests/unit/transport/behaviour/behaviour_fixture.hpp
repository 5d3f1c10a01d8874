// TransportBehaviour: two sides of a transport, with what the suite does over and over: connect,
// register, post, wait. Waits have a limit only so that a hang is a failure with a line number.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/transport/behaviour/test_memory.hpp"
#include "tests/unit/transport/behaviour/transport_under_test.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::testing {

inline constexpr std::size_t kib = std::size_t{1} << 10U;
inline constexpr std::size_t mib = std::size_t{1} << 20U;
inline constexpr std::size_t gib = std::size_t{1} << 30U;

/// When a wait counts as a hang.
inline constexpr std::chrono::seconds patience{30};

/// One side: its domain and its queue pair.
struct End {
  std::unique_ptr<Domain> domain;
  std::unique_ptr<QueuePair> queue_pair;
};

/// Memory and its registration; the memory outlives it.
struct Registered {
  Registered(Domain& domain, TestMemory of, AccessFlags access)
      : memory{std::move(of)},
        region{domain.register_memory(memory.address(), memory.size(), access).value()} {}

  TestMemory memory;
  std::unique_ptr<MemoryRegion> region;
};

class TransportBehaviour : public ::testing::TestWithParam<Transport> {
 protected:
  TransportBehaviour();

  // -- setting up --------------------------------------------------------------------------------

  /// Gives both sides a new queue pair, each connected to the other.
  void connect(const QueuePairConfig& config = {});

  [[nodiscard]] static std::unique_ptr<QueuePair> new_queue_pair(
      const End& end, const QueuePairConfig& config = {});

  [[nodiscard]] static Registered registered(const End& end, std::size_t size,
                                             AccessFlags access = full_access) {
    return {*end.domain, TestMemory{size}, access};
  }
  [[nodiscard]] static Registered registered_sparse(const End& end, std::size_t size) {
    return {*end.domain, TestMemory::sparse(size), full_access};
  }

  // -- operating ---------------------------------------------------------------------------------

  /// All of `local` to or from the start of `remote`.
  [[nodiscard]] static WorkRequest put(const Registered& local, const Registered& remote,
                                       std::uint64_t id = 1);
  [[nodiscard]] static WorkRequest get(const Registered& local, const Registered& remote,
                                       std::uint64_t id = 1);

  /// The next completion.
  [[nodiscard]] static WorkCompletion next(QueuePair& queue_pair);
  /// The next `count` of them.
  [[nodiscard]] static std::vector<WorkCompletion> next(QueuePair& queue_pair, std::size_t count);
  /// Posts and waits.
  [[nodiscard]] static CompletionStatus carry_out(QueuePair& queue_pair,
                                                  const WorkRequest& request);
  /// Waits until `condition` holds, for what other threads bring about; false: it never did.
  template <typename Condition>
  [[nodiscard]] static bool eventually(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > limit) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }
  [[nodiscard]] static bool comes_to_error(const QueuePair& queue_pair);

  // Before the ends: it outlives them.
  std::unique_ptr<TransportUnderTest> transport_;
  End a_;
  End b_;
};

}  // namespace danaus::transport::testing
