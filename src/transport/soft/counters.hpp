// Counters of the soft device: what its passive side met since start. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace danaus::transport::soft {

/// Names and meanings are those of GetStats, with "soft." before them.
struct Counters {
  using Counter = std::atomic<std::uint64_t>;

  Counter accepted_connections{0};
  /// Connections whose hello named no queue pair of ours, or with a wrong token or source.
  Counter rejected_connections{0};
  /// Connections that did not say hello in time, or made room for newer ones.
  Counter expired_connections{0};
  /// Hellos and requests that are not of our protocol.
  Counter malformed_frames{0};
  /// Requests with a wrong rkey, out of bounds, or without the right that they need.
  Counter access_errors{0};
  /// Requests that met memory that is registered but no longer mapped.
  Counter memory_faults{0};
  /// Times that we may not read the memory of a peer within this host.
  Counter refused_copies{0};
  /// Times that accepting paused because the process was out of descriptors.
  Counter accept_pauses{0};
  Counter puts{0};
  Counter gets{0};
  Counter atomics{0};
  /// Receives that a write with immediate completed.
  Counter receives{0};
  /// Of the puts and gets, those by copying within this host.
  Counter puts_by_copy{0};
  Counter gets_by_copy{0};
  /// Payload moved by the passive side, or, of a get by copy, granted.
  Counter bytes_written{0};
  Counter bytes_read{0};

  [[nodiscard]] std::map<std::string, std::uint64_t> snapshot() const {
    return {{"soft.accepted_connections", accepted_connections},
            {"soft.rejected_connections", rejected_connections},
            {"soft.expired_connections", expired_connections},
            {"soft.malformed_frames", malformed_frames},
            {"soft.access_errors", access_errors},
            {"soft.memory_faults", memory_faults},
            {"soft.refused_copies", refused_copies},
            {"soft.accept_pauses", accept_pauses},
            {"soft.puts", puts},
            {"soft.gets", gets},
            {"soft.atomics", atomics},
            {"soft.receives", receives},
            {"soft.puts_by_copy", puts_by_copy},
            {"soft.gets_by_copy", gets_by_copy},
            {"soft.bytes_written", bytes_written},
            {"soft.bytes_read", bytes_read}};
  }
};

/// Counts one; relaxed, as nothing is ordered by a counter.
inline void count(Counters::Counter& counter, std::uint64_t amount = 1) noexcept {
  counter.fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace danaus::transport::soft
