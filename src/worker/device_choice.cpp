#include "worker/device_choice.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "messages/actor_ref.hpp"

namespace danaus::worker {

namespace {

RemoteRegistration primary(const messages::RdmaBuffer& buffer) {
  return {buffer.device_name, buffer.transport, buffer.addr, buffer.rkey};
}

RemoteRegistration view(const messages::AlternateRegistration& alternate) {
  return {alternate.device_name, alternate.transport, alternate.addr, alternate.rkey};
}

std::optional<DevicePair> pair_for(std::span<const LocalDevice> local,
                                   const RemoteRegistration& remote) {
  const auto device = std::ranges::find(local, remote.transport, &LocalDevice::transport);
  if (device == local.end()) {
    return std::nullopt;
  }
  return DevicePair{device->name, remote};
}

Error mismatch(std::span<const LocalDevice> local, const messages::RdmaBuffer& remote) {
  std::vector<std::string> ours;
  for (const LocalDevice& device : local) {
    ours.push_back(fmt::format("{} ({})", device.name, device.transport));
  }
  std::vector<std::string> theirs{fmt::format("{} ({})", remote.device_name, remote.transport)};
  for (const auto& alternate : remote.alternates) {
    theirs.push_back(fmt::format("{} ({})", alternate.device_name, alternate.transport));
  }
  return Error{
      ErrorCode::transport_mismatch,
      fmt::format("no device here speaks a transport of the buffer of {}: here {}, there {}; start "
                  "both workers with a device of one transport, e.g. both with the software device",
                  messages::to_string(remote.owner), fmt::join(ours, ", "),
                  fmt::join(theirs, ", "))};
}

}  // namespace

std::vector<LocalDevice> in_order_of_preference(std::span<const messages::DeviceInfo> devices,
                                                std::string_view configured) {
  const auto chosen = std::ranges::find(devices, configured, &messages::DeviceInfo::name);
  const bool soft_only =
      configured == soft_device || (chosen != devices.end() && chosen->transport == soft_transport);
  std::vector<LocalDevice> order;
  for (const auto& device : devices) {
    if (device.usable && (!soft_only || device.transport == soft_transport)) {
      order.push_back({device.name, device.transport});
    }
  }
  std::ranges::stable_partition(
      order, [configured](const LocalDevice& device) { return device.name == configured; });
  return order;
}

std::optional<RemoteRegistration> registration_with(const messages::RdmaBuffer& buffer,
                                                    std::string_view device) {
  if (buffer.device_name == device) {
    return primary(buffer);
  }
  const auto alternate =
      std::ranges::find(buffer.alternates, device, &messages::AlternateRegistration::device_name);
  if (alternate == buffer.alternates.end()) {
    return std::nullopt;
  }
  return view(*alternate);
}

std::expected<DevicePair, Error> choose_device_pair(std::span<const LocalDevice> local,
                                                    const messages::RdmaBuffer& remote) {
  if (const auto pair = pair_for(local, primary(remote))) {
    return *pair;
  }
  for (const auto& alternate : remote.alternates) {
    if (const auto pair = pair_for(local, view(alternate))) {
      return *pair;
    }
  }
  return std::unexpected{mismatch(local, remote)};
}

}  // namespace danaus::worker
