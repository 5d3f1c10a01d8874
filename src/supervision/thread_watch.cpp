#include "supervision/thread_watch.hpp"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace danaus::supervision {

bool thread_exists(int thread_id) noexcept {
  return ::tgkill(::getpid(), thread_id, 0) == 0 || errno != ESRCH;
}

ThreadWatch::ThreadWatch(std::shared_ptr<const ThreadVitals> vitals,
                         WatchdogCounter::Clock::duration interval)
    : vitals_{std::move(vitals)},
      counter_{interval},
      stalled_{
          vitals_->name,
          fmt::format("the thread shows no sign of life: {} checks in a row, {} ms apart, found "
                      "that its loop did not turn",
                      WatchdogCounter::ticks_to_stall,
                      std::chrono::duration_cast<std::chrono::milliseconds>(interval).count())},
      died_{vitals_->name, "the thread died without a word: the kernel no longer knows it"} {}

std::optional<Failure> ThreadWatch::tick(WatchdogCounter::Clock::time_point now) {
  if (over_) {
    return std::nullopt;
  }
  if (vitals_->ended) {
    over_ = true;
    return std::nullopt;
  }
  if (died_silently()) {
    over_ = true;
    return std::move(died_);
  }
  if (vitals_->watch == Watch::stall && counter_.tick(now, vitals_->beats) == Pulse::stalled) {
    over_ = true;
    return std::move(stalled_);
  }
  return std::nullopt;
}

// `ended` is looked at once more: a thread says so before the kernel forgets it.
bool ThreadWatch::died_silently() const noexcept {
  const int thread_id = vitals_->thread_id;
  return thread_id != 0 && !thread_exists(thread_id) && !vitals_->ended;
}

}  // namespace danaus::supervision
