#include "supervision/watched_thread.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <exception>
#include <system_error>
#include <utility>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "messages/error.hpp"
#include "supervision/signal_mask.hpp"

namespace danaus::supervision {

namespace {

std::shared_ptr<ThreadVitals> make_vitals(std::string name, Watch watch) {
  auto vitals = std::make_shared<ThreadVitals>();
  vitals->name = std::move(name);
  vitals->watch = watch;
  return vitals;
}

}  // namespace

/// Beats in the context for as long as the thread is not asked to end.
class WatchedThread::Heart : public std::enable_shared_from_this<Heart> {
 public:
  Heart(asio::io_context& context, std::shared_ptr<ThreadVitals> vitals,
        std::chrono::steady_clock::duration interval)
      : vitals_{std::move(vitals)}, interval_{interval}, timer_{context} {}

  void beat() {
    vitals_->beats.fetch_add(1, std::memory_order_relaxed);
    if (vitals_->ending) {
      return;
    }
    timer_.expires_after(interval_);
    timer_.async_wait([self = shared_from_this()](const std::error_code& error) {
      if (!error) {
        self->beat();
      }
    });
  }

  void stop() { timer_.cancel(); }

 private:
  std::shared_ptr<ThreadVitals> vitals_;
  std::chrono::steady_clock::duration interval_;
  asio::steady_timer timer_;
};

WatchedThread::WatchedThread(std::string name, asio::io_context& context, Watch watch,
                             std::chrono::steady_clock::duration beat_interval,
                             FailureSink& failures)
    : vitals_{make_vitals(std::move(name), watch)},
      context_{context},
      failures_{failures},
      work_{context.get_executor()} {
  const BlockedSignals blocked;
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& error) {
    throw Error{
        ErrorCode::resource_exhausted,
        fmt::format("cannot start the thread {}: {}; raise the limit on processes (ulimit -u)",
                    vitals_->name, error.what())};
  }
  // Here, not in the thread: whoever looks at the threads after the start finds the name.
  pthread_setname_np(thread_.native_handle(), vitals_->name.c_str());
  if (watch == Watch::stall) {
    heart_ = std::make_shared<Heart>(context_, vitals_, beat_interval);
    asio::post(context_, [heart = heart_] { heart->beat(); });
  }
}

WatchedThread::~WatchedThread() {
  join(std::chrono::steady_clock::duration::zero());
}

// A forced unwinding has no exception object: the reference that catches it binds to null, which
// the sanitizer would take for a fault.
__attribute__((no_sanitize("null"))) void WatchedThread::run() {
  vitals_->thread_id = gettid();
  try {
    context_.run();
    if (!vitals_->ending) {
      failures_.fail({vitals_->name, "its loop ended although nobody stopped it"});
    }
  } catch (const abi::__forced_unwind&) {
    // pthread_exit(3) or pthread_cancel(3): the unwinding must go on.
    failures_.fail({vitals_->name, "the thread was cancelled"});
    leave();
    throw;
  } catch (const std::exception& error) {
    failures_.fail({vitals_->name, error.what()});
  } catch (...) {
    failures_.fail({vitals_->name, "an exception of unknown type escaped"});
  }
  leave();
}

void WatchedThread::leave() {
  const std::lock_guard lock{mutex_};
  vitals_->ended = true;
  has_ended_.notify_all();
}

void WatchedThread::ask_to_end() {
  if (!vitals_->ending.exchange(true)) {
    if (heart_) {
      asio::post(context_, [heart = heart_] { heart->stop(); });
    }
    work_.reset();
  }
}

void WatchedThread::join(std::chrono::steady_clock::duration patience) {
  if (!thread_.joinable()) {
    return;
  }
  ask_to_end();
  {
    std::unique_lock lock{mutex_};
    if (!has_ended_.wait_for(lock, patience, [this] { return vitals_->ended.load(); })) {
      context_.stop();
    }
  }
  thread_.join();
}

}  // namespace danaus::supervision
