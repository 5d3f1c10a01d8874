#include "transport/operation_ledger.hpp"

#include <algorithm>
#include <utility>

#include "transport/operation_errors.hpp"

namespace danaus::transport {

OperationLedger::OperationLedger(QueuePair& queue_pair, std::string peer)
    : queue_pair_{queue_pair}, peer_{std::move(peer)} {}

// -- one operation's way
// ---------------------------------------------------------------------------

std::expected<PendingOperation*, Error> OperationLedger::start(const Operation& operation) {
  if (cause_) {
    return std::unexpected{refused_error(operation, peer_, *cause_)};
  }
  PendingOperation& pending = table_.add(operation);
  if (!to_post_.empty() || !post_chunks(pending)) {
    to_post_.push_back(&pending);
    return &pending;
  }
  if (pending.error && pending.outstanding == 0) {
    Error error = std::move(*pending.error);
    table_.release(pending);
    return std::unexpected{std::move(error)};
  }
  return &pending;
}

/// Posts its next work requests; false: the rest waits for free slots.
bool OperationLedger::post_chunks(PendingOperation& pending) {
  const Operation& operation = pending.operation;
  while (!pending.posted_all) {
    if (outstanding_ != 0 && queue_pair_.free_slots() == 0) {
      return false;
    }
    const std::uint64_t length =
        std::min(operation.length - pending.posted, max_work_request_length);
    const auto posted = queue_pair_.post(WorkRequest{
        .id = pending.id,
        .opcode = operation.opcode,
        .local_address = operation.local_address + pending.posted,
        .lkey = operation.lkey,
        .remote_address = operation.remote_address + pending.posted,
        .rkey = operation.rkey,
        .length = length,
    });
    if (!posted) {
      if (posted.error().code() == ErrorCode::busy && outstanding_ != 0) {
        return false;
      }
      // What was posted of it before still completes; then it ends with this error.
      pending.error = posted.error();
      pending.posted_all = true;
      return true;
    }
    ++pending.outstanding;
    ++outstanding_;
    pending.posted += length;
    pending.posted_all = pending.posted == operation.length;
  }
  return true;
}

void OperationLedger::post_waiting() {
  while (!to_post_.empty()) {
    PendingOperation& pending = *to_post_.front();
    if (!post_chunks(pending)) {
      return;
    }
    to_post_.pop_front();
    settle(pending);
  }
}

void OperationLedger::collect(std::span<const WorkCompletion> completions) {
  for (const WorkCompletion& completion : completions) {
    PendingOperation* const pending = table_.find(completion.id);
    if (pending == nullptr || pending->outstanding == 0) {
      continue;  // not of this queue's posting
    }
    --pending->outstanding;
    --outstanding_;
    if (completion.status == CompletionStatus::work_request_flushed) {
      pending->flushed = true;
      if (!cause_) {
        break_off(left_rts_error(peer_));
      }
    } else if (completion.status != CompletionStatus::success) {
      if (!pending->error) {
        pending->error = failed_error(pending->operation, peer_, completion.status);
      }
      if (!cause_) {
        break_off(*pending->error);
      }
    }
    settle(*pending);
  }
  if (!cause_) {
    post_waiting();
  }
}

/// Ends it if none of its work requests is outstanding or to come. Not to be touched afterwards:
/// one that was discarded is gone then.
void OperationLedger::settle(PendingOperation& pending) {
  if (!pending.over && pending.outstanding == 0 && (pending.posted_all || cause_)) {
    finish(pending);
  }
}

void OperationLedger::finish(PendingOperation& pending) {
  const bool carried_out = pending.posted_all && !pending.flushed && !pending.error;
  if (carried_out) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(pending.operation.length, std::memory_order_relaxed);
  } else if (!pending.error) {
    if (pending.expired) {
      pending.error = timeout_error(pending.operation, peer_);
    } else if (aborted_) {
      pending.error = cause_;
    } else {
      pending.error = reset_error(pending.operation, peer_, *cause_);
    }
  }
  pending.over = true;
  if (pending.discarded) {
    table_.release(pending);
  } else if (pending.asynchronous) {
    --asynchronous_;
    done_.push_back(&pending);
  } else {
    pending.wake.notify_one();
  }
}

void OperationLedger::expire(PendingOperation& pending) {
  if (!cause_) {
    pending.expired = true;
    break_off(timeout_error(pending.operation, peer_));
  }
}

/// Moves the queue pair to ERR: what is posted comes back as flushed, the rest ends here.
void OperationLedger::break_off(Error cause) {
  cause_ = std::move(cause);
  queue_pair_.move_to_error();
  const auto never_posted = std::exchange(to_post_, {});
  for (PendingOperation* pending : never_posted) {
    settle(*pending);
  }
}

void OperationLedger::abort(const Error& reason) {
  if (!cause_) {
    aborted_ = true;
    break_off(reason);
  }
}

void OperationLedger::make_asynchronous(PendingOperation& pending) noexcept {
  pending.asynchronous = true;
  ++asynchronous_;
}

void OperationLedger::discard(PendingOperation& pending) {
  if (pending.over) {
    static_cast<void>(take(pending));
  } else {
    await(pending);
    pending.discarded = true;
  }
}

void OperationLedger::await(PendingOperation& pending) noexcept {
  pending.asynchronous = false;
  --asynchronous_;
}

OperationResult OperationLedger::take(PendingOperation& pending) {
  if (pending.asynchronous) {
    std::erase(done_, &pending);
  }
  OperationResult result{pending.id, {}};
  if (pending.error) {
    result.outcome = std::unexpected{std::move(*pending.error)};
  }
  table_.release(pending);
  return result;
}

}  // namespace danaus::transport
