#include "manager/signal.hpp"

#include <system_error>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

namespace danaus::manager {
namespace {

/// Keeps a timer in the list of sleepers for as long as its coroutine frame lives.
class Sleeping {
 public:
  Sleeping(std::vector<asio::steady_timer*>& sleepers, asio::steady_timer& timer)
      : sleepers_{sleepers}, timer_{&timer} {
    sleepers_.push_back(timer_);
  }
  Sleeping(const Sleeping&) = delete;
  Sleeping& operator=(const Sleeping&) = delete;
  ~Sleeping() { std::erase(sleepers_, timer_); }

 private:
  std::vector<asio::steady_timer*>& sleepers_;
  asio::steady_timer* timer_;
};

}  // namespace

asio::awaitable<void> Signal::wait_until(Clock::time_point deadline) {
  asio::steady_timer timer{context_, deadline};
  const Sleeping sleeping{sleepers_, timer};
  std::error_code woken;
  auto token = asio::redirect_error(asio::use_awaitable, woken);
  co_await timer.async_wait(token);
}

void Signal::notify() {
  for (asio::steady_timer* const timer : sleepers_) {
    timer->cancel();
  }
}

}  // namespace danaus::manager
