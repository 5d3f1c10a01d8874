#include "manager/transfer_paths.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <vector>

#include "memory/address_range.hpp"

namespace danaus::manager {
namespace {

/// The remote buffer on each of its owner's devices: RDMA before software, in the owner's order
/// otherwise.
std::vector<messages::AlternateRegistration> all_registrations(const messages::RdmaBuffer& buffer) {
  std::vector<messages::AlternateRegistration> all{
      {buffer.device_name, buffer.transport, buffer.addr, buffer.rkey}};
  all.insert(all.end(), buffer.alternates.begin(), buffer.alternates.end());
  std::ranges::stable_partition(all, [](const auto& one) { return one.transport != "soft"; });
  return all;
}

/// All of it but where it goes.
std::expected<transport::Operation, Error> atomic_operation(const messages::Atomic& atomic) {
  const bool adds = atomic.op == "fetch_add";
  if (!adds && atomic.op != "compare_swap") {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("\"{}\" is no operation of Atomic; use \"fetch_add\" or \"compare_swap\"",
                          atomic.op)}};
  }
  const bool fits = adds ? atomic.add && !atomic.compare && !atomic.swap
                         : !atomic.add && atomic.compare && atomic.swap;
  if (!fits) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("{} takes {}, and nothing else of add, compare and swap", atomic.op,
                          adds ? "add" : "compare and swap")}};
  }
  return transport::Operation{.opcode = adds ? transport::Opcode::atomic_fetch_and_add
                                             : transport::Opcode::atomic_compare_and_swap,
                              .length = transport::atomic_length,
                              .compare_add = adds ? *atomic.add : *atomic.compare,
                              .swap = atomic.swap.value_or(0)};
}

Error misaligned(std::uint64_t offset, std::uint64_t address) {
  return {ErrorCode::invalid_argument,
          fmt::format("offset {} of the remote buffer at {:#x} is not at a multiple of 8, where "
                      "atomics take place; check the offset",
                      offset, address)};
}

Error out_of_range(std::string_view which, std::uint64_t offset, std::uint64_t length,
                   std::uint64_t size) {
  return {ErrorCode::out_of_range,
          fmt::format("{} bytes from offset {} do not lie within the {} buffer of {} bytes; check "
                      "offset and length",
                      length, offset, which, size)};
}

}  // namespace

std::expected<TransferPath, Error> TransferPaths::choose(const messages::Transfer& transfer) const {
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
  for (const messages::AlternateRegistration& remote : all_registrations(transfer.remote)) {
    if (require_rdma_ && remote.transport == "soft") {
      continue;
    }
    for (const messages::DeviceInfo& device : own) {
      const auto lkey = local->registration.lkeys.find(device.name);
      if (device.transport != remote.transport || lkey == local->registration.lkeys.end()) {
        continue;
      }
      return TransferPath{
          .self_device = device.name,
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

std::expected<TransferPath, Error> TransferPaths::choose(const messages::Atomic& atomic) const {
  auto operation = atomic_operation(atomic);
  if (!operation) {
    return std::unexpected{std::move(operation).error()};
  }
  if (!memory::within(atomic.offset, transport::atomic_length, atomic.remote.size)) {
    return std::unexpected{
        out_of_range("remote", atomic.offset, transport::atomic_length, atomic.remote.size)};
  }
  const std::vector<messages::DeviceInfo> own = connections_.devices.for_registration();
  for (const messages::AlternateRegistration& remote : all_registrations(atomic.remote)) {
    if (require_rdma_ && remote.transport == "soft") {
      continue;
    }
    if (!transport::is_aligned_for_atomics(remote.addr + atomic.offset)) {
      return std::unexpected{misaligned(atomic.offset, remote.addr)};
    }
    const auto device = std::ranges::find(own, remote.transport, &messages::DeviceInfo::transport);
    if (device != own.end()) {
      operation->remote_address = remote.addr + atomic.offset;
      operation->rkey = remote.rkey;
      return TransferPath{
          .self_device = device->name, .other_device = remote.device_name, .operation = *operation};
    }
  }
  return std::unexpected{Error{
      ErrorCode::transport_mismatch,
      fmt::format("{} has no device of a transport that buffer {} of {} is registered with{}; "
                  "register it with a common one",
                  connections_.link.self().id, atomic.remote.mr_id, atomic.remote.owner.id,
                  require_rdma_ ? " (software is left out: RDMA is required)" : "")}};
}

}  // namespace danaus::manager
