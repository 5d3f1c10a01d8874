// ThreadWatch: looks at one thread's vitals and says when it has stalled or died. Used on the
// `supervisor` thread. Time comes in as an argument.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "danaus/failure.hpp"
#include "supervision/watchdog_counter.hpp"
#include "supervision/watched_thread.hpp"

namespace danaus::supervision {

/// Whether the kernel still knows the thread `thread_id` of this process.
[[nodiscard]] bool thread_exists(int thread_id) noexcept;

class ThreadWatch {
 public:
  /// `interval` is how far apart the ticks are meant to be.
  ThreadWatch(std::shared_ptr<const ThreadVitals> vitals,
              WatchdogCounter::Clock::duration interval);

  /// One look, at `now`. A failure is told once; then the watch is over.
  [[nodiscard]] std::optional<Failure> tick(WatchdogCounter::Clock::time_point now);

  /// Nothing more to watch: the thread ended as it should, or its failure has been told.
  [[nodiscard]] bool over() const noexcept { return over_; }

 private:
  [[nodiscard]] bool died_silently() const noexcept;

  std::shared_ptr<const ThreadVitals> vitals_;
  WatchdogCounter counter_;
  // Worded beforehand: when they are needed, the stalled thread may hold the allocator's lock.
  Failure stalled_;
  Failure died_;
  bool over_ = false;
};

}  // namespace danaus::supervision
