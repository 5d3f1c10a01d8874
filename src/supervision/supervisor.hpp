// Supervisor: watches the threads of one worker and ends the process, or calls the embedding
// program's hook, when something fatal is reported or found. Has a thread of its own, `supervisor`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <asio/io_context.hpp>

#include "danaus/failure.hpp"
#include "supervision/thread_watch.hpp"
#include "supervision/watched_thread.hpp"

namespace danaus::supervision {

struct SupervisorConfig {
  /// Named in the log line.
  std::string identity;
  /// How long a thread may go without a beat.
  std::chrono::milliseconds watchdog_timeout{10'000};
  /// Called once, on the supervisor's thread, with the first failure, in place of the exit.
  std::function<void(const Failure&)> on_failure;
};

class Supervisor final : public FailureSink {
 public:
  explicit Supervisor(SupervisorConfig config);
  /// The threads that it watches have ended before.
  ~Supervisor() override;

  /// Any thread. The first failure wins; returns at once, the supervisor's thread does the rest.
  void fail(Failure failure) override;

  /// Starts a thread that runs `context` and watches it until it ends. Any thread. Throws Error.
  [[nodiscard]] std::unique_ptr<WatchedThread> start(std::string name, asio::io_context& context,
                                                     Watch watch);

  /// Whether something fatal has happened. Any thread.
  [[nodiscard]] bool failed() const;

 private:
  void run();
  void check_threads(WatchdogCounter::Clock::time_point now);
  void act(const Failure& failure);

  const SupervisorConfig config_;
  const std::chrono::steady_clock::duration tick_interval_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Failure> failure_;
  std::vector<ThreadWatch> watches_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace danaus::supervision
