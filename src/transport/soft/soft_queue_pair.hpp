// SoftQueuePair: a caller's end of a soft queue pair; the work is QueuePairCore's. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/queue_pair_core.hpp"
#include "transport/spin_credit.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

class SoftQueuePair final : public QueuePair {
 public:
  SoftQueuePair(std::shared_ptr<QueuePairCore> core, std::shared_ptr<EngineState> engine)
      : core_{std::move(core)}, engine_{std::move(engine)} {}
  ~SoftQueuePair() override {
    engine_->queue_pairs.remove(core_->local().qp_num);
    core_->close();
  }

  [[nodiscard]] std::uint32_t number() const noexcept override { return core_->local().qp_num; }
  [[nodiscard]] std::expected<messages::QpInfo, Error> endpoint() const override {
    return core_->local();
  }
  [[nodiscard]] QueuePairState state() const override { return core_->state(); }
  std::expected<void, Error> initialize() override { return core_->initialize(); }
  std::expected<void, Error> connect(const messages::QpInfo& remote) override {
    return core_->connect(remote);
  }
  [[nodiscard]] std::optional<messages::QpInfo> remote_endpoint() const override {
    return core_->remote();
  }
  [[nodiscard]] std::string_view path() const noexcept override { return core_->path(); }
  [[nodiscard]] std::uint32_t free_slots() const noexcept override { return core_->free_slots(); }
  std::expected<void, Error> post(const WorkRequest& request) override {
    return core_->post(request);
  }
  std::expected<void, Error> post_receive(std::uint64_t id) override {
    return core_->post_receive(id);
  }
  std::size_t poll(std::span<WorkCompletion> completions) override {
    return core_->poll(completions);
  }
  void arm() override { core_->arm(); }
  [[nodiscard]] int fd() const noexcept override { return core_->fd(); }
  void begin_polling() noexcept override { core_->begin_polling(); }
  void end_polling() noexcept override { core_->end_polling(); }
  [[nodiscard]] std::chrono::microseconds worth_polling_for(
      std::uint64_t length) const noexcept override {
    return core_->copies(length) ? copy_time(length) : QueuePair::worth_polling_for(length);
  }
  [[nodiscard]] bool sleep(std::chrono::steady_clock::time_point deadline) override {
    return core_->sleep(deadline);
  }
  void move_to_error() noexcept override { core_->move_to_error(); }

 private:
  /// A copy by the peer keeps one CPU busy, as one by the caller would, and the wake-up behind it
  /// would take half as long again for 1 MiB: so polling lasts until it should be over, at 5 GB/s.
  static std::chrono::microseconds copy_time(std::uint64_t length) noexcept {
    constexpr std::uint64_t bytes_per_microsecond = 5'000;
    return length > max_turn_length
               ? std::chrono::microseconds{0}
               : spin_limit + std::chrono::microseconds{length / bytes_per_microsecond};
  }

  std::shared_ptr<QueuePairCore> core_;
  std::shared_ptr<EngineState> engine_;
};

}  // namespace danaus::transport::soft
