// Which device of ours talks to which device of a peer. Pure; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/values.hpp"

namespace danaus::worker {

inline constexpr std::string_view soft_transport = "soft";
/// WorkerConfig::device for the best usable device, and for the first software device.
inline constexpr std::string_view auto_device = "auto";
inline constexpr std::string_view soft_device = "soft";

/// A device of ours that operations may use.
struct LocalDevice {
  std::string name;
  std::string transport;
  friend bool operator==(const LocalDevice&, const LocalDevice&) = default;
};

/// The usable ones of `devices`, the configured one first. With a software device configured,
/// software devices alone: who asks for software wants no NIC touched.
[[nodiscard]] std::vector<LocalDevice> in_order_of_preference(
    std::span<const messages::DeviceInfo> devices, std::string_view configured);

/// A registration of a peer's buffer with one of its devices. Views into the buffer's handle.
struct RemoteRegistration {
  std::string_view device;
  std::string_view transport;
  std::uint64_t address = 0;
  std::uint64_t rkey = 0;
};

/// The buffer's registration with `device`; nothing where there is none.
[[nodiscard]] std::optional<RemoteRegistration> registration_with(
    const messages::RdmaBuffer& buffer, std::string_view device);

struct DevicePair {
  std::string_view self_device;
  RemoteRegistration remote;
};

/// The first registration of `remote`, in its owner's order, that a device of ours can reach, and
/// the first device of ours that can. Views into both arguments. Errors: TransportMismatch.
[[nodiscard]] std::expected<DevicePair, Error> choose_device_pair(
    std::span<const LocalDevice> local, const messages::RdmaBuffer& remote);

}  // namespace danaus::worker
