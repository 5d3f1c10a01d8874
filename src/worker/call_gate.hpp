// CallGate: counts the API calls that are under way and keeps new ones out once the worker ends.
// Any thread. A call on the put/get path passes it with two atomic operations.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "messages/error.hpp"

namespace danaus::worker {

class CallGate {
 public:
  /// A call's stay.
  class Pass {
   public:
    explicit Pass(CallGate& gate) : gate_{gate} {}
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() { gate_.leave(); }

   private:
    CallGate& gate_;
  };

  /// Throws the error that the gate was closed with.
  [[nodiscard]] Pass enter();

  /// From now on nobody enters. The first reason stays.
  void close(const Error& reason);

  /// After `close`: waits until every call has left; false when `patience` is over before.
  [[nodiscard]] bool wait_until_empty(std::chrono::milliseconds patience);

 private:
  void leave() noexcept;

  static constexpr std::uint32_t closed_bit = 1U << 31U;

  std::atomic<std::uint32_t> calls_{0};
  std::mutex mutex_;
  std::condition_variable left_;
  std::optional<Error> reason_;
};

}  // namespace danaus::worker
