// Transfers: moves bytes for processes that only speak the wire, between a buffer offered here and
// a buffer of anyone. Bounded in number; the bytes move on `data`. `mailbox` thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "manager/buffers.hpp"
#include "manager/queue_pairs.hpp"
#include "manager/transfer_operation.hpp"
#include "messages/service_message.hpp"

namespace danaus::manager {

class Transfers {
 public:
  Transfers(std::size_t max_transfers, bool require_rdma, Connections& connections,
            Buffers& buffers, QueuePairs& queue_pairs, asio::io_context& data)
      : max_transfers_{max_transfers},
        require_rdma_{require_rdma},
        connections_{connections},
        buffers_{buffers},
        queue_pairs_{queue_pairs},
        data_{data} {}

  /// Errors: Busy, InvalidArgument, NotFound (no such buffer here), OutOfRange, TransportMismatch,
  /// StalePeer, Timeout, and as connecting and the completion say.
  asio::awaitable<std::expected<messages::TransferResult, Error>> run(
      messages::Transfer transfer, Clock::time_point request_deadline);

  /// Ends those that run, their queue pairs go to ERR; none begins any more.
  void cancel_all(const Error& reason);

 private:
  /// The devices that a transfer goes between, and the keys of both memories there.
  struct Path {
    std::string self_device;
    std::string other_device;
    transport::Operation operation;
  };

  asio::awaitable<std::expected<messages::TransferResult, Error>> run_admitted(
      messages::Transfer transfer, Clock::time_point deadline);
  [[nodiscard]] std::expected<Path, Error> choose_path(const messages::Transfer& transfer) const;

  std::size_t max_transfers_;
  bool require_rdma_;
  Connections& connections_;
  Buffers& buffers_;
  QueuePairs& queue_pairs_;
  asio::io_context& data_;
  std::size_t admitted_ = 0;
  std::set<std::shared_ptr<TransferOperation>> running_;
  std::optional<Error> ended_;
};

}  // namespace danaus::manager
