// Transfers: moves bytes for processes that only speak the wire, between a buffer offered here and
// a buffer of anyone, and carries out their atomics. Bounded in number; the bytes move on `data`.
// `mailbox` thread.
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
#include "manager/transfer_paths.hpp"
#include "messages/service_message.hpp"

namespace danaus::manager {

class Transfers {
 public:
  Transfers(std::size_t max_transfers, bool require_rdma, Connections& connections,
            Buffers& buffers, QueuePairs& queue_pairs, asio::io_context& data)
      : max_transfers_{max_transfers},
        paths_{require_rdma, connections, buffers},
        connections_{connections},
        queue_pairs_{queue_pairs},
        data_{data} {}

  /// Errors: Busy, InvalidArgument, NotFound (no such buffer here), OutOfRange, TransportMismatch,
  /// StalePeer, Timeout, and as connecting and the completion say.
  asio::awaitable<std::expected<messages::TransferResult, Error>> run(
      messages::Transfer transfer, Clock::time_point request_deadline);

  /// Counts among the transfers that run. Errors: as for them.
  asio::awaitable<std::expected<messages::AtomicResult, Error>> run(
      messages::Atomic atomic, Clock::time_point request_deadline);

  /// Ends those that run, their queue pairs go to ERR; none begins any more.
  void cancel_all(const Error& reason);

 private:
  /// How an operation went, and over what.
  struct Outcome {
    TransferOperation::Done done;
    std::string transport;
    std::string path;
  };

  [[nodiscard]] std::expected<void, Error> admit();
  asio::awaitable<std::expected<Outcome, Error>> carry_out(messages::ActorRef owner,
                                                           messages::Incarnation incarnation,
                                                           TransferPath path,
                                                           Clock::time_point deadline);
  asio::awaitable<std::expected<messages::TransferResult, Error>> run_admitted(
      messages::Transfer transfer, Clock::time_point deadline);
  asio::awaitable<std::expected<messages::AtomicResult, Error>> run_admitted(
      messages::Atomic atomic, Clock::time_point deadline);

  std::size_t max_transfers_;
  TransferPaths paths_;
  Connections& connections_;
  QueuePairs& queue_pairs_;
  asio::io_context& data_;
  std::size_t admitted_ = 0;
  std::set<std::shared_ptr<TransferOperation>> running_;
  std::optional<Error> ended_;
};

}  // namespace danaus::manager
