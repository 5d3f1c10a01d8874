// Counters: what the mailbox counted since start; and the rule that keeps logs from flooding.
// Incremented on the `mailbox` thread, read on any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace danaus::mailbox {

enum class Counter : std::uint8_t {
  // Inbound, well-formed.
  requests_received,
  casts_received,
  replies_sent,
  // Inbound, refused or dropped.
  malformed_frames,
  unsupported_versions,
  unknown_messages,
  wrong_addressees,
  stale_requests,
  unexpected_replies,
  refused_busy,
  refused_shutting_down,
  casts_refused,
  // What became of handlers and their replies.
  handler_exceptions,
  deadlines_passed,
  late_results,
  replies_undeliverable,
  replies_dropped,
  replies_to_replaced_clients,
  // Outbound.
  requests_sent,
  casts_sent,
  casts_dropped,
  replies_received,
  replies_unmatched,
  replies_malformed,
  requests_busy,
  requests_timed_out,
  connections_opened,
  connections_refused,
  connections_lost,
  handshakes_failed,
};

inline constexpr std::size_t counter_count =
    static_cast<std::size_t>(Counter::handshakes_failed) + 1;

[[nodiscard]] std::string_view to_string(Counter counter) noexcept;

class Counters {
 public:
  /// Adds to a counter and returns its new value.
  std::uint64_t add(Counter counter, std::uint64_t amount = 1) noexcept {
    return values_[static_cast<std::size_t>(counter)].fetch_add(amount, std::memory_order_relaxed) +
           amount;
  }

  /// By name, prefixed "mailbox.". Any thread.
  [[nodiscard]] std::map<std::string, std::uint64_t> snapshot() const;

 private:
  std::array<std::atomic<std::uint64_t>, counter_count> values_{};
};

/// Whether the `count`-th event of its kind is logged: the 1st, 10th, 100th, … so that a peer that
/// sends nonsense fills a counter, not the disk.
[[nodiscard]] constexpr bool is_worth_a_line(std::uint64_t count) noexcept {
  while (count >= 10 && count % 10 == 0) {
    count /= 10;
  }
  return count == 1;
}

}  // namespace danaus::mailbox
