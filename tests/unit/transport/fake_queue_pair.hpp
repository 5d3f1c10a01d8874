// FakeQueuePair: a queue pair whose completions the test decides on, for tests of what stands above
// a transport. Its fd is an eventfd, readable when armed and completions are there.
// Any thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/descriptor_wait.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::testing {

class FakeQueuePair : public QueuePair {
 public:
  explicit FakeQueuePair(std::uint32_t slots = 512) : slots_{slots} {}
  ~FakeQueuePair() override { ::close(event_fd_); }

  // -- what the test does ------------------------------------------------------------------------

  /// The oldest `count` outstanding work requests complete.
  void complete(std::size_t count = 1, CompletionStatus status = CompletionStatus::success) {
    const std::scoped_lock lock{mutex_};
    for (std::size_t i = 0; i < count && !outstanding_.empty(); ++i) {
      complete_oldest(status);
    }
  }

  /// The oldest outstanding work request fails; as on a device, those behind it are flushed.
  void fail(CompletionStatus status) {
    const std::scoped_lock lock{mutex_};
    complete_oldest(status);
    enter_error();
  }

  /// ERR by itself, as when the peer is gone: everything is flushed.
  void die() {
    const std::scoped_lock lock{mutex_};
    enter_error();
  }

  /// A write with immediate of the peer's arrives; there must be a receive.
  void deliver(std::uint32_t immediate, std::uint64_t length) {
    const std::scoped_lock lock{mutex_};
    complete_receive({.opcode = CompletionOpcode::receive_with_immediate,
                      .immediate = immediate,
                      .byte_length = length});
  }

  /// Every work request completes as soon as it is posted.
  void complete_at_once(bool on = true) {
    const std::scoped_lock lock{mutex_};
    at_once_ = on;
  }

  /// The post after `successes` further ones is refused with `error`, once.
  void refuse_post_after(std::size_t successes, Error error) {
    const std::scoped_lock lock{mutex_};
    refusal_ = {successes, std::move(error)};
  }

  /// In ERR, holds flush completions back until `release_flushes`.
  void hold_flushes() {
    const std::scoped_lock lock{mutex_};
    holding_ = true;
  }
  void release_flushes() {
    const std::scoped_lock lock{mutex_};
    holding_ = false;
    if (state_ == QueuePairState::error) {
      enter_error();
    }
  }

  // -- what the test sees ------------------------------------------------------------------------

  /// Everything that was posted, in order.
  [[nodiscard]] std::vector<WorkRequest> posted() const {
    const std::scoped_lock lock{mutex_};
    return posted_;
  }
  [[nodiscard]] std::size_t receives() const {
    const std::scoped_lock lock{mutex_};
    return receives_.size();
  }
  [[nodiscard]] std::size_t outstanding() const {
    const std::scoped_lock lock{mutex_};
    return outstanding_.size();
  }
  /// Completions that nobody has polled yet.
  [[nodiscard]] std::size_t unpolled() const {
    const std::scoped_lock lock{mutex_};
    return completions_.size();
  }
  [[nodiscard]] int pollers() const {
    const std::scoped_lock lock{mutex_};
    return pollers_;
  }
  /// Pollers at each post.
  [[nodiscard]] std::vector<int> pollers_at_post() const {
    const std::scoped_lock lock{mutex_};
    return pollers_at_post_;
  }
  [[nodiscard]] std::size_t most_outstanding() const {
    const std::scoped_lock lock{mutex_};
    return most_outstanding_;
  }
  void wait_until_posted(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return posted_.size() >= count; });
  }
  /// Until somebody has armed it `count` times, which a waiter does before it sleeps.
  void wait_until_armed(std::size_t count = 1) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return times_armed_ >= count; });
  }
  void wait_until_in_error() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return state_ == QueuePairState::error; });
  }
  [[nodiscard]] std::size_t times_armed() const {
    const std::scoped_lock lock{mutex_};
    return times_armed_;
  }

  [[nodiscard]] std::size_t times_polled() const {
    const std::scoped_lock lock{mutex_};
    return times_polled_;
  }

  // -- QueuePair ---------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t number() const noexcept override { return 7; }
  [[nodiscard]] std::expected<messages::QpInfo, Error> endpoint() const override {
    messages::QpInfo info;
    info.qp_num = number();
    return info;
  }
  [[nodiscard]] QueuePairState state() const override {
    const std::scoped_lock lock{mutex_};
    return state_;
  }
  std::expected<void, Error> initialize() override { return {}; }
  std::expected<void, Error> connect(const messages::QpInfo&) override { return {}; }
  [[nodiscard]] std::optional<messages::QpInfo> remote_endpoint() const override { return {}; }
  [[nodiscard]] std::string_view path() const noexcept override { return "fake"; }
  [[nodiscard]] std::uint32_t free_slots() const noexcept override {
    const std::scoped_lock lock{mutex_};
    return slots_ - static_cast<std::uint32_t>(outstanding_.size());
  }

  std::expected<void, Error> post(const WorkRequest& request) override {
    const std::scoped_lock lock{mutex_};
    if (refusal_ && refusal_->first-- == 0) {
      Error error = std::move(refusal_->second);
      refusal_.reset();
      return std::unexpected{std::move(error)};
    }
    if (outstanding_.size() == slots_) {
      return std::unexpected{Error{ErrorCode::busy, "the fake's send queue is full"}};
    }
    posted_.push_back(request);
    pollers_at_post_.push_back(pollers_);
    outstanding_.push_back(request.id);
    most_outstanding_ = std::max(most_outstanding_, outstanding_.size());
    if (state_ == QueuePairState::error) {
      enter_error();
    } else if (at_once_) {
      complete_oldest(CompletionStatus::success);
    }
    changed_.notify_all();
    return {};
  }

  std::expected<void, Error> post_receive(std::uint64_t id) override {
    const std::scoped_lock lock{mutex_};
    receives_.push_back(id);
    if (state_ == QueuePairState::error) {
      enter_error();
    }
    changed_.notify_all();
    return {};
  }

  std::size_t poll(std::span<WorkCompletion> completions) override {
    const std::scoped_lock lock{mutex_};
    ++times_polled_;
    const std::size_t count = std::min(completions.size(), completions_.size());
    std::copy_n(completions_.begin(), count, completions.begin());
    completions_.erase(completions_.begin(), completions_.begin() + static_cast<long>(count));
    if (completions_.empty()) {
      quieten();
    }
    return count;
  }

  void arm() override {
    const std::scoped_lock lock{mutex_};
    ++times_armed_;
    armed_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] int fd() const noexcept override { return event_fd_; }
  void begin_polling() noexcept override {
    const std::scoped_lock lock{mutex_};
    ++pollers_;
  }
  void end_polling() noexcept override {
    const std::scoped_lock lock{mutex_};
    --pollers_;
  }
  [[nodiscard]] bool sleep(std::chrono::steady_clock::time_point deadline) override {
    arm();
    {
      const std::scoped_lock lock{mutex_};
      if (!completions_.empty()) {
        return true;
      }
    }
    pollfd entry{.fd = event_fd_, .events = POLLIN, .revents = 0};
    return sleep_until_ready({&entry, 1}, deadline);
  }
  void move_to_error() noexcept override {
    const std::scoped_lock lock{mutex_};
    enter_error();
  }

 private:
  void complete_oldest(CompletionStatus status) {
    add_completion({.id = outstanding_.front(), .status = status});
    outstanding_.pop_front();
  }

  void complete_receive(WorkCompletion completion) {
    completion.id = receives_.front();
    receives_.pop_front();
    add_completion(completion);
  }

  void add_completion(const WorkCompletion& completion) {
    completions_.push_back(completion);
    // As with a completion channel: an event only for what completes once it is armed.
    if (armed_) {
      armed_ = false;
      ::eventfd_write(event_fd_, 1);
    }
  }

  void enter_error() {
    state_ = QueuePairState::error;
    while (!holding_ && !outstanding_.empty()) {
      complete_oldest(CompletionStatus::work_request_flushed);
    }
    while (!holding_ && !receives_.empty()) {
      complete_receive({.status = CompletionStatus::work_request_flushed});
    }
    changed_.notify_all();
  }

  void quieten() {
    eventfd_t count = 0;
    ::eventfd_read(event_fd_, &count);
  }

  const std::uint32_t slots_;
  const int event_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  QueuePairState state_ = QueuePairState::ready_to_send;
  bool at_once_ = false;
  bool holding_ = false;
  bool armed_ = false;
  int pollers_ = 0;
  std::size_t times_armed_ = 0;
  std::size_t times_polled_ = 0;
  std::size_t most_outstanding_ = 0;
  std::optional<std::pair<std::size_t, Error>> refusal_;
  std::vector<WorkRequest> posted_;
  std::vector<int> pollers_at_post_;
  std::deque<std::uint64_t> outstanding_;
  std::deque<std::uint64_t> receives_;
  std::deque<WorkCompletion> completions_;
};

}  // namespace danaus::transport::testing
