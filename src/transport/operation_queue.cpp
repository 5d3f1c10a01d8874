#include "transport/operation_queue.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/async_wakeup.hpp"
#include "transport/completion_waiter.hpp"
#include "transport/operation_errors.hpp"
#include "transport/operation_table.hpp"

namespace danaus::transport {
namespace {

/// Completions taken in one poll: enough for a burst of small operations, small enough for a stack.
constexpr std::size_t completion_batch = 16;
using CompletionBatch = std::array<WorkCompletion, completion_batch>;

/// Tells the queue pair that this thread polls. Begun before posting, so that no thread of the
/// transport is woken to drive what the caller drives itself.
class PollingScope {
 public:
  explicit PollingScope(QueuePair& queue_pair) noexcept : queue_pair_{queue_pair} {
    queue_pair_.begin_polling();
  }
  PollingScope(const PollingScope&) = delete;
  PollingScope& operator=(const PollingScope&) = delete;
  ~PollingScope() { queue_pair_.end_polling(); }

 private:
  QueuePair& queue_pair_;
};

}  // namespace

// Leader and followers: at any time at most one thread, the leader, polls the queue pair, without
// the mutex; it hands completions out under the mutex. Blocking callers who find a leader sleep on
// their operation's condition variable, each until its own deadline; a leader whose operation is
// over makes one of them the next. `poll` and `try_take` lead for a single look, or not at all.
class OperationQueue::Impl {
 public:
  Impl(std::unique_ptr<QueuePair> queue_pair, std::string peer)
      : queue_pair_{std::move(queue_pair)}, peer_{std::move(peer)}, wakeup_{queue_pair_->fd()} {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  std::expected<void, Error> run(const Operation& operation, Clock::time_point deadline);
  std::expected<OperationId, Error> submit(const Operation& operation);
  std::size_t poll(std::span<OperationResult> results);
  std::optional<OperationResult> try_take(OperationId id);
  std::expected<void, Error> wait(OperationId id, Clock::time_point deadline);
  void arm();
  void abort(const Error& reason);

  [[nodiscard]] QueuePair& queue_pair() noexcept { return *queue_pair_; }
  [[nodiscard]] int fd() const noexcept { return wakeup_.fd(); }
  [[nodiscard]] std::uint64_t completed_operations() const noexcept { return operations_.load(); }
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept { return bytes_.load(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // -- starting --------------------------------------------------------------------------------
  std::expected<PendingOperation*, Error> start(const Operation& operation);
  bool post_chunks(PendingOperation& pending);
  void post_waiting();

  // -- waiting ---------------------------------------------------------------------------------
  std::expected<void, Error> complete(Lock& lock, PendingOperation& pending,
                                      Clock::time_point deadline);
  void lead(Lock& lock, PendingOperation& pending, Clock::time_point deadline);
  void follow(Lock& lock, PendingOperation& pending, Clock::time_point deadline);
  void begin_leading() noexcept;
  void step_down(Lock& lock);
  void wake_next_leader();
  bool look_once(Lock& lock);
  void end_look(Lock& lock, bool looked);

  // -- ending ----------------------------------------------------------------------------------
  void collect(std::span<const WorkCompletion> completions);
  void settle(PendingOperation& pending);
  void finish(PendingOperation& pending);
  void expire(PendingOperation& pending);
  void break_off(Error cause);
  OperationResult take(PendingOperation& pending);
  void update_wakeup() noexcept;

  std::unique_ptr<QueuePair> queue_pair_;
  const std::string peer_;
  const CompletionWaiter waiter_;

  std::mutex mutex_;
  AsyncWakeup wakeup_;
  OperationTable table_;
  /// Operations with something left to post, first come first.
  std::deque<PendingOperation*> to_post_;
  /// Work requests outstanding, of all operations.
  std::uint64_t outstanding_ = 0;
  /// Operations that threads wait for, in order of arrival.
  std::vector<PendingOperation*> blocked_;
  std::condition_variable nobody_blocked_;
  bool leading_ = false;
  /// Results of submitted operations, oldest first.
  std::deque<PendingOperation*> done_;
  /// Submitted operations that are not over.
  std::size_t asynchronous_ = 0;
  /// Somebody may sleep on `fd`.
  bool armed_ = false;
  /// Why the queue pair is in ERR; nothing is begun any more.
  std::optional<Error> cause_;
  /// Set by `abort`: the error of whatever was outstanding then.
  bool aborted_ = false;

  std::atomic<std::uint64_t> operations_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

// -- the calls ---------------------------------------------------------------------------------

std::expected<void, Error> OperationQueue::Impl::run(const Operation& operation,
                                                     Clock::time_point deadline) {
  if (auto checked = check_ranges(operation, peer_); !checked) {
    return checked;
  }
  Lock lock{mutex_};
  const PollingScope polling{*queue_pair_};
  const auto pending = start(operation);
  if (!pending) {
    return std::unexpected{pending.error()};
  }
  return complete(lock, **pending, deadline);
}

std::expected<OperationId, Error> OperationQueue::Impl::submit(const Operation& operation) {
  if (auto checked = check_ranges(operation, peer_); !checked) {
    return std::unexpected{std::move(checked.error())};
  }
  const Lock lock{mutex_};
  const auto pending = start(operation);
  if (!pending) {
    return std::unexpected{pending.error()};
  }
  (*pending)->asynchronous = true;
  ++asynchronous_;
  return (*pending)->id;
}

std::size_t OperationQueue::Impl::poll(std::span<OperationResult> results) {
  Lock lock{mutex_};
  const bool looked = done_.size() < results.size() && look_once(lock);
  const std::size_t count = std::min(results.size(), done_.size());
  for (OperationResult& result : results.first(count)) {
    PendingOperation& pending = *done_.front();
    done_.pop_front();
    result = take(pending);
  }
  end_look(lock, looked);
  return count;
}

std::optional<OperationResult> OperationQueue::Impl::try_take(OperationId id) {
  Lock lock{mutex_};
  PendingOperation* pending = table_.find(id);
  bool looked = false;
  if (pending != nullptr && !pending->over) {
    looked = look_once(lock);
    pending = table_.find(id);  // another thread may have taken it meanwhile
  }
  std::optional<OperationResult> result;
  if (pending == nullptr || !pending->asynchronous) {
    result = OperationResult{id, std::unexpected{unknown_operation_error(id, peer_)}};
  } else if (pending->over) {
    std::erase(done_, pending);
    result = take(*pending);
  }
  end_look(lock, looked);
  return result;
}

std::expected<void, Error> OperationQueue::Impl::wait(OperationId id, Clock::time_point deadline) {
  Lock lock{mutex_};
  const PollingScope polling{*queue_pair_};
  PendingOperation* const pending = table_.find(id);
  if (pending == nullptr || !pending->asynchronous) {
    return std::unexpected{unknown_operation_error(id, peer_)};
  }
  if (pending->over) {
    std::erase(done_, pending);
    auto result = take(*pending);
    end_look(lock, false);
    return std::move(result.outcome);
  }
  pending->asynchronous = false;
  --asynchronous_;
  return complete(lock, *pending, deadline);
}

void OperationQueue::Impl::arm() {
  const Lock lock{mutex_};
  armed_ = true;
  if (!leading_) {
    wakeup_.watch(true);
    queue_pair_->arm();
  }
  update_wakeup();
}

void OperationQueue::Impl::abort(const Error& reason) {
  const Lock lock{mutex_};
  if (!cause_) {
    aborted_ = true;
    break_off(reason);
  }
  update_wakeup();
}

OperationQueue::Impl::~Impl() {
  Lock lock{mutex_};
  if (!cause_) {
    break_off(Error{ErrorCode::shutting_down,
                    fmt::format("the queue pair to {} is being destroyed", peer_)});
  }
  // Those who still wait get their errors first; they drain meanwhile.
  nobody_blocked_.wait(lock, [this] { return blocked_.empty() && !leading_; });
  CompletionBatch completions;
  while (outstanding_ != 0) {
    const auto count =
        waiter_.wait(*queue_pair_, completions, max_work_request_length, Clock::time_point::max());
    collect(std::span{completions}.first(count));
  }
}

// -- starting ----------------------------------------------------------------------------------

/// Posts as much of it as can be now. Errors: InvalidQueuePairState; what the queue pair says when
/// it refuses the first work request.
std::expected<PendingOperation*, Error> OperationQueue::Impl::start(const Operation& operation) {
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
bool OperationQueue::Impl::post_chunks(PendingOperation& pending) {
  const Operation& operation = pending.operation;
  while (!pending.posted_all) {
    if (queue_pair_->free_slots() == 0) {
      return false;
    }
    const std::uint64_t length =
        std::min(operation.length - pending.posted, max_work_request_length);
    const auto posted = queue_pair_->post(WorkRequest{
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

void OperationQueue::Impl::post_waiting() {
  while (!to_post_.empty()) {
    PendingOperation& pending = *to_post_.front();
    if (!post_chunks(pending)) {
      return;
    }
    to_post_.pop_front();
    settle(pending);
  }
}

// -- waiting -----------------------------------------------------------------------------------

/// Waits until it is over and takes its outcome.
std::expected<void, Error> OperationQueue::Impl::complete(Lock& lock, PendingOperation& pending,
                                                          Clock::time_point deadline) {
  if (!pending.over) {
    blocked_.push_back(&pending);
    while (!pending.over) {
      if (leading_) {
        follow(lock, pending, deadline);
      } else {
        lead(lock, pending, deadline);
      }
    }
    std::erase(blocked_, &pending);
    // It may have been chosen to lead and found itself over.
    if (!leading_) {
      wake_next_leader();
    }
  }
  return std::move(take(pending).outcome);
}

void OperationQueue::Impl::lead(Lock& lock, PendingOperation& pending, Clock::time_point deadline) {
  begin_leading();
  CompletionBatch completions;
  while (!pending.over) {
    // In ERR everything completes soon. Returning before that would leave the device with memory
    // that the caller may free, so this wait has no other end.
    const auto until = cause_ ? Clock::time_point::max() : deadline;
    lock.unlock();
    const auto count = waiter_.wait(*queue_pair_, completions, pending.operation.length, until);
    lock.lock();
    if (count == 0 && !pending.over) {
      expire(pending);
    }
    collect(std::span{completions}.first(count));
    update_wakeup();
  }
  step_down(lock);
}

/// Sleeps until it is over or has to lead.
void OperationQueue::Impl::follow(Lock& lock, PendingOperation& pending,
                                  Clock::time_point deadline) {
  while (!pending.over && leading_) {
    if (cause_ || deadline == Clock::time_point::max()) {
      pending.wake.wait(lock);
    } else if (pending.wake.wait_until(lock, deadline) == std::cv_status::timeout &&
               !pending.over) {
      expire(pending);
      update_wakeup();
    }
  }
}

void OperationQueue::Impl::begin_leading() noexcept {
  leading_ = true;
  wakeup_.watch(false);
}

/// Ends leading: somebody else who waits leads, or those who sleep on `fd` are woken by the queue
/// pair itself.
void OperationQueue::Impl::step_down(Lock& lock) {
  if (armed_ && std::ranges::all_of(blocked_, &PendingOperation::over)) {
    wakeup_.watch(true);
    queue_pair_->arm();
    CompletionBatch completions;
    lock.unlock();
    const auto count = queue_pair_->poll(completions);
    lock.lock();
    collect(std::span{completions}.first(count));
    update_wakeup();
  }
  leading_ = false;
  wake_next_leader();
}

void OperationQueue::Impl::wake_next_leader() {
  const auto next = std::ranges::find(blocked_, false, &PendingOperation::over);
  if (next != blocked_.end()) {
    (*next)->wake.notify_one();
  } else if (blocked_.empty() && cause_) {
    nobody_blocked_.notify_all();
  }
}

/// Polls the queue pair once, unless a leader does that anyway (false).
bool OperationQueue::Impl::look_once(Lock& lock) {
  if (leading_) {
    return false;
  }
  begin_leading();
  CompletionBatch completions;
  lock.unlock();
  const auto count = queue_pair_->poll(completions);
  lock.lock();
  collect(std::span{completions}.first(count));
  return true;
}

/// After a look, with the results taken: so that `fd` tells of what is left, and of that alone.
void OperationQueue::Impl::end_look(Lock& lock, bool looked) {
  if (asynchronous_ == 0 && done_.empty()) {
    armed_ = false;
  }
  if (looked) {
    step_down(lock);
  }
  update_wakeup();
}

// -- ending ------------------------------------------------------------------------------------

void OperationQueue::Impl::collect(std::span<const WorkCompletion> completions) {
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

/// Ends it if none of its work requests is outstanding or to come.
void OperationQueue::Impl::settle(PendingOperation& pending) {
  if (!pending.over && pending.outstanding == 0 && (pending.posted_all || cause_)) {
    finish(pending);
  }
}

void OperationQueue::Impl::finish(PendingOperation& pending) {
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
  if (pending.asynchronous) {
    --asynchronous_;
    done_.push_back(&pending);
  } else {
    pending.wake.notify_one();
  }
}

void OperationQueue::Impl::expire(PendingOperation& pending) {
  if (!cause_) {
    pending.expired = true;
    break_off(timeout_error(pending.operation, peer_));
  }
}

/// Moves the queue pair to ERR: what is posted comes back as flushed, the rest ends here.
void OperationQueue::Impl::break_off(Error cause) {
  cause_ = std::move(cause);
  queue_pair_->move_to_error();
  const auto never_posted = std::exchange(to_post_, {});
  for (PendingOperation* pending : never_posted) {
    settle(*pending);
  }
}

OperationResult OperationQueue::Impl::take(PendingOperation& pending) {
  OperationResult result{pending.id, {}};
  if (pending.error) {
    result.outcome = std::unexpected{std::move(*pending.error)};
  }
  table_.release(pending);
  return result;
}

/// Keeps `fd` readable while results wait for someone who may sleep on it.
void OperationQueue::Impl::update_wakeup() noexcept {
  wakeup_.raise(armed_ && !done_.empty());
}

// -- the public face ---------------------------------------------------------------------------

OperationQueue::OperationQueue(std::unique_ptr<QueuePair> queue_pair, std::string peer)
    : impl_{std::make_unique<Impl>(std::move(queue_pair), std::move(peer))} {}

OperationQueue::~OperationQueue() = default;

QueuePair& OperationQueue::queue_pair() noexcept {
  return impl_->queue_pair();
}
const QueuePair& OperationQueue::queue_pair() const noexcept {
  return impl_->queue_pair();
}

std::expected<void, Error> OperationQueue::run(const Operation& operation,
                                               Clock::time_point deadline) {
  return impl_->run(operation, deadline);
}

std::expected<OperationId, Error> OperationQueue::submit(const Operation& operation) {
  return impl_->submit(operation);
}

std::size_t OperationQueue::poll(std::span<OperationResult> results) {
  return impl_->poll(results);
}

std::optional<OperationResult> OperationQueue::try_take(OperationId id) {
  return impl_->try_take(id);
}

std::expected<void, Error> OperationQueue::wait(OperationId id, Clock::time_point deadline) {
  return impl_->wait(id, deadline);
}

int OperationQueue::fd() const noexcept {
  return impl_->fd();
}
void OperationQueue::arm() {
  impl_->arm();
}
void OperationQueue::abort(const Error& reason) {
  impl_->abort(reason);
}

std::uint64_t OperationQueue::completed_operations() const noexcept {
  return impl_->completed_operations();
}
std::uint64_t OperationQueue::completed_bytes() const noexcept {
  return impl_->completed_bytes();
}

}  // namespace danaus::transport
