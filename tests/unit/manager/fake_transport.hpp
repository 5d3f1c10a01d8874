// A transport without bytes: queue pairs with the states and endpoints of real ones, whose work
// completes when the test says so. A Fabric counts what is alive and injects failures.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/transport/fake_queue_pair.hpp"
#include "transport/transport.hpp"

namespace danaus::manager::testing {

class FakeEnd;

/// What the fakes of one test share.
struct Fabric {
  std::mutex mutex;
  std::uint32_t next_number = 100;
  std::map<std::uint32_t, FakeEnd*> queue_pairs;
  int regions = 0;
  int domains = 0;
  int domains_opened = 0;
  int queue_pairs_created = 0;
  std::vector<std::string> destroyed;
  /// Devices that refuse to register, to open, to create a queue pair.
  std::set<std::string> refuses_registration;
  std::set<std::string> refuses_to_open;
  std::set<std::string> refuses_queue_pairs;
  /// Addresses below are not mapped.
  std::uint64_t lowest_mapped_address = 0x1000;
  bool complete_at_once = true;

  void note(std::string what) {
    const std::scoped_lock lock{mutex};
    destroyed.push_back(std::move(what));
  }
};

class FakeEnd final : public transport::testing::FakeQueuePair {
 public:
  FakeEnd(std::shared_ptr<Fabric> fabric, std::string kind)
      : fabric_{std::move(fabric)}, kind_{std::move(kind)} {
    const std::scoped_lock lock{fabric_->mutex};
    number_ = fabric_->next_number++;
    fabric_->queue_pairs.emplace(number_, this);
    ++fabric_->queue_pairs_created;
    complete_at_once(fabric_->complete_at_once);
  }
  ~FakeEnd() override {
    const std::scoped_lock lock{fabric_->mutex};
    fabric_->queue_pairs.erase(number_);
    fabric_->destroyed.emplace_back("queue pair");
  }

  [[nodiscard]] std::uint32_t number() const noexcept override { return number_; }
  [[nodiscard]] std::expected<messages::QpInfo, Error> endpoint() const override {
    messages::QpInfo info;
    info.qp_num = number_;
    return info;
  }
  [[nodiscard]] transport::QueuePairState state() const override {
    using transport::QueuePairState;
    const bool broken = FakeQueuePair::state() == QueuePairState::error;
    const std::scoped_lock lock{fabric_->mutex};
    return broken ? QueuePairState::error : state_;
  }
  std::expected<void, Error> initialize() override {
    const std::scoped_lock lock{fabric_->mutex};
    state_ = transport::QueuePairState::init;
    return {};
  }
  std::expected<void, Error> connect(const messages::QpInfo& remote) override {
    if (state() == transport::QueuePairState::error) {
      return std::unexpected{Error{ErrorCode::invalid_queue_pair_state, "the fake is in ERR"}};
    }
    const std::scoped_lock lock{fabric_->mutex};
    if (remote.qp_num == 0) {
      return std::unexpected{Error{ErrorCode::invalid_argument, "0 is no queue pair"}};
    }
    if (remote_ && *remote_ != remote) {
      return std::unexpected{Error{ErrorCode::connect_conflict, "the fake is connected elsewhere"}};
    }
    remote_ = remote;
    state_ = transport::QueuePairState::ready_to_send;
    return {};
  }
  [[nodiscard]] std::optional<messages::QpInfo> remote_endpoint() const override {
    const std::scoped_lock lock{fabric_->mutex};
    return remote_;
  }

 private:
  std::shared_ptr<Fabric> fabric_;
  std::string kind_;
  std::uint32_t number_ = 0;
  transport::QueuePairState state_ = transport::QueuePairState::reset;
  std::optional<messages::QpInfo> remote_;
};

class FakeRegion final : public transport::MemoryRegion {
 public:
  FakeRegion(std::shared_ptr<Fabric> fabric, std::uint64_t address, std::uint64_t size,
             std::uint64_t key)
      : fabric_{std::move(fabric)}, address_{address}, size_{size}, key_{key} {
    const std::scoped_lock lock{fabric_->mutex};
    ++fabric_->regions;
  }
  ~FakeRegion() override {
    const std::scoped_lock lock{fabric_->mutex};
    --fabric_->regions;
    fabric_->destroyed.emplace_back("region");
  }
  [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }
  [[nodiscard]] std::uint64_t remote_address() const noexcept override { return address_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint64_t lkey() const noexcept override { return key_; }
  [[nodiscard]] std::uint64_t rkey() const noexcept override { return key_ + 1; }
  void revoke() noexcept override {}
  std::expected<void, Error> deregister() override { return {}; }

 private:
  std::shared_ptr<Fabric> fabric_;
  std::uint64_t address_;
  std::uint64_t size_;
  std::uint64_t key_;
};

class FakeDomain final : public transport::Domain {
 public:
  FakeDomain(std::shared_ptr<Fabric> fabric, std::string device)
      : fabric_{std::move(fabric)}, device_{std::move(device)} {
    const std::scoped_lock lock{fabric_->mutex};
    ++fabric_->domains;
    ++fabric_->domains_opened;
  }
  ~FakeDomain() override {
    const std::scoped_lock lock{fabric_->mutex};
    --fabric_->domains;
    fabric_->destroyed.emplace_back("domain");
  }
  std::expected<std::unique_ptr<transport::MemoryRegion>, Error> register_memory(
      std::uint64_t address, std::uint64_t size, transport::AccessFlags) override {
    if (fabric_->refuses_registration.contains(device_) ||
        address < fabric_->lowest_mapped_address) {
      return std::unexpected{Error{ErrorCode::registration_failed, device_ + " refuses"}};
    }
    return std::make_unique<FakeRegion>(fabric_, address, size, ++next_key_ * 10);
  }
  std::expected<std::unique_ptr<transport::QueuePair>, Error> create_queue_pair(
      const transport::QueuePairConfig&) override {
    if (fabric_->refuses_queue_pairs.contains(device_)) {
      return std::unexpected{Error{ErrorCode::resource_exhausted, device_ + " is full"}};
    }
    return std::make_unique<FakeEnd>(fabric_, device_);
  }

 private:
  std::shared_ptr<Fabric> fabric_;
  std::string device_;
  std::atomic<std::uint64_t> next_key_ = 0;
};

class FakeDevice final : public transport::Device {
 public:
  FakeDevice(std::shared_ptr<Fabric> fabric, messages::DeviceInfo info)
      : fabric_{std::move(fabric)}, info_{std::move(info)} {}
  [[nodiscard]] messages::DeviceInfo info() const override { return info_; }
  std::expected<std::unique_ptr<transport::Domain>, Error> open() override {
    if (fabric_->refuses_to_open.contains(info_.name)) {
      return std::unexpected{Error{ErrorCode::device_unusable, info_.name + " cannot be opened"}};
    }
    return std::make_unique<FakeDomain>(fabric_, info_.name);
  }

 private:
  std::shared_ptr<Fabric> fabric_;
  messages::DeviceInfo info_;
};

}  // namespace danaus::manager::testing
