// Counters: what the manager has done since its start, for GetStats. `mailbox` thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace danaus::manager {

struct Counters {
  std::uint64_t connect_attempts = 0;
  std::uint64_t connects_failed = 0;
  std::uint64_t connects_answered = 0;
  std::uint64_t connects_superseded = 0;
  std::uint64_t queue_pairs_created = 0;
  std::uint64_t queue_pairs_replaced = 0;
  std::uint64_t queue_pairs_closed = 0;
  std::uint64_t queue_pairs_swept = 0;
  std::uint64_t buffers_registered = 0;
  std::uint64_t buffers_released = 0;
  std::uint64_t unknown_buffers_released = 0;
  std::uint64_t atomics = 0;
  std::uint64_t atomics_failed = 0;
  std::uint64_t transfers = 0;
  std::uint64_t transfers_failed = 0;
  /// Transfers and atomics.
  std::uint64_t transfers_refused_busy = 0;

  [[nodiscard]] std::map<std::string, std::uint64_t> by_name() const {
    return {{"manager.connect_attempts", connect_attempts},
            {"manager.connects_failed", connects_failed},
            {"manager.connects_answered", connects_answered},
            {"manager.connects_superseded", connects_superseded},
            {"manager.queue_pairs_created", queue_pairs_created},
            {"manager.queue_pairs_replaced", queue_pairs_replaced},
            {"manager.queue_pairs_closed", queue_pairs_closed},
            {"manager.queue_pairs_swept", queue_pairs_swept},
            {"manager.buffers_registered", buffers_registered},
            {"manager.buffers_released", buffers_released},
            {"manager.unknown_buffers_released", unknown_buffers_released},
            {"manager.atomics", atomics},
            {"manager.atomics_failed", atomics_failed},
            {"manager.transfers", transfers},
            {"manager.transfers_failed", transfers_failed},
            {"manager.transfers_refused_busy", transfers_refused_busy}};
  }
};

}  // namespace danaus::manager
