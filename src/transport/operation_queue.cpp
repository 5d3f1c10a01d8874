#include "transport/operation_queue.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/async_wakeup.hpp"
#include "transport/completion_waiter.hpp"
#include "transport/operation_errors.hpp"
#include "transport/operation_ledger.hpp"

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
  Impl(std::unique_ptr<QueuePair> queue_pair, std::string peer,
       std::unique_ptr<AtomicResults> results)
      : results_{std::move(results)},
        queue_pair_{std::move(queue_pair)},
        wakeup_{queue_pair_->fd()},
        ledger_{*queue_pair_, std::move(peer), results_.get()} {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  OperationResult run(const Operation& operation, Clock::time_point deadline);
  std::expected<void, Error> prepare_atomics();
  std::expected<OperationId, Error> submit(const Operation& operation);
  std::size_t poll(std::span<OperationResult> results);
  std::optional<OperationResult> try_take(OperationId id);
  void discard(OperationId id);
  OperationResult wait(OperationId id, Clock::time_point deadline);
  void arm();
  void abort(const Error& reason);

  [[nodiscard]] QueuePair& queue_pair() noexcept { return *queue_pair_; }
  [[nodiscard]] int fd() const noexcept { return wakeup_.fd(); }
  [[nodiscard]] std::uint64_t completed_operations() const noexcept {
    return ledger_.completed_operations();
  }
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept { return ledger_.completed_bytes(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  std::expected<void, Error> check(const Operation& operation);
  OperationResult complete(Lock& lock, PendingOperation& pending, Clock::time_point deadline);
  void lead(Lock& lock, PendingOperation& pending, Clock::time_point deadline);
  void follow(Lock& lock, PendingOperation& pending, Clock::time_point deadline);
  void begin_leading() noexcept;
  void step_down(Lock& lock);
  void wake_next_leader();
  bool look_once(Lock& lock);
  void end_look(Lock& lock, bool looked);
  void update_wakeup() noexcept;

  // Before the queue pair: its device writes there.
  std::unique_ptr<AtomicResults> results_;
  std::unique_ptr<QueuePair> queue_pair_;
  /// The leader's.
  CompletionWaiter waiter_;

  std::mutex mutex_;
  AsyncWakeup wakeup_;
  OperationLedger ledger_;
  /// Operations that threads wait for, in order of arrival.
  std::vector<PendingOperation*> blocked_;
  std::condition_variable nobody_blocked_;
  bool leading_ = false;
  /// Somebody may sleep on `fd`.
  bool armed_ = false;
};

// -- the calls ---------------------------------------------------------------------------------

std::expected<void, Error> OperationQueue::Impl::check(const Operation& operation) {
  if (operation.receive) {
    return {};
  }
  if (auto checked = check_ranges(operation, ledger_.peer()); !checked) {
    return checked;
  }
  return is_atomic(operation.opcode) ? prepare_atomics() : std::expected<void, Error>{};
}

std::expected<void, Error> OperationQueue::Impl::prepare_atomics() {
  if (results_ == nullptr) {
    return std::unexpected{no_atomics_error(ledger_.peer())};
  }
  return results_->prepare();
}

OperationResult OperationQueue::Impl::run(const Operation& operation, Clock::time_point deadline) {
  if (auto checked = check(operation); !checked) {
    return {.outcome = std::unexpected{std::move(checked.error())}};
  }
  Lock lock{mutex_};
  const PollingScope polling{*queue_pair_};
  const auto pending = ledger_.start(operation);
  if (!pending) {
    return {.outcome = std::unexpected{pending.error()}};
  }
  return complete(lock, **pending, deadline);
}

std::expected<OperationId, Error> OperationQueue::Impl::submit(const Operation& operation) {
  if (auto checked = check(operation); !checked) {
    return std::unexpected{std::move(checked.error())};
  }
  const Lock lock{mutex_};
  const auto pending = ledger_.start(operation);
  if (!pending) {
    return std::unexpected{pending.error()};
  }
  ledger_.make_asynchronous(**pending);
  update_wakeup();
  return (*pending)->id;
}

std::size_t OperationQueue::Impl::poll(std::span<OperationResult> results) {
  Lock lock{mutex_};
  const bool looked = ledger_.done().size() < results.size() && look_once(lock);
  const std::size_t count = std::min(results.size(), ledger_.done().size());
  for (OperationResult& result : results.first(count)) {
    result = ledger_.take(*ledger_.done().front());
  }
  end_look(lock, looked);
  return count;
}

std::optional<OperationResult> OperationQueue::Impl::try_take(OperationId id) {
  Lock lock{mutex_};
  PendingOperation* pending = ledger_.find(id);
  bool looked = false;
  if (pending != nullptr && !pending->over) {
    looked = look_once(lock);
    pending = ledger_.find(id);  // another thread may have taken it meanwhile
  }
  std::optional<OperationResult> result;
  if (pending == nullptr || !pending->asynchronous) {
    result = OperationResult{id, std::unexpected{unknown_operation_error(id, ledger_.peer())}};
  } else if (pending->over) {
    result = ledger_.take(*pending);
  }
  end_look(lock, looked);
  return result;
}

void OperationQueue::Impl::discard(OperationId id) {
  Lock lock{mutex_};
  PendingOperation* const pending = ledger_.find(id);
  if (pending != nullptr && pending->asynchronous) {
    ledger_.discard(*pending);
    end_look(lock, false);
  }
}

OperationResult OperationQueue::Impl::wait(OperationId id, Clock::time_point deadline) {
  Lock lock{mutex_};
  const PollingScope polling{*queue_pair_};
  PendingOperation* const pending = ledger_.find(id);
  if (pending == nullptr || !pending->asynchronous) {
    return {.id = id, .outcome = std::unexpected{unknown_operation_error(id, ledger_.peer())}};
  }
  if (pending->over) {
    auto result = ledger_.take(*pending);
    end_look(lock, false);
    return result;
  }
  ledger_.await(*pending);
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
  ledger_.abort(reason);
  update_wakeup();
}

OperationQueue::Impl::~Impl() {
  Lock lock{mutex_};
  ledger_.abort(Error{ErrorCode::shutting_down,
                      fmt::format("the queue pair to {} is being destroyed", ledger_.peer())});
  // Those who still wait get their errors first; they drain meanwhile.
  nobody_blocked_.wait(lock, [this] { return blocked_.empty() && !leading_; });
  CompletionBatch completions;
  while (ledger_.outstanding() != 0) {
    const auto count =
        waiter_.wait(*queue_pair_, completions, max_work_request_length, Clock::time_point::max());
    ledger_.collect(std::span{completions}.first(count));
  }
}

// -- waiting -----------------------------------------------------------------------------------

/// Waits until it is over and takes its outcome.
OperationResult OperationQueue::Impl::complete(Lock& lock, PendingOperation& pending,
                                               Clock::time_point deadline) {
  if (!pending.over) {
    blocked_.push_back(&pending);
    bool led = false;
    while (!pending.over) {
      if (leading_) {
        follow(lock, pending, deadline);
      } else {
        lead(lock, pending, deadline);
        led = true;
      }
    }
    std::erase(blocked_, &pending);
    // Without having led, it may have been chosen to lead just when it was over.
    if (led || !leading_) {
      step_down(lock);
    }
  }
  return ledger_.take(pending);
}

void OperationQueue::Impl::lead(Lock& lock, PendingOperation& pending, Clock::time_point deadline) {
  begin_leading();
  // Nobody knows when the peer writes: nothing to spin for.
  const std::uint64_t length =
      pending.operation.receive ? max_work_request_length : pending.operation.length;
  CompletionBatch completions;
  while (!pending.over) {
    // In ERR everything completes soon. Returning before that would leave the device with memory
    // that the caller may free, so this wait has no other end.
    const auto until = ledger_.broken() ? Clock::time_point::max() : deadline;
    lock.unlock();
    const auto count = waiter_.wait(*queue_pair_, completions, length, until);
    lock.lock();
    if (count == 0 && !pending.over) {
      ledger_.expire(pending);
    }
    ledger_.collect(std::span{completions}.first(count));
    update_wakeup();
  }
}

/// Sleeps until it is over or has to lead.
void OperationQueue::Impl::follow(Lock& lock, PendingOperation& pending,
                                  Clock::time_point deadline) {
  while (!pending.over && leading_) {
    if (ledger_.broken() || deadline == Clock::time_point::max()) {
      pending.wake.wait(lock);
    } else if (pending.wake.wait_until(lock, deadline) == std::cv_status::timeout &&
               !pending.over) {
      ledger_.expire(pending);
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
    leading_ = true;
    wakeup_.watch(true);
    queue_pair_->arm();
    CompletionBatch completions;
    lock.unlock();
    const auto count = queue_pair_->poll(completions);
    lock.lock();
    ledger_.collect(std::span{completions}.first(count));
    update_wakeup();
  }
  leading_ = false;
  wake_next_leader();
}

void OperationQueue::Impl::wake_next_leader() {
  const auto next = std::ranges::find(blocked_, false, &PendingOperation::over);
  if (next != blocked_.end()) {
    (*next)->wake.notify_one();
  } else if (blocked_.empty() && ledger_.broken()) {
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
  ledger_.collect(std::span{completions}.first(count));
  return true;
}

/// After a look, with the results taken: so that `fd` tells of what is left, and of that alone.
void OperationQueue::Impl::end_look(Lock& lock, bool looked) {
  if (!ledger_.has_asynchronous()) {
    armed_ = false;
  }
  if (looked) {
    step_down(lock);
  }
  update_wakeup();
}

/// Keeps `fd` readable while results wait for someone who may sleep on it.
void OperationQueue::Impl::update_wakeup() noexcept {
  wakeup_.raise(armed_ && !ledger_.done().empty());
}

// -- the public face ---------------------------------------------------------------------------

OperationQueue::OperationQueue(std::unique_ptr<QueuePair> queue_pair, std::string peer,
                               std::unique_ptr<AtomicResults> results)
    : impl_{std::make_unique<Impl>(std::move(queue_pair), std::move(peer), std::move(results))} {}

OperationQueue::~OperationQueue() = default;

QueuePair& OperationQueue::queue_pair() noexcept {
  return impl_->queue_pair();
}
const QueuePair& OperationQueue::queue_pair() const noexcept {
  return impl_->queue_pair();
}

std::expected<void, Error> OperationQueue::run(const Operation& operation,
                                               Clock::time_point deadline) {
  return impl_->run(operation, deadline).outcome;
}

OperationResult OperationQueue::run_for_result(const Operation& operation,
                                               Clock::time_point deadline) {
  return impl_->run(operation, deadline);
}

std::expected<void, Error> OperationQueue::prepare_atomics() {
  return impl_->prepare_atomics();
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

void OperationQueue::discard(OperationId id) {
  impl_->discard(id);
}

std::expected<void, Error> OperationQueue::wait(OperationId id, Clock::time_point deadline) {
  return impl_->wait(id, deadline).outcome;
}

OperationResult OperationQueue::wait_for_result(OperationId id, Clock::time_point deadline) {
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
