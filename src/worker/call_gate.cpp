#include "worker/call_gate.hpp"

namespace danaus::worker {

CallGate::Pass CallGate::enter() {
  if ((calls_.fetch_add(1) & closed_bit) != 0) {
    leave();
    const std::lock_guard lock{mutex_};
    throw Error{*reason_};
  }
  return Pass{*this};
}

void CallGate::leave() noexcept {
  if ((calls_.fetch_sub(1) & closed_bit) != 0) {
    const std::lock_guard lock{mutex_};
    left_.notify_all();
  }
}

void CallGate::close(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!reason_) {
    reason_ = reason;
    calls_.fetch_or(closed_bit);
  }
}

bool CallGate::wait_until_empty(std::chrono::milliseconds patience) {
  std::unique_lock lock{mutex_};
  return left_.wait_for(lock, patience, [this] { return calls_ == closed_bit; });
}

}  // namespace danaus::worker
