// Buffer of the public API.
#include "danaus/buffer.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "memory/address_range.hpp"
#include "worker/local_buffer.hpp"

namespace danaus {

Buffer::Buffer(std::unique_ptr<State> state) : state_{std::move(state)} {}

Buffer::Buffer(Buffer&&) noexcept = default;

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    const Buffer released{std::move(*this)};
    state_ = std::move(other.state_);
  }
  return *this;
}

Buffer::~Buffer() {
  if (!state_) {
    return;
  }
  const auto released = state_->release();
  if (!released && released.error().code() != ErrorCode::not_found) {
    spdlog::warn("a buffer of {} bytes could not be released{}: {}", size(),
                 state_->mapping ? " and stays allocated" : "", released.error().message());
  }
}

std::span<std::byte> Buffer::memory() const noexcept {
  return state_ ? state_->memory : std::span<std::byte>{};
}

std::uint64_t Buffer::size() const noexcept {
  return memory().size();
}

RemoteBuffer Buffer::remote() const {
  if (!state_) {
    throw Error{ErrorCode::invalid_argument, "a buffer that was released has no handle for peers"};
  }
  return RemoteBuffer{state_->handle};
}

BufferSlice Buffer::slice(std::uint64_t offset, std::uint64_t length) const {
  if (!state_) {
    throw Error{ErrorCode::invalid_argument, "a buffer that was released cannot be used"};
  }
  if (!memory::within(offset, length, size())) {
    throw Error{
        ErrorCode::out_of_range,
        fmt::format("a slice of {} bytes from {} on does not lie within a buffer of {} bytes",
                    length, offset, size())};
  }
  return {memory().subspan(offset, length), state_->keys};
}

Buffer::operator BufferSlice() const {
  return slice(0, size());
}

void Buffer::release() {
  if (!state_) {
    throw Error{ErrorCode::not_found, "the buffer was released already"};
  }
  const auto released = state_->release();
  state_.reset();
  if (!released) {
    throw Error{released.error()};
  }
}

}  // namespace danaus
