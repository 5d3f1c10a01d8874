#include "worker/operation.hpp"

#include <spdlog/fmt/fmt.h>

#include "memory/address_range.hpp"
#include "worker/device_choice.hpp"

namespace danaus::worker {

namespace {

Error not_registered(std::string_view what, std::string_view device) {
  return {
      ErrorCode::transport_mismatch,
      fmt::format("the {} is not registered with the device {} of this queue pair; use a queue "
                  "pair of a device that it is registered with (Worker::queue_pair chooses one)",
                  what, device)};
}

}  // namespace

std::expected<std::uint64_t, Error> bytes_to_move(transport::Opcode opcode,
                                                  std::uint64_t local_size,
                                                  std::uint64_t remote_size) {
  const bool put = transport::is_write(opcode);
  const std::uint64_t source = put ? local_size : remote_size;
  const std::uint64_t destination = put ? remote_size : local_size;
  if (destination < source) {
    return std::unexpected{Error{
        ErrorCode::size_mismatch,
        fmt::format(
            "cannot {} {} bytes into {} bytes: all of the {} buffer moves and the {} one must "
            "hold it; take a slice of the larger one",
            put ? "put" : "get", source, destination, put ? "local" : "remote",
            put ? "remote" : "local"),
        {{"source_bytes", std::to_string(source)},
         {"destination_bytes", std::to_string(destination)}}}};
  }
  return source;
}

std::expected<transport::Operation, Error> make_operation(transport::Opcode opcode,
                                                          std::span<const std::byte> memory,
                                                          const BufferKeys& keys,
                                                          std::string_view self_device,
                                                          const messages::RdmaBuffer& remote,
                                                          std::string_view other_device) {
  const auto length = bytes_to_move(opcode, memory.size(), remote.size);
  if (!length) {
    return std::unexpected{length.error()};
  }
  const auto lkey = keys.lkeys.find(self_device);
  if (lkey == keys.lkeys.end()) {
    return std::unexpected{not_registered("local buffer", self_device)};
  }
  const auto registration = registration_with(remote, other_device);
  if (!registration) {
    return std::unexpected{
        not_registered("buffer of " + messages::to_string(remote.owner), other_device)};
  }
  return transport::Operation{.opcode = opcode,
                              .local_address = reinterpret_cast<std::uintptr_t>(memory.data()),
                              .lkey = lkey->second,
                              .remote_address = registration->address,
                              .rkey = registration->rkey,
                              .length = *length};
}

std::expected<transport::Operation, Error> make_atomic(const AtomicRequest& request,
                                                       const messages::RdmaBuffer& remote,
                                                       std::string_view other_device) {
  if (!memory::within(request.offset, transport::atomic_length, remote.size)) {
    return std::unexpected{
        Error{ErrorCode::out_of_range,
              fmt::format("8 bytes from offset {} do not lie within the buffer of {} bytes of {}; "
                          "check the offset",
                          request.offset, remote.size, messages::to_string(remote.owner))}};
  }
  const auto registration = registration_with(remote, other_device);
  if (!registration) {
    return std::unexpected{
        not_registered("buffer of " + messages::to_string(remote.owner), other_device)};
  }
  return transport::Operation{.opcode = request.opcode,
                              .remote_address = registration->address + request.offset,
                              .rkey = registration->rkey,
                              .length = transport::atomic_length,
                              .compare_add = request.compare_add,
                              .swap = request.swap};
}

}  // namespace danaus::worker
