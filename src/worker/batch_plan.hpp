// BatchPlan: the operations of a batch, checked as they are added, and by which connection each
// goes. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "danaus/batch.hpp"
#include "messages/actor_ref.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"
#include "worker/connection_cache.hpp"
#include "worker/device_choice.hpp"
#include "worker/local_buffer.hpp"
#include "worker/operation.hpp"
#include "worker/range_set.hpp"

namespace danaus::worker {

/// One life of one peer, by one pair of devices; and the operations that go there.
struct BatchLink {
  messages::ActorRef peer;
  messages::Incarnation incarnation{};
  std::string self_device;
  std::string other_device;
  /// Indices of operations, as they were added.
  std::vector<std::size_t> operations;

  [[nodiscard]] ConnectionKey key() const {
    return {peer.id, incarnation, self_device, other_device};
  }
};

struct PlannedOperation {
  BatchOperation kind = BatchOperation::put;
  std::size_t link = 0;
  transport::Operation operation;
};

/// "put", "get", "fetch_add", "compare_swap".
[[nodiscard]] std::string_view to_string(BatchOperation kind) noexcept;

class BatchPlan {
 public:
  /// For the worker that lives as `incarnation` and has `devices`, the preferred one first.
  BatchPlan(const messages::Incarnation& incarnation, std::vector<LocalDevice> devices)
      : incarnation_{incarnation}, devices_{std::move(devices)} {}

  /// Adds one operation; all or nothing. Throws Error: see Batch.
  void add(BatchOperation kind, std::span<const std::byte> memory, const BufferKeys& keys,
           const messages::RdmaBuffer& remote);
  void add(const AtomicRequest& request, const messages::RdmaBuffer& remote);

  void clear();

  [[nodiscard]] const std::vector<PlannedOperation>& operations() const noexcept {
    return operations_;
  }
  [[nodiscard]] const std::vector<BatchLink>& links() const noexcept { return links_; }
  [[nodiscard]] const BatchLink& link_of(const PlannedOperation& operation) const {
    return links_[operation.link];
  }

 private:
  using LinkKey = std::tuple<std::string, messages::Incarnation, std::string, std::string>;

  void check_overlap(BatchOperation kind, const transport::Operation& operation,
                     std::string_view peer) const;
  std::size_t link_to(const messages::RdmaBuffer& remote, const DevicePair& devices);

  void append(BatchOperation kind, const transport::Operation& operation,
              const messages::RdmaBuffer& remote, const DevicePair& devices);

  messages::Incarnation incarnation_;
  std::vector<LocalDevice> devices_;
  std::vector<PlannedOperation> operations_;
  std::vector<BatchLink> links_;
  std::map<LinkKey, std::size_t> link_indices_;
  // Local memory that operations write to, and that they read from.
  RangeSet written_;
  RangeSet read_;
};

}  // namespace danaus::worker
