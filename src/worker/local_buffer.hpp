// What stands behind Buffer and BufferSlice: the keys of a registration, and the memory of a buffer
// that was allocated rather than handed in. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "danaus/buffer.hpp"
#include "messages/bytes.hpp"
#include "messages/error.hpp"
#include "worker/device_choice.hpp"

namespace danaus {

namespace worker {

class WorkerCore;

/// Anonymous memory, zeroed, taken from the machine page by page as it is touched.
class Mapping {
 public:
  /// Throws Error: InvalidArgument (zero size), ResourceExhausted.
  explicit Mapping(std::uint64_t size);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Keeps the memory mapped for ever: something may still write to it.
  void abandon() noexcept { memory_ = {}; }

 private:
  std::span<std::byte> memory_;
};

/// What our devices know a registered buffer by.
struct BufferKeys {
  /// Of the worker that registered it.
  messages::Incarnation incarnation{};
  /// By device name.
  std::map<std::string, std::uint64_t, std::less<>> lkeys;
  /// The devices of `lkeys`, the preferred one first.
  std::vector<LocalDevice> devices;
};

}  // namespace worker

struct Buffer::State {
  // Weak: a Buffer that breaks the rule and outlives its Worker finds nothing to release.
  std::weak_ptr<worker::WorkerCore> core;
  messages::RdmaBuffer handle;
  std::shared_ptr<const worker::BufferKeys> keys;
  std::span<std::byte> memory;
  // Where the memory is the worker's own.
  std::unique_ptr<worker::Mapping> mapping;

  /// Revokes and deregisters; returns when nothing touches the memory any more.
  [[nodiscard]] std::expected<void, Error> release();
};

}  // namespace danaus
