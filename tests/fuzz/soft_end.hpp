// An end of a soft queue pair without an engine's threads, for fuzz targets: its memory, and what
// stands around it to show that nothing else was written.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <asio/io_context.hpp>

#include "memory/address_range.hpp"
#include "tests/fuzz/check.hpp"
#include "transport/soft/engine_state.hpp"
#include "transport/soft/queue_pair_core.hpp"
#include "transport/soft/region_table.hpp"

namespace danaus::fuzz {

class SoftEnd {
 public:
  static constexpr std::size_t size = 4096;

  SoftEnd() {
    memory_.fill(std::byte{0xA5});
    region = regions->add(
        memory::AddressRange::make(reinterpret_cast<std::uintptr_t>(memory_.data()) + size, size)
            .value(),
        transport::full_access);
  }

  /// Nothing beside the region has changed.
  void check_surroundings() const {
    const auto untouched = [](std::byte byte) { return byte == std::byte{0xA5}; };
    check(std::all_of(memory_.begin(), memory_.begin() + size, untouched) &&
              std::all_of(memory_.end() - size, memory_.end(), untouched),
          "nothing beside the region is written");
  }

  asio::io_context data;
  std::shared_ptr<transport::soft::EngineState> engine =
      std::make_shared<transport::soft::EngineState>("", transport::soft::PathPolicy::automatic,
                                                     std::chrono::milliseconds{1000}, data);
  std::shared_ptr<transport::soft::RegionTable> regions =
      std::make_shared<transport::soft::RegionTable>();
  std::shared_ptr<transport::soft::Region> region;

 private:
  std::array<std::byte, 3 * size> memory_{};
};

}  // namespace danaus::fuzz
