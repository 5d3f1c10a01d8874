// OperationReceives: who waits for writes with immediate of the peer's, and what has arrived. A
// receive that nobody waits for any more stays posted, and what it brings is kept for the next, so
// that a caller who gives up loses nothing.
// Used under the OperationQueue's mutex. Relies on transport.hpp and operation_table.hpp.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>

#include "messages/error.hpp"
#include "transport/operation_table.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

class OperationReceives {
 public:
  /// Of every receive that is posted: no operation has it.
  static constexpr std::uint64_t work_request_id = 0;

  explicit OperationReceives(QueuePair& queue_pair) noexcept : queue_pair_{queue_pair} {}

  /// The oldest arrival that nobody has taken.
  [[nodiscard]] std::optional<Arrival> take_arrival();
  /// Undoes `take_arrival`.
  void put_back(const Arrival& arrival) { arrivals_.push_front(arrival); }

  /// `pending` waits for the next arrival. Errors: as QueuePair::post_receive.
  std::expected<void, Error> await(PendingOperation& pending);
  void withdraw(const PendingOperation& pending) noexcept;
  /// Nobody waits any more; those who did, in order.
  [[nodiscard]] std::deque<PendingOperation*> withdraw_all() noexcept;

  /// A receive has completed. Whom it is for; nobody: it is kept.
  PendingOperation* arrived(const Arrival& arrival);
  /// A receive was flushed.
  void flushed() noexcept { --posted_; }

 private:
  QueuePair& queue_pair_;
  std::uint64_t posted_ = 0;
  /// In order of arrival, each backed by a posted receive.
  std::deque<PendingOperation*> waiting_;
  /// At most as many as were ever posted at once.
  std::deque<Arrival> arrivals_;
};

}  // namespace danaus::transport
