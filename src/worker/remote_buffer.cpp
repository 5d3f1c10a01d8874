// RemoteBuffer of the public API: the handle and its form on the way to a peer.
#include <spdlog/fmt/fmt.h>

#include <span>
#include <utility>

#include "danaus/buffer.hpp"
#include "memory/address_range.hpp"
#include "messages/codec.hpp"

namespace danaus {

namespace {

/// The longest handle that is accepted, in bytes: far beyond what a machine's devices can fill.
constexpr std::size_t max_handle_size = std::size_t{64} << 10U;

Error malformed(std::string_view why) {
  return {
      ErrorCode::malformed,
      fmt::format("cannot read a buffer handle: {}; give what RemoteBuffer::serialize made", why)};
}

/// Every registration must cover `size` bytes without wrapping, so that slices need not check.
std::expected<void, Error> check(const messages::RdmaBuffer& buffer) {
  if (auto owner = messages::check_actor_ref(buffer.owner); !owner) {
    return std::unexpected{malformed(owner.error().message())};
  }
  const auto wraps = [size = buffer.size](std::uint64_t address) {
    return address + size < address;
  };
  bool any_wraps = wraps(buffer.addr);
  for (const auto& alternate : buffer.alternates) {
    any_wraps = any_wraps || wraps(alternate.addr);
  }
  if (any_wraps) {
    return std::unexpected{malformed("an address range of its wraps")};
  }
  return {};
}

}  // namespace

std::string RemoteBuffer::serialize() const {
  const messages::Bytes bytes = messages::encode(buffer_);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RemoteBuffer RemoteBuffer::deserialize(std::string_view bytes) {
  if (bytes.size() > max_handle_size) {
    throw malformed(
        fmt::format("it has {} bytes, at most {} are accepted", bytes.size(), max_handle_size));
  }
  auto buffer = messages::decode<messages::RdmaBuffer>(std::as_bytes(std::span{bytes}));
  if (!buffer) {
    throw malformed(buffer.error().message());
  }
  if (auto checked = check(*buffer); !checked) {
    throw std::move(checked).error();
  }
  return RemoteBuffer{*std::move(buffer)};
}

RemoteBuffer RemoteBuffer::slice(std::uint64_t offset, std::uint64_t length) const {
  if (!memory::within(offset, length, buffer_.size)) {
    throw Error{ErrorCode::out_of_range,
                fmt::format("a slice of {} bytes from {} on does not lie within the buffer of {} "
                            "bytes of {}",
                            length, offset, buffer_.size, messages::to_string(buffer_.owner))};
  }
  messages::RdmaBuffer part = buffer_;
  part.addr += offset;
  part.size = length;
  for (auto& alternate : part.alternates) {
    alternate.addr += offset;
  }
  return RemoteBuffer{std::move(part)};
}

}  // namespace danaus
