// A SoftEngine with its threads, and ends of queue pairs with memory of their own: what the tests
// of the soft device start from.
#pragma once

#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "messages/error.hpp"
#include "transport/soft/soft_engine.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft::testing {

/// A guard against tests that hang, not a measure of anything.
inline constexpr std::chrono::seconds patience{20};

inline constexpr std::size_t mebibyte = std::size_t{1} << 20U;

template <class T>
T must(std::expected<T, Error> result) {
  if (!result) {
    throw std::move(result).error();
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

/// An engine on loopback whose contexts run on threads of its own.
class RunningEngine {
 public:
  explicit RunningEngine(SoftEngineConfig config = loopback()) : engine_{std::move(config), data_} {
    threads_.emplace_back([this] { data_.run(); });
    for (asio::io_context* context : engine_.responder_contexts()) {
      threads_.emplace_back([context] { context->run(); });
    }
  }
  RunningEngine(const RunningEngine&) = delete;
  RunningEngine& operator=(const RunningEngine&) = delete;
  ~RunningEngine() { stop(); }

  static SoftEngineConfig loopback() { return within_host(PathPolicy::tcp); }
  static SoftEngineConfig within_host(PathPolicy paths) {
    return {.listen_address = "127.0.0.1",
            .listen_port = 0,
            .advertised_address = "127.0.0.1",
            .responders = 2,
            .paths = paths,
            .devices = 1,
            .hello_timeout = std::chrono::seconds{5}};
  }
  static SoftEngineConfig passive() { return {}; }

  void stop() {
    engine_.stop();
    work_.reset();
    data_.stop();
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return engine_.port(); }
  [[nodiscard]] std::uint64_t counter(const std::string& name) const {
    return engine_.counters().at("soft." + name);
  }
  /// Waits until a counter has reached `value`.
  void await_counter(const std::string& name, std::uint64_t value) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (counter(name) < value) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error{"the counter " + name + " stays below its value"};
      }
      std::this_thread::yield();
    }
  }
  [[nodiscard]] std::unique_ptr<Domain> open() { return must(engine_.devices().front()->open()); }

 private:
  asio::io_context data_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{data_.get_executor()};
  SoftEngine engine_;
  std::vector<std::thread> threads_;
};

/// Pages of one's own, which can be taken away.
class Pages {
 public:
  explicit Pages(std::size_t size, int protection = PROT_READ | PROT_WRITE)
      : size_{size},
        start_{
            ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {
    if (start_ == MAP_FAILED) {
      throw std::runtime_error{"mmap failed"};
    }
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(start_, size_); }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(start_); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(start_);
  }
  /// Makes the memory vanish for whoever touches it, but keeps its addresses: what the process maps
  /// next must not land there, for the destructor unmaps the whole range.
  void unmap(std::size_t offset, std::size_t length) const {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (::mmap(data() + offset, length, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
      throw std::runtime_error{"cannot take away the memory of the test"};
    }
  }

 private:
  std::size_t size_;
  void* start_;
};

/// One end: a domain, registered memory, a queue pair.
struct End {
  End(RunningEngine& engine, std::size_t size, AccessFlags access = full_access,
      QueuePairConfig config = {})
      : memory{size},
        domain{engine.open()},
        region{must(domain->register_memory(memory.address(), memory.size(), access))},
        queue_pair{must(domain->create_queue_pair(config))} {}

  Pages memory;
  std::unique_ptr<Domain> domain;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<QueuePair> queue_pair;
};

inline void connect(End& left, End& right) {
  must(left.queue_pair->connect(must(right.queue_pair->endpoint())));
  must(right.queue_pair->connect(must(left.queue_pair->endpoint())));
}

inline WorkRequest request(Opcode opcode, const End& local, const End& remote, std::uint64_t length,
                           std::uint64_t id = 1) {
  return {.id = id,
          .opcode = opcode,
          .local_address = local.region->address(),
          .lkey = local.region->lkey(),
          .remote_address = remote.region->remote_address(),
          .rkey = remote.region->rkey(),
          .length = length};
}

/// Polls as a caller should until `count` completions are there: announced, it sleeps in the queue
/// pair's own way, else on the descriptor.
inline std::vector<WorkCompletion> complete(QueuePair& queue_pair, std::size_t count,
                                            bool announce = true) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::vector<WorkCompletion> all;
  std::array<WorkCompletion, 16> some{};
  const auto take = [&] {
    const std::size_t taken = queue_pair.poll(some);
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(taken));
    return taken;
  };
  if (announce) {
    queue_pair.begin_polling();
  }
  while (all.size() < count) {
    if (std::chrono::steady_clock::now() > deadline) {
      break;
    }
    if (take() != 0) {
      continue;
    }
    if (announce) {
      static_cast<void>(queue_pair.sleep(deadline));
      continue;
    }
    queue_pair.arm();
    if (take() != 0) {
      continue;
    }
    ::pollfd descriptor{.fd = queue_pair.fd(), .events = POLLIN, .revents = 0};
    ::poll(&descriptor, 1, 1000);
  }
  if (announce) {
    queue_pair.end_polling();
  }
  return all;
}

inline CompletionStatus run(QueuePair& queue_pair, const WorkRequest& work) {
  must(queue_pair.post(work));
  const auto completions = complete(queue_pair, 1);
  return completions.empty() ? CompletionStatus::general_error : completions.front().status;
}

/// Waits until a queue pair is in `state`.
inline bool await_state(const QueuePair& queue_pair, QueuePairState state) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (queue_pair.state() != state) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace danaus::transport::soft::testing
