#include "transport/operation_table.hpp"

namespace danaus::transport {
namespace {

// An id is the slot's generation above its index; generations start at 1, so no id is 0.
constexpr unsigned index_bits = 32;

constexpr std::uint32_t index_of(OperationId id) noexcept {
  return static_cast<std::uint32_t>(id);
}

}  // namespace

PendingOperation& OperationTable::add(const Operation& operation) {
  if (free_.empty()) {
    free_.reserve(slots_.size() + 1);  // so that `release` never allocates
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  if (++slot.generation == 0) {
    slot.generation = 1;
  }
  PendingOperation& pending = slot.pending;
  pending.id = (OperationId{slot.generation} << index_bits) | index;
  pending.operation = operation;
  pending.posted = 0;
  pending.outstanding = 0;
  pending.posted_all = false;
  pending.flushed = false;
  pending.expired = false;
  pending.over = false;
  pending.asynchronous = false;
  pending.discarded = false;
  pending.value = 0;
  pending.arrival = {};
  pending.error.reset();
  return pending;
}

PendingOperation* OperationTable::find(OperationId id) noexcept {
  const std::uint32_t index = index_of(id);
  if (id == 0 || index >= slots_.size() || slots_[index].pending.id != id) {
    return nullptr;
  }
  return &slots_[index].pending;
}

void OperationTable::release(PendingOperation& pending) noexcept {
  const std::uint32_t index = index_of(pending.id);
  pending.id = 0;
  pending.error.reset();
  free_.push_back(index);
}

}  // namespace danaus::transport
