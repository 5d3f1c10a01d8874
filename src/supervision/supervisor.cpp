#include "supervision/supervisor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "supervision/failure_line.hpp"
#include "supervision/signal_mask.hpp"

namespace danaus::supervision {

namespace {

/// Twice as often as it is looked at, so that a beat that is a little late is not missed.
constexpr int beats_per_tick = 2;

}  // namespace

Supervisor::Supervisor(SupervisorConfig config)
    : config_{std::move(config)},
      tick_interval_{std::chrono::steady_clock::duration{config_.watchdog_timeout} /
                     WatchdogCounter::ticks_to_stall} {
  const BlockedSignals blocked;
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "supervisor");
}

Supervisor::~Supervisor() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Supervisor::fail(Failure failure) {
  const std::lock_guard lock{mutex_};
  if (!failure_) {
    failure_ = std::move(failure);
    changed_.notify_all();
  }
}

bool Supervisor::failed() const {
  const std::lock_guard lock{mutex_};
  return failure_.has_value();
}

std::unique_ptr<WatchedThread> Supervisor::start(std::string name, asio::io_context& context,
                                                 Watch watch) {
  auto thread = std::make_unique<WatchedThread>(std::move(name), context, watch,
                                                tick_interval_ / beats_per_tick, *this);
  const std::lock_guard lock{mutex_};
  watches_.emplace_back(thread->vitals(), tick_interval_);
  return thread;
}

void Supervisor::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_ && !failure_) {
    changed_.wait_until(lock, std::chrono::steady_clock::now() + tick_interval_,
                        [this] { return stopping_ || failure_; });
    if (!failure_) {
      check_threads(std::chrono::steady_clock::now());
    }
  }
  if (failure_) {
    // Written once and never changed again, so it can be read without the lock.
    lock.unlock();
    act(*failure_);
  }
}

void Supervisor::check_threads(WatchdogCounter::Clock::time_point now) {
  for (ThreadWatch& watch : watches_) {
    std::optional<Failure> failure = watch.tick(now);
    if (failure && !failure_) {
      failure_ = std::move(failure);
    }
  }
  std::erase_if(watches_, [](const ThreadWatch& watch) { return watch.over(); });
}

void Supervisor::act(const Failure& failure) {
  if (config_.on_failure) {
    try {
      config_.on_failure(failure);
      return;
    } catch (...) {  // NOLINT(bugprone-empty-catch): what the hook could not do is done below
    }
  }
  const FailureLine line{failure.component, failure.reason, config_.identity,
                         std::chrono::system_clock::now()};
  write_without_blocking(STDERR_FILENO, line.text());
  // Not exit(3): destructors and atexit handlers would wait for the thread that failed.
  ::_exit(EXIT_FAILURE);
}

}  // namespace danaus::supervision
