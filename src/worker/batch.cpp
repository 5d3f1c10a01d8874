// Batch of the public API.
#include "danaus/batch.hpp"

#include "worker/batch_report.hpp"
#include "worker/batch_state.hpp"
#include "worker/worker_core.hpp"

namespace danaus {

namespace {

/// Keeps other threads out of a batch for as long as it lives.
class Use {
 public:
  explicit Use(std::atomic<bool>& in_use) : in_use_{in_use} {
    if (in_use_.exchange(true)) {
      throw Error{ErrorCode::busy,
                  "the batch is being submitted by another thread; wait for that, or give each "
                  "thread a batch of its own"};
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { in_use_ = false; }

 private:
  std::atomic<bool>& in_use_;
};

}  // namespace

Batch::Batch(std::unique_ptr<State> state) : state_{std::move(state)} {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

Batch& Batch::put(const BufferSlice& local, const RemoteBuffer& remote) {
  const Use use{state_->in_use};
  state_->plan.add(BatchOperation::put, local.memory_, *local.keys_, remote.wire());
  return *this;
}

Batch& Batch::get(const BufferSlice& local, const RemoteBuffer& remote) {
  const Use use{state_->in_use};
  state_->plan.add(BatchOperation::get, local.memory_, *local.keys_, remote.wire());
  return *this;
}

Batch& Batch::fetch_add(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t value) {
  const Use use{state_->in_use};
  state_->plan.add(worker::fetch_add_request(offset, value), remote.wire());
  return *this;
}

Batch& Batch::compare_swap(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t expected,
                           std::uint64_t desired) {
  const Use use{state_->in_use};
  state_->plan.add(worker::compare_swap_request(offset, expected, desired), remote.wire());
  return *this;
}

void Batch::clear() {
  const Use use{state_->in_use};
  state_->plan.clear();
  state_->outcomes.clear();
}

std::size_t Batch::size() const {
  const Use use{state_->in_use};
  return state_->plan.operations().size();
}

void Batch::submit(std::chrono::milliseconds timeout) {
  const Use use{state_->in_use};
  state_->outcomes.clear();
  if (state_->plan.operations().empty()) {
    return;
  }
  const auto core = state_->core.lock();
  if (!core) {
    throw Error{ErrorCode::shutting_down,
                "the worker of this batch is gone; make a new batch with a worker that lives"};
  }
  state_->outcomes = core->carry_out(state_->plan, timeout);
  if (auto error = worker::report(state_->plan, state_->outcomes)) {
    throw *std::move(error);
  }
}

std::vector<BatchOutcome> Batch::outcomes() const {
  const Use use{state_->in_use};
  std::vector<BatchOutcome> all;
  all.reserve(state_->outcomes.size());
  // Operations that were added since have none.
  for (std::size_t index = 0; index < state_->outcomes.size(); ++index) {
    const worker::PlannedOperation& planned = state_->plan.operations()[index];
    all.push_back({.index = index,
                   .operation = planned.kind,
                   .peer = state_->plan.link_of(planned).peer.id,
                   .bytes = planned.operation.length,
                   .outcome = state_->outcomes[index].outcome,
                   .value = state_->outcomes[index].value});
  }
  return all;
}

}  // namespace danaus
