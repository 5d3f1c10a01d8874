#include "transport/operation_ledger.hpp"

#include <algorithm>
#include <utility>

#include "transport/operation_errors.hpp"

namespace danaus::transport {

OperationLedger::OperationLedger(QueuePair& queue_pair, std::string peer, AtomicResults* results)
    : queue_pair_{queue_pair}, peer_{std::move(peer)}, results_{results}, receives_{queue_pair} {}

// -- one operation's way
// ---------------------------------------------------------------------------

std::expected<PendingOperation*, Error> OperationLedger::start(const Operation& operation) {
  if (operation.receive) {
    return start_receive(operation);
  }
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

/// What has arrived is there for the taking, whatever became of the queue pair since.
std::expected<PendingOperation*, Error> OperationLedger::start_receive(const Operation& operation) {
  const auto arrival = receives_.take_arrival();
  if (!arrival && cause_) {
    return std::unexpected{refused_error(operation, peer_, *cause_)};
  }
  PendingOperation& pending = table_.add(operation);
  if (arrival) {
    pending.arrival = *arrival;
    pending.over = true;
    return &pending;
  }
  if (auto waiting = receives_.await(pending); !waiting) {
    table_.release(pending);
    return std::unexpected{std::move(waiting.error())};
  }
  return &pending;
}

/// Only the last one tells the peer.
WorkRequest OperationLedger::next_chunk(const PendingOperation& pending) noexcept {
  const Operation& operation = pending.operation;
  const std::uint64_t left = operation.length - pending.posted;
  const bool tells = operation.opcode == Opcode::rdma_write_with_immediate;
  return {.id = pending.id,
          .opcode = tells && left > max_work_request_length ? Opcode::rdma_write : operation.opcode,
          .local_address = operation.local_address + pending.posted,
          .lkey = operation.lkey,
          .remote_address = operation.remote_address + pending.posted,
          .rkey = operation.rkey,
          .length = std::min(left, max_work_request_length),
          .compare_add = operation.compare_add,
          .swap = operation.swap,
          .immediate = operation.immediate};
}

/// Where the device writes what an atomic finds. False: every place is in use by others.
bool OperationLedger::give_result_slot(PendingOperation& pending, WorkRequest& request) noexcept {
  const auto slot = results_->take();
  if (!slot) {
    return false;
  }
  pending.result_slot = *slot;
  request.local_address = results_->address_of(*slot);
  request.lkey = results_->lkey();
  return true;
}

/// Posts its next work requests; false: the rest waits for free slots.
bool OperationLedger::post_chunks(PendingOperation& pending) {
  const Operation& operation = pending.operation;
  const bool atomic = is_atomic(operation.opcode);
  while (!pending.posted_all) {
    if (outstanding_ != 0 && queue_pair_.free_slots() == 0) {
      return false;
    }
    WorkRequest request = next_chunk(pending);
    if (atomic && !give_result_slot(pending, request)) {
      return false;
    }
    const auto posted = queue_pair_.post(request);
    if (!posted) {
      if (atomic) {
        results_->give_back(pending.result_slot);
      }
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
    pending.posted += request.length;
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
    if (completion.id == OperationReceives::work_request_id) {
      collect_receive(completion);
      continue;
    }
    PendingOperation* const pending = table_.find(completion.id);
    if (pending == nullptr || pending->outstanding == 0) {
      continue;  // not of this queue's posting
    }
    --pending->outstanding;
    --outstanding_;
    if (is_atomic(pending->operation.opcode)) {
      pending->value = results_->give_back(pending->result_slot);
    }
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

void OperationLedger::collect_receive(const WorkCompletion& completion) {
  if (completion.status == CompletionStatus::success) {
    const Arrival arrival{completion.immediate, completion.byte_length};
    if (PendingOperation* const pending = receives_.arrived(arrival)) {
      pending->arrival = arrival;
      pending->posted_all = true;
      finish(*pending);
    }
    return;
  }
  receives_.flushed();
  if (!cause_) {
    break_off(completion.status == CompletionStatus::work_request_flushed
                  ? left_rts_error(peer_)
                  : failed_error({.receive = true}, peer_, completion.status));
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
  if (carried_out && !pending.operation.receive) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(pending.operation.length, std::memory_order_relaxed);
  } else if (!carried_out && !pending.error) {
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
  if (pending.operation.receive) {
    receives_.withdraw(pending);
    pending.error = timeout_error(pending.operation, peer_);
    finish(pending);
    return;
  }
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
  const auto receivers = receives_.withdraw_all();
  for (PendingOperation* pending : receivers) {
    finish(*pending);
  }
}

void OperationLedger::abort(const Error& reason) {
  if (!cause_) {
    aborted_ = true;
    break_off(reason);
  }
}

void OperationLedger::make_asynchronous(PendingOperation& pending) {
  pending.asynchronous = true;
  if (pending.over) {
    done_.push_back(&pending);
  } else {
    ++asynchronous_;
  }
}

void OperationLedger::discard(PendingOperation& pending) {
  if (pending.operation.receive) {
    if (pending.over && !pending.error) {
      receives_.put_back(pending.arrival);
    } else if (!pending.over) {
      receives_.withdraw(pending);
      await(pending);
    }
    static_cast<void>(take(pending));
  } else if (pending.over) {
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
  OperationResult result{.id = pending.id,
                         .outcome = {},
                         .value = pending.value,
                         .immediate = pending.arrival.immediate,
                         .length = pending.arrival.length};
  if (pending.error) {
    result.outcome = std::unexpected{std::move(*pending.error)};
  }
  table_.release(pending);
  return result;
}

}  // namespace danaus::transport
