// Buffers: registers memory with every device that can serve it, all or none, and releases it
// again. `mailbox` thread; registering and deregistering run on `device-work`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "danaus/config.hpp"
#include "manager/buffer_table.hpp"
#include "manager/counters.hpp"
#include "manager/device_table.hpp"
#include "manager/device_work.hpp"
#include "manager/peer_link.hpp"
#include "messages/values.hpp"

namespace danaus::manager {

class Buffers {
 public:
  Buffers(RegisterPolicy policy, const PeerLink& link, DeviceTable& devices, DeviceWork& work,
          Counters& counters)
      : policy_{policy}, link_{link}, devices_{devices}, work_{work}, counters_{counters} {}

  /// Registers memory of this process.
  asio::awaitable<std::expected<Registration, Error>> add(std::uint64_t address, std::uint64_t size,
                                                          BufferTerms terms);

  /// RequestBuffer: `registrant` asks, from outside this process. Errors: as `add`, and
  /// PermissionDenied where the policy offers nothing there.
  asio::awaitable<std::expected<messages::RdmaBuffer, Error>> add_for_other(std::uint64_t address,
                                                                            std::uint64_t size,
                                                                            std::string registrant);

  /// Revokes at once, waits until nothing uses the memory, deregisters. Errors: NotFound.
  asio::awaitable<std::expected<void, Error>> remove(std::uint64_t mr_id);

  /// ReleaseBuffer: checks that it is ours, of this life, and `sender`'s to release.
  asio::awaitable<std::expected<void, Error>> remove_for(std::string sender,
                                                         messages::RdmaBuffer buffer);

  [[nodiscard]] BufferTable& table() noexcept { return table_; }
  [[nodiscard]] const BufferTable& table() const noexcept { return table_; }

 private:
  [[nodiscard]] messages::RdmaBuffer describe(std::uint64_t mr_id,
                                              const std::vector<messages::DeviceInfo>& devices,
                                              const std::vector<DomainRegion>& regions) const;

  RegisterPolicy policy_;
  const PeerLink& link_;
  DeviceTable& devices_;
  DeviceWork& work_;
  Counters& counters_;
  BufferTable table_;
};

}  // namespace danaus::manager
