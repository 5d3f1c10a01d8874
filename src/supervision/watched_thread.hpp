// WatchedThread: a named thread that runs an io_context and shows signs of life.
// Started, asked to end and joined by its owner, from one thread at a time; what it publishes
// (ThreadVitals) is read by the `supervisor` thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "danaus/failure.hpp"

namespace danaus::supervision {

/// What a thread is watched for.
enum class Watch : std::uint8_t {
  /// Death, and going without a beat: for threads that never block.
  stall,
  /// Death alone: for threads whose work may block for long.
  death,
};

/// The signs of life of one thread. Shared by the thread and the supervisor, as either may go
/// first.
struct ThreadVitals {
  std::string name;
  Watch watch = Watch::stall;
  /// Grows with each beat.
  std::atomic<std::uint64_t> beats{0};
  /// The kernel's thread id (gettid(2)); 0 until it runs.
  std::atomic<int> thread_id{0};
  /// It has been asked to end: that its loop ends is no failure any more.
  std::atomic<bool> ending{false};
  /// It has left its loop and said what there was to say.
  std::atomic<bool> ended{false};
};

class WatchedThread {
 public:
  /// Starts the thread; `name` has at most 15 characters (pthread_setname_np(3)). It runs
  /// `context`, kept alive by a work guard, and beats every `beat_interval`. What escapes from the
  /// loop, or a loop that ends unasked, goes to `failures`. Both outlive the object. Throws Error:
  /// ResourceExhausted.
  WatchedThread(std::string name, asio::io_context& context, Watch watch,
                std::chrono::steady_clock::duration beat_interval, FailureSink& failures);
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;
  /// Joins without patience.
  ~WatchedThread();

  /// Lets the context run out; returns at once.
  void ask_to_end();

  /// Asks it to end and waits; after `patience` stops the context, whatever is left in it.
  void join(std::chrono::steady_clock::duration patience);

  [[nodiscard]] const std::shared_ptr<ThreadVitals>& vitals() const noexcept { return vitals_; }

 private:
  class Heart;

  void run();
  void leave();

  std::shared_ptr<ThreadVitals> vitals_;
  asio::io_context& context_;
  FailureSink& failures_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  // Shared with its handlers in the context, which may be run again when this object is gone. None
  // for a thread that need not beat.
  std::shared_ptr<Heart> heart_;
  std::mutex mutex_;
  std::condition_variable has_ended_;
  std::thread thread_;
};

}  // namespace danaus::supervision
