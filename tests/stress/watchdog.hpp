// Watchdog: ends the process when an operation takes much longer than it may. Any thread.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace danaus::stress {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int exit_code = 3;
  /// On top of an operation's own deadline: a busy machine with sanitizers is no hang.
  static constexpr std::chrono::seconds grace{60};

  /// `about` is printed with a hang.
  explicit Watchdog(std::string about) : about_{std::move(about)} {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock{mutex_};
      ended_ = true;
    }
    changed_.notify_all();
  }

  /// An operation while it lives.
  class Watch {
   public:
    Watch(Watchdog& dog, std::string what, std::chrono::milliseconds timeout) : dog_{dog} {
      const std::lock_guard lock{dog_.mutex_};
      entry_ = dog_.watched_.emplace(Clock::now() + timeout + grace, std::move(what));
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      const std::lock_guard lock{dog_.mutex_};
      dog_.watched_.erase(entry_);
    }

   private:
    Watchdog& dog_;
    std::multimap<Clock::time_point, std::string>::iterator entry_;
  };

 private:
  void watch() {
    std::unique_lock lock{mutex_};
    while (!changed_.wait_for(lock, std::chrono::seconds{1}, [this] { return ended_; })) {
      if (!watched_.empty() && watched_.begin()->first < Clock::now()) {
        std::printf("HANG in %s\n%s\n", watched_.begin()->second.c_str(), about_.c_str());
        std::fflush(stdout);
        ::_exit(exit_code);
      }
    }
  }

  const std::string about_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::multimap<Clock::time_point, std::string> watched_;
  std::jthread thread_{[this] { watch(); }};
};

}  // namespace danaus::stress
