#include "mailbox/counters.hpp"

namespace danaus::mailbox {
namespace {

constexpr std::array<std::string_view, counter_count> names{
    "requests_received",     "casts_received",
    "replies_sent",          "malformed_frames",
    "unsupported_versions",  "unknown_messages",
    "wrong_addressees",      "stale_requests",
    "unexpected_replies",    "refused_busy",
    "refused_shutting_down", "casts_refused",
    "handler_exceptions",    "deadlines_passed",
    "late_results",          "replies_undeliverable",
    "replies_dropped",       "replies_to_replaced_clients",
    "requests_sent",         "casts_sent",
    "casts_dropped",         "replies_received",
    "replies_unmatched",     "replies_malformed",
    "requests_busy",         "requests_timed_out",
    "connections_opened",    "connections_refused",
    "connections_lost",      "handshakes_failed",
};
static_assert(!names.back().empty(), "every counter has its name");

}  // namespace

std::string_view to_string(Counter counter) noexcept {
  return names[static_cast<std::size_t>(counter)];
}

std::map<std::string, std::uint64_t> Counters::snapshot() const {
  std::map<std::string, std::uint64_t> all;
  for (std::size_t i = 0; i < counter_count; ++i) {
    all.emplace("mailbox." + std::string{names[i]}, values_[i].load(std::memory_order_relaxed));
  }
  return all;
}

}  // namespace danaus::mailbox
