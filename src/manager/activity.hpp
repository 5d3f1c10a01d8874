// Activity: counts what is under way in the manager, so that it is taken down only when nothing is.
// A ticket also keeps the manager's state alive for a coroutine that outlives its caller.
// `mailbox` thread.
#pragma once

#include <memory>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "manager/signal.hpp"

namespace danaus::manager {

class Activity {
 public:
  class Ticket {
   public:
    Ticket(std::shared_ptr<void> owner, Activity& activity)
        : owner_{std::move(owner)}, activity_{&activity} {
      ++activity_->count_;
    }
    Ticket(Ticket&& other) noexcept
        : owner_{std::move(other.owner_)}, activity_{std::exchange(other.activity_, nullptr)} {}
    Ticket& operator=(Ticket&&) = delete;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() {
      if (activity_ != nullptr && --activity_->count_ == 0) {
        activity_->idle_.notify();
      }
    }

   private:
    // What `activity_` lies in; goes after the count was lowered.
    std::shared_ptr<void> owner_;
    Activity* activity_;
  };

  explicit Activity(asio::io_context& context) : idle_{context} {}

  /// Says what object the tickets keep alive; once, before the first.
  void belongs_to(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  [[nodiscard]] Ticket begin() { return {owner_.lock(), *this}; }

  /// Returns when no ticket is out.
  asio::awaitable<void> idle() {
    while (count_ > 0) {
      co_await idle_.wait_until(no_deadline);
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::weak_ptr<void> owner_;
  Signal idle_;
  std::size_t count_ = 0;
};

}  // namespace danaus::manager
