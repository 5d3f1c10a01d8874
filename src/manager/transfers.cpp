#include "manager/transfers.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace danaus::manager {
namespace {

/// Counts while it lives.
class Admission {
 public:
  explicit Admission(std::size_t& count) : count_{count} { ++count_; }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() { --count_; }

 private:
  std::size_t& count_;
};

/// Lists an operation among those that run while it lives.
class Listing {
 public:
  Listing(std::set<std::shared_ptr<TransferOperation>>& running,
          std::shared_ptr<TransferOperation> operation)
      : running_{running}, operation_{std::move(operation)} {
    running_.insert(operation_);
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  ~Listing() { running_.erase(operation_); }

 private:
  std::set<std::shared_ptr<TransferOperation>>& running_;
  std::shared_ptr<TransferOperation> operation_;
};

/// 0 names no time of its own: the request's deadline holds.
Clock::time_point deadline_of(std::uint32_t timeout_ms, Clock::time_point request_deadline) {
  if (timeout_ms == 0) {
    return request_deadline;
  }
  return std::min(Clock::now() + std::chrono::milliseconds{timeout_ms}, request_deadline);
}

}  // namespace

asio::awaitable<std::expected<messages::TransferResult, Error>> Transfers::run(
    messages::Transfer transfer, Clock::time_point request_deadline) {
  if (auto admitted = admit(); !admitted) {
    co_return std::unexpected{std::move(admitted).error()};
  }
  const Admission admission{admitted_};
  const Clock::time_point deadline = deadline_of(transfer.timeout_ms, request_deadline);
  auto work = run_admitted(std::move(transfer), deadline);
  auto result = co_await std::move(work);
  ++connections_.counters.transfers;
  if (!result) {
    ++connections_.counters.transfers_failed;
  }
  co_return result;
}

asio::awaitable<std::expected<messages::TransferResult, Error>> Transfers::run_admitted(
    messages::Transfer transfer, Clock::time_point deadline) {
  auto path = paths_.choose(transfer);
  if (!path) {
    co_return std::unexpected{std::move(path).error()};
  }
  auto work = carry_out(std::move(transfer.remote.owner), transfer.remote.incarnation,
                        *std::move(path), deadline);
  auto outcome = co_await std::move(work);
  if (!outcome) {
    co_return std::unexpected{std::move(outcome).error()};
  }
  co_return messages::TransferResult{.bytes = transfer.length,
                                     .seconds = outcome->done.taken.count(),
                                     .transport = std::move(outcome->transport),
                                     .path = std::move(outcome->path)};
}

asio::awaitable<std::expected<messages::AtomicResult, Error>> Transfers::run(
    messages::Atomic atomic, Clock::time_point request_deadline) {
  if (auto admitted = admit(); !admitted) {
    co_return std::unexpected{std::move(admitted).error()};
  }
  const Admission admission{admitted_};
  const Clock::time_point deadline = deadline_of(atomic.timeout_ms, request_deadline);
  auto work = run_admitted(std::move(atomic), deadline);
  auto result = co_await std::move(work);
  ++connections_.counters.atomics;
  if (!result) {
    ++connections_.counters.atomics_failed;
  }
  co_return result;
}

asio::awaitable<std::expected<messages::AtomicResult, Error>> Transfers::run_admitted(
    messages::Atomic atomic, Clock::time_point deadline) {
  auto path = paths_.choose(atomic);
  if (!path) {
    co_return std::unexpected{std::move(path).error()};
  }
  auto work = carry_out(std::move(atomic.remote.owner), atomic.remote.incarnation, *std::move(path),
                        deadline);
  auto outcome = co_await std::move(work);
  if (!outcome) {
    co_return std::unexpected{std::move(outcome).error()};
  }
  co_return messages::AtomicResult{.value = outcome->done.value,
                                   .transport = std::move(outcome->transport),
                                   .path = std::move(outcome->path)};
}

std::expected<void, Error> Transfers::admit() {
  if (admitted_ < max_transfers_) {
    return {};
  }
  ++connections_.counters.transfers_refused_busy;
  return std::unexpected{
      Error{ErrorCode::busy,
            fmt::format("{} transfers and atomics are running at {}, the most at once; try again "
                        "when one has ended",
                        admitted_, connections_.link.self().id)}};
}

asio::awaitable<std::expected<Transfers::Outcome, Error>> Transfers::carry_out(
    messages::ActorRef owner, messages::Incarnation incarnation, TransferPath path,
    Clock::time_point deadline) {
  const auto handle = co_await queue_pairs_.request(std::move(owner), incarnation, path.self_device,
                                                    path.other_device, deadline);
  if (!handle) {
    co_return std::unexpected{handle.error()};
  }
  if (transport::is_atomic(path.operation.opcode)) {
    auto prepare = [operations = handle->operations] { return operations->prepare_atomics(); };
    auto prepared = co_await connections_.work.run(std::move(prepare));
    if (!prepared) {
      co_return std::unexpected{std::move(prepared).error()};
    }
  }
  if (ended_) {
    co_return std::unexpected{*ended_};
  }
  const auto operation = std::make_shared<TransferOperation>(
      handle->operations, path.operation, deadline, connections_.link.context(), data_);
  const Listing listing{running_, operation};
  auto done = co_await operation->run();
  if (!done) {
    co_return std::unexpected{std::move(done).error()};
  }
  co_return Outcome{.done = *done,
                    .transport = handle->descriptor.transport,
                    .path = std::string{handle->operations->queue_pair().path()}};
}

void Transfers::cancel_all(const Error& reason) {
  ended_ = reason;
  for (const std::shared_ptr<TransferOperation>& operation : running_) {
    operation->cancel(reason);
  }
}

}  // namespace danaus::manager
