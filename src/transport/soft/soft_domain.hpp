// SoftDomain: a protection domain of a soft device: the table of its regions, and the making of its
// queue pairs. Any thread.
#pragma once

#include <memory>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/region_table.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

class SoftDomain final : public Domain {
 public:
  explicit SoftDomain(std::shared_ptr<EngineState> engine)
      : engine_{std::move(engine)}, regions_{std::make_shared<RegionTable>()} {}

  std::expected<std::unique_ptr<MemoryRegion>, Error> register_memory(std::uint64_t address,
                                                                      std::uint64_t size,
                                                                      AccessFlags access) override;
  std::expected<std::unique_ptr<QueuePair>, Error> create_queue_pair(
      const QueuePairConfig& config) override;

 private:
  std::shared_ptr<EngineState> engine_;
  // Shared with queue pairs and regions, which may outlive the domain.
  std::shared_ptr<RegionTable> regions_;
};

}  // namespace danaus::transport::soft
