// TransferPaths: what becomes of a Transfer or an Atomic: checked, between which devices it goes,
// and with which keys. `mailbox` thread.
#pragma once

#include <expected>
#include <string>

#include "manager/buffers.hpp"
#include "manager/connections.hpp"
#include "messages/service_message.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::manager {

struct TransferPath {
  std::string self_device;
  std::string other_device;
  /// With the keys of both memories there.
  transport::Operation operation;
};

class TransferPaths {
 public:
  TransferPaths(bool require_rdma, const Connections& connections, const Buffers& buffers)
      : require_rdma_{require_rdma}, connections_{connections}, buffers_{buffers} {}

  /// Errors: InvalidArgument, NotFound (no such buffer here), OutOfRange, TransportMismatch.
  [[nodiscard]] std::expected<TransferPath, Error> choose(const messages::Transfer& transfer) const;

  /// Errors: InvalidArgument, OutOfRange, TransportMismatch.
  [[nodiscard]] std::expected<TransferPath, Error> choose(const messages::Atomic& atomic) const;

 private:
  bool require_rdma_;
  const Connections& connections_;
  const Buffers& buffers_;
};

}  // namespace danaus::manager
