#include "manager/transfers.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "memory/address_range.hpp"

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

/// The remote buffer on each of its owner's devices, the primary one first.
std::vector<messages::AlternateRegistration> all_registrations(const messages::RdmaBuffer& buffer) {
  std::vector<messages::AlternateRegistration> all{
      {buffer.device_name, buffer.transport, buffer.addr, buffer.rkey}};
  all.insert(all.end(), buffer.alternates.begin(), buffer.alternates.end());
  return all;
}

Error out_of_range(std::string_view which, std::uint64_t offset, std::uint64_t length,
                   std::uint64_t size) {
  return {ErrorCode::out_of_range,
          fmt::format("{} bytes from offset {} do not lie within the {} buffer of {} bytes; check "
                      "offset and length",
                      length, offset, which, size)};
}

}  // namespace

asio::awaitable<std::expected<messages::TransferResult, Error>> Transfers::run(
    messages::Transfer transfer, Clock::time_point request_deadline) {
  if (admitted_ >= max_transfers_) {
    ++connections_.counters.transfers_refused_busy;
    co_return std::unexpected{Error{
        ErrorCode::busy,
        fmt::format("{} transfers are running at {}, the most at once; try again when one has "
                    "ended",
                    admitted_, connections_.link.self().id)}};
  }
  const Admission admission{admitted_};
  // 0 names no time of its own: the request's deadline holds.
  const Clock::time_point own_deadline =
      transfer.timeout_ms == 0 ? request_deadline
                               : Clock::now() + std::chrono::milliseconds{transfer.timeout_ms};
  auto result =
      co_await run_admitted(std::move(transfer), std::min(own_deadline, request_deadline));
  ++connections_.counters.transfers;
  if (!result) {
    ++connections_.counters.transfers_failed;
  }
  co_return result;
}

asio::awaitable<std::expected<messages::TransferResult, Error>> Transfers::run_admitted(
    messages::Transfer transfer, Clock::time_point deadline) {
  const auto path = choose_path(transfer);
  if (!path) {
    co_return std::unexpected{path.error()};
  }
  const auto handle =
      co_await queue_pairs_.request(transfer.remote.owner, transfer.remote.incarnation,
                                    path->self_device, path->other_device, deadline);
  if (!handle) {
    co_return std::unexpected{handle.error()};
  }
  if (ended_) {
    co_return std::unexpected{*ended_};
  }
  const auto operation = std::make_shared<TransferOperation>(
      handle->operations, path->operation, deadline, connections_.link.context(), data_);
  const Listing listing{running_, operation};
  const auto taken = co_await operation->run();
  if (!taken) {
    co_return std::unexpected{taken.error()};
  }
  co_return messages::TransferResult{.bytes = transfer.length,
                                     .seconds = taken->count(),
                                     .transport = handle->descriptor.transport,
                                     .path = std::string{handle->operations->queue_pair().path()}};
}

std::expected<Transfers::Path, Error> Transfers::choose_path(
    const messages::Transfer& transfer) const {
  if (transfer.op != "put" && transfer.op != "get") {
    return std::unexpected{Error{
        ErrorCode::invalid_argument,
        fmt::format("\"{}\" is no operation of Transfer; use \"put\" (local to remote) or \"get\" "
                    "(remote to local)",
                    transfer.op)}};
  }
  const RegisteredBuffer* const local = buffers_.table().find(transfer.local.buffer);
  if (local == nullptr) {
    return std::unexpected{
        Error{ErrorCode::not_found,
              fmt::format("{} offers no buffer named \"{}\"; ListBuffers shows those it offers",
                          connections_.link.self().id, transfer.local.buffer),
              {{"buffer", transfer.local.buffer}}}};
  }
  const std::uint64_t local_size = local->registration.buffer.size;
  if (!memory::within(transfer.local.offset, transfer.length, local_size)) {
    return std::unexpected{
        out_of_range("local", transfer.local.offset, transfer.length, local_size)};
  }
  if (!memory::within(transfer.offset, transfer.length, transfer.remote.size)) {
    return std::unexpected{
        out_of_range("remote", transfer.offset, transfer.length, transfer.remote.size)};
  }

  const std::vector<messages::DeviceInfo> own = connections_.devices.for_registration();
  std::vector<messages::AlternateRegistration> theirs = all_registrations(transfer.remote);
  // RDMA before software, in the owner's order otherwise.
  std::ranges::stable_partition(theirs, [](const auto& one) { return one.transport != "soft"; });
  for (const messages::AlternateRegistration& remote : theirs) {
    if (require_rdma_ && remote.transport == "soft") {
      continue;
    }
    for (const messages::DeviceInfo& device : own) {
      const auto lkey = local->registration.lkeys.find(device.name);
      if (device.transport != remote.transport || lkey == local->registration.lkeys.end()) {
        continue;
      }
      return Path{.self_device = device.name,
                  .other_device = remote.device_name,
                  .operation = {.opcode = transfer.op == "put" ? transport::Opcode::rdma_write
                                                               : transport::Opcode::rdma_read,
                                .local_address = local->range.address() + transfer.local.offset,
                                .lkey = lkey->second,
                                .remote_address = remote.addr + transfer.offset,
                                .rkey = remote.rkey,
                                .length = transfer.length}};
    }
  }
  return std::unexpected{
      Error{ErrorCode::transport_mismatch,
            fmt::format("buffer \"{}\" here and buffer {} of {} are registered with no two devices "
                        "of one transport{}; register both with a common one",
                        transfer.local.buffer, transfer.remote.mr_id, transfer.remote.owner.id,
                        require_rdma_ ? " (software is left out: RDMA is required)" : "")}};
}

void Transfers::cancel_all(const Error& reason) {
  ended_ = reason;
  for (const std::shared_ptr<TransferOperation>& operation : running_) {
    operation->cancel(reason);
  }
}

}  // namespace danaus::manager
