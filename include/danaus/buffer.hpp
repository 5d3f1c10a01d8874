// Buffer: memory of this process, registered for as long as the object lives; and RemoteBuffer: the
// handle by which anyone, anywhere, can put to it and get from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "messages/values.hpp"

namespace danaus {

class Worker;
class QueuePair;

namespace worker {
struct BufferKeys;
}

/// What peers may do with a registered buffer.
enum class PeerAccess : std::uint8_t {
  /// Put, get and atomics.
  read_write,
  /// Get alone; all else is refused with RemoteAccessError and changes nothing.
  read_only,
};

/// A handle to a registered buffer of some worker. A value: copy it, serialise it, send it by any
/// means. Any thread.
class RemoteBuffer {
 public:
  /// Of the wire's form, as LookupBuffer and RequestBuffer reply it.
  explicit RemoteBuffer(messages::RdmaBuffer buffer) : buffer_{std::move(buffer)} {}

  /// MessagePack, to be sent by any means.
  [[nodiscard]] std::string serialize() const;
  /// Throws Error: Malformed.
  [[nodiscard]] static RemoteBuffer deserialize(std::string_view bytes);

  /// In bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return buffer_.size; }
  [[nodiscard]] const messages::ActorRef& owner() const noexcept { return buffer_.owner; }
  [[nodiscard]] const messages::RdmaBuffer& wire() const noexcept { return buffer_; }

  /// `length` bytes from `offset` on, as a handle of their own. Throws Error: OutOfRange.
  [[nodiscard]] RemoteBuffer slice(std::uint64_t offset, std::uint64_t length) const;

 private:
  messages::RdmaBuffer buffer_;
};

/// A range of a Buffer, for one put or get. Must not outlive its Buffer.
class BufferSlice {
 public:
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// In bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return memory_.size(); }

 private:
  friend class Batch;
  friend class Buffer;
  friend class QueuePair;
  friend class Worker;
  BufferSlice(std::span<std::byte> memory, std::shared_ptr<const worker::BufferKeys> keys)
      : memory_{memory}, keys_{std::move(keys)} {}

  std::span<std::byte> memory_;
  // Shared with the Buffer: a slice may be in use by a put while the Buffer is being released.
  std::shared_ptr<const worker::BufferKeys> keys_;
};

/// Registered memory of this process. Destroying it revokes and deregisters; the memory stays the
/// caller's (or, from `Worker::allocate_buffer`, goes with it). Move-only; must not outlive its
/// Worker. Any thread, one at a time.
class Buffer {
 public:
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::span<std::byte> memory() const noexcept;
  /// In bytes.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// The handle for peers.
  [[nodiscard]] RemoteBuffer remote() const;

  /// `length` bytes from `offset` on. Throws Error: OutOfRange.
  [[nodiscard]] BufferSlice slice(std::uint64_t offset, std::uint64_t length) const;
  /// The whole buffer.
  operator BufferSlice() const;  // NOLINT(google-explicit-constructor)

  /// Releases now and says how it went; returns when nothing touches the memory any more. Throws
  /// Error. Afterwards the object is empty.
  void release();

 private:
  friend class Worker;
  struct State;
  explicit Buffer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace danaus
