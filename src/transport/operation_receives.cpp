#include "transport/operation_receives.hpp"

#include <utility>

namespace danaus::transport {

std::optional<Arrival> OperationReceives::take_arrival() {
  if (arrivals_.empty()) {
    return std::nullopt;
  }
  const Arrival arrival = arrivals_.front();
  arrivals_.pop_front();
  return arrival;
}

std::expected<void, Error> OperationReceives::await(PendingOperation& pending) {
  if (posted_ == waiting_.size()) {
    if (auto posted = queue_pair_.post_receive(work_request_id); !posted) {
      return posted;
    }
    ++posted_;
  }
  waiting_.push_back(&pending);
  return {};
}

void OperationReceives::withdraw(const PendingOperation& pending) noexcept {
  std::erase(waiting_, &pending);
}

std::deque<PendingOperation*> OperationReceives::withdraw_all() noexcept {
  return std::exchange(waiting_, {});
}

PendingOperation* OperationReceives::arrived(const Arrival& arrival) {
  --posted_;
  if (waiting_.empty()) {
    arrivals_.push_back(arrival);
    return nullptr;
  }
  PendingOperation* const first = waiting_.front();
  waiting_.pop_front();
  return first;
}

}  // namespace danaus::transport
