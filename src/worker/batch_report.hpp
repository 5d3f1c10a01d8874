// How the failures of a batch become one Error. Pure; any thread.
#pragma once

#include <optional>

#include "messages/error.hpp"
#include "worker/batch_plan.hpp"
#include "worker/batch_run.hpp"

namespace danaus::worker {

/// Of the failures that the message of a batch's Error tells, each with its reason, at most so many
/// and so much of each reason, in bytes.
inline constexpr std::size_t reported_failures = 8;
inline constexpr std::size_t reported_reason = 400;

/// Nothing where all succeeded. Otherwise one Error with the code of the first failure that is a
/// cause, not the consequence of another's; its message tells causes before consequences.
[[nodiscard]] std::optional<Error> report(const BatchPlan& plan, const BatchOutcomes& outcomes);

}  // namespace danaus::worker
