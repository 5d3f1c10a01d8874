#include "worker/blocking_calls.hpp"

#include <spdlog/fmt/fmt.h>

namespace danaus::worker {

void BlockingCall::end(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!ended_) {
    ended_ = reason;
    changed_.notify_all();
  }
}

Error error_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return {ErrorCode::internal, fmt::format("unexpected: {}", error.what())};
  } catch (...) {
    return {ErrorCode::internal, "unexpected: an exception of unknown type"};
  }
}

Error no_answer_error(std::string_view what) {
  return {ErrorCode::timeout,
          fmt::format("{} did not end in time: the mailbox thread gave no answer", what)};
}

BlockingCalls::Membership::Membership(BlockingCalls& calls, BlockingCall& call)
    : calls_{calls}, call_{call} {
  const std::lock_guard lock{calls_.mutex_};
  if (calls_.reason_) {
    call_.end(*calls_.reason_);
  }
  calls_.waiting_.insert(&call_);
}

BlockingCalls::Membership::~Membership() {
  const std::lock_guard lock{calls_.mutex_};
  calls_.waiting_.erase(&call_);
}

std::optional<Error> BlockingCalls::refuse(asio::io_context& context, std::string_view what) {
  if (context.get_executor().running_in_this_thread()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} was called on the mailbox thread, where it would wait for itself; "
                             "call it on a thread of your own",
                             what)};
  }
  const std::lock_guard lock{mutex_};
  return reason_;
}

void BlockingCalls::end_all(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!reason_) {
    reason_ = reason;
  }
  for (BlockingCall* const call : waiting_) {
    call->end(reason);
  }
}

}  // namespace danaus::worker
