// SoftMemoryRegion: a caller's hold on a region of a RegionTable. Any thread.
#pragma once

#include <memory>

#include "transport/soft/region_table.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

class SoftMemoryRegion final : public MemoryRegion {
 public:
  SoftMemoryRegion(std::shared_ptr<RegionTable> table, std::shared_ptr<Region> region)
      : table_{std::move(table)}, region_{std::move(region)} {}
  ~SoftMemoryRegion() override { withdraw(); }

  [[nodiscard]] std::uint64_t address() const noexcept override {
    return region_->range().address();
  }
  [[nodiscard]] std::uint64_t remote_address() const noexcept override {
    return region_->range().address();
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return region_->range().size(); }
  [[nodiscard]] std::uint64_t lkey() const noexcept override { return region_->lkey(); }
  [[nodiscard]] std::uint64_t rkey() const noexcept override { return region_->rkey(); }

  void revoke() noexcept override { region_->revoke(); }

  std::expected<void, Error> deregister() override {
    withdraw();
    return {};
  }

 private:
  void withdraw() noexcept {
    region_->revoke();
    table_->remove(*region_);
    region_->wait_until_unused();
  }

  // Shared: queue pairs of the domain look keys up in it, and work under way holds regions.
  std::shared_ptr<RegionTable> table_;
  std::shared_ptr<Region> region_;
};

}  // namespace danaus::transport::soft
