#include "worker/batch_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace danaus::worker {

namespace {

/// Whether an operation failed because its queue pair had broken for some other reason.
bool is_consequence(const Error& error) {
  using enum ErrorCode;
  return error.code() == queue_pair_reset || error.code() == invalid_queue_pair_state ||
         error.code() == work_request_flushed;
}

std::string line(const BatchPlan& plan, std::size_t index, const Error& error) {
  const PlannedOperation& planned = plan.operations()[index];
  std::string_view reason = error.message();
  const bool is_long = reason.size() > reported_reason;
  return fmt::format("\n  {} {} of {} bytes, {}: {}: {}{}", to_string(planned.kind), index,
                     planned.operation.length, plan.link_of(planned).peer.id,
                     to_string(error.code()), reason.substr(0, reported_reason),
                     is_long ? " ..." : "");
}

}  // namespace

std::optional<Error> report(const BatchPlan& plan, const BatchOutcomes& outcomes) {
  std::vector<std::size_t> failed;
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    if (!outcomes[index].outcome) {
      failed.push_back(index);
    }
  }
  if (failed.empty()) {
    return std::nullopt;
  }
  std::ranges::stable_partition(
      failed, [&](std::size_t index) { return !is_consequence(outcomes[index].outcome.error()); });
  std::string message =
      fmt::format("{} of {} operations of the batch failed:", failed.size(), outcomes.size());
  const std::size_t told = std::min(failed.size(), reported_failures);
  for (const std::size_t index : std::span{failed}.first(told)) {
    message += line(plan, index, outcomes[index].outcome.error());
  }
  if (told < failed.size()) {
    fmt::format_to(std::back_inserter(message), "\n  and {} more; see Batch::outcomes",
                   failed.size() - told);
  }
  const Error& first = outcomes[failed.front()].outcome.error();
  Error::Details details = first.details();
  details["index"] = std::to_string(failed.front());
  details["failed"] = std::to_string(failed.size());
  return Error{first.code(), std::move(message), std::move(details)};
}

}  // namespace danaus::worker
