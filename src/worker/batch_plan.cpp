#include "worker/batch_plan.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace danaus::worker {

namespace {

transport::Opcode opcode_of(BatchOperation kind) {
  return kind == BatchOperation::put ? transport::Opcode::rdma_write : transport::Opcode::rdma_read;
}

/// Atomics have no local memory.
bool uses_local_memory(BatchOperation kind) {
  return kind == BatchOperation::put || kind == BatchOperation::get;
}

/// Whether it writes to local memory, rather than reading it.
bool fills_local_memory(BatchOperation kind) {
  return kind == BatchOperation::get;
}

bool overlap(const transport::Operation& left, const transport::Operation& right) {
  return left.local_address < right.local_address + right.length &&
         right.local_address < left.local_address + left.length;
}

std::string describe(BatchOperation kind, std::size_t index, const transport::Operation& operation,
                     std::string_view peer) {
  return fmt::format("{} {} ({} bytes at {:#x}, {} {})", to_string(kind), index, operation.length,
                     operation.local_address, kind == BatchOperation::put ? "to" : "from", peer);
}

}  // namespace

std::string_view to_string(BatchOperation kind) noexcept {
  switch (kind) {
    case BatchOperation::put:
      return "put";
    case BatchOperation::get:
      return "get";
    case BatchOperation::fetch_add:
      return "fetch_add";
    case BatchOperation::compare_swap:
      return "compare_swap";
  }
  return "operation";
}

void BatchPlan::add(BatchOperation kind, std::span<const std::byte> memory, const BufferKeys& keys,
                    const messages::RdmaBuffer& remote) {
  if (keys.incarnation != incarnation_) {
    throw Error{ErrorCode::invalid_argument,
                "the local buffer was registered by another worker than the one that made this "
                "batch; register it with this one"};
  }
  const auto devices = choose_device_pair(keys.devices, remote);
  if (!devices) {
    throw Error{devices.error()};
  }
  const auto operation = make_operation(opcode_of(kind), memory, keys, devices->self_device, remote,
                                        devices->remote.device);
  if (!operation) {
    throw Error{operation.error()};
  }
  check_overlap(kind, *operation, remote.owner.id);

  append(kind, *operation, remote, *devices);
  if (operation->length != 0) {
    const std::uint64_t begin = operation->local_address;
    (fills_local_memory(kind) ? written_ : read_).insert(begin, begin + operation->length);
  }
}

void BatchPlan::add(const AtomicRequest& request, const messages::RdmaBuffer& remote) {
  const auto devices = choose_device_pair(devices_, remote);
  if (!devices) {
    throw Error{devices.error()};
  }
  const auto operation = make_atomic(request, remote, devices->remote.device);
  if (!operation) {
    throw Error{operation.error()};
  }
  if (!transport::is_aligned_for_atomics(operation->remote_address)) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format("an atomic at offset {} of a buffer of {} would work on 8 bytes that do "
                    "not begin at a multiple of 8; choose an offset where they do",
                    request.offset, messages::to_string(remote.owner))};
  }
  append(request.opcode == transport::Opcode::atomic_fetch_and_add ? BatchOperation::fetch_add
                                                                   : BatchOperation::compare_swap,
         *operation, remote, *devices);
}

void BatchPlan::append(BatchOperation kind, const transport::Operation& operation,
                       const messages::RdmaBuffer& remote, const DevicePair& devices) {
  const std::size_t link = link_to(remote, devices);
  operations_.push_back({kind, link, operation});
  links_[link].operations.push_back(operations_.size() - 1);
}

/// That no operation uses memory that another one fills: they may run at the same time.
void BatchPlan::check_overlap(BatchOperation kind, const transport::Operation& operation,
                              std::string_view peer) const {
  const std::uint64_t begin = operation.local_address;
  const std::uint64_t end = begin + operation.length;
  const bool fills = fills_local_memory(kind);
  if (begin == end || (!written_.overlaps(begin, end) && !(fills && read_.overlaps(begin, end)))) {
    return;
  }
  const auto collides = [&](const PlannedOperation& other) {
    return uses_local_memory(other.kind) && (fills || fills_local_memory(other.kind)) &&
           other.operation.length != 0 && overlap(operation, other.operation);
  };
  const auto other = std::ranges::find_if(operations_, collides);
  const auto index = static_cast<std::size_t>(other - operations_.begin());
  throw Error{
      ErrorCode::invalid_argument,
      fmt::format("{} cannot be added to the batch: {} uses some of the same local bytes, of which "
                  "a get fills what it takes, and operations of a batch may run at the same time; "
                  "give them memory of their own, or put one of them into another batch",
                  describe(kind, operations_.size(), operation, peer),
                  describe(other->kind, index, other->operation, link_of(*other).peer.id)),
      {{"overlaps", std::to_string(index)}}};
}

std::size_t BatchPlan::link_to(const messages::RdmaBuffer& remote, const DevicePair& devices) {
  LinkKey key{remote.owner.id, remote.incarnation, devices.self_device, devices.remote.device};
  const auto [entry, is_new] = link_indices_.try_emplace(std::move(key), links_.size());
  if (is_new) {
    links_.push_back({.peer = remote.owner,
                      .incarnation = remote.incarnation,
                      .self_device = std::string{devices.self_device},
                      .other_device = std::string{devices.remote.device},
                      .operations = {}});
  }
  return entry->second;
}

void BatchPlan::clear() {
  *this = BatchPlan{incarnation_, std::move(devices_)};
}

}  // namespace danaus::worker
