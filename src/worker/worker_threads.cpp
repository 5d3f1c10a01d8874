#include "worker/worker_threads.hpp"

#include <spdlog/fmt/fmt.h>

namespace danaus::worker {

namespace {

using supervision::Watch;

/// Two, so that one call that takes long does not hold up every other.
constexpr unsigned device_work_threads = 2;

}  // namespace

WorkerThreads::~WorkerThreads() {
  constexpr std::chrono::milliseconds none{0};
  join_mailbox(none);
  join_responders(none);
  join_data(none);
  join_device_work(none);
}

void WorkerThreads::start(asio::io_context& mailbox, asio::io_context& data,
                          asio::io_context& device_work,
                          std::span<asio::io_context* const> responders) {
  for (asio::io_context* const responder : responders) {
    responders_.push_back(supervisor_.start(fmt::format("responder-{}", responders_.size()),
                                            *responder, Watch::stall));
  }
  data_.push_back(supervisor_.start("data", data, Watch::stall));
  for (unsigned number = 0; number < device_work_threads; ++number) {
    device_work_.push_back(
        supervisor_.start(fmt::format("device-work-{}", number), device_work, Watch::death));
  }
  mailbox_.push_back(supervisor_.start("mailbox", mailbox, Watch::stall));
}

WorkerThreads::MailboxThread WorkerThreads::mailbox_thread() const noexcept {
  const supervision::ThreadVitals& vitals = *mailbox_.front()->vitals();
  const int thread_id = vitals.thread_id;
  if (thread_id != 0 && !supervision::thread_exists(thread_id)) {
    return vitals.ended ? MailboxThread::ended : MailboxThread::gone;
  }
  return vitals.ended ? MailboxThread::ended : MailboxThread::running;
}

void WorkerThreads::expect_responders_to_end() {
  for (const auto& thread : responders_) {
    thread->ask_to_end();
  }
}

// All are asked before one is waited for: they may share a context.
void WorkerThreads::join(Group& group, std::chrono::milliseconds patience) {
  for (const auto& thread : group) {
    thread->ask_to_end();
  }
  for (const auto& thread : group) {
    thread->join(patience);
  }
  group.clear();
}

}  // namespace danaus::worker
