// What stands behind a Batch. One thread at a time, which it sees to.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "danaus/batch.hpp"
#include "worker/batch_plan.hpp"
#include "worker/batch_run.hpp"

namespace danaus {

namespace worker {
class WorkerCore;
}

struct Batch::State {
  State(std::weak_ptr<worker::WorkerCore> owner, worker::BatchPlan empty)
      : core{std::move(owner)}, plan{std::move(empty)} {}

  // Weak: as with a Buffer that breaks the rule and outlives its Worker.
  std::weak_ptr<worker::WorkerCore> core;
  worker::BatchPlan plan;
  // Of the last submit.
  worker::BatchOutcomes outcomes;
  std::atomic<bool> in_use = false;
};

}  // namespace danaus
