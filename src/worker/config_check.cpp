#include "worker/config_check.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "messages/actor_ref.hpp"
#include "messages/error.hpp"
#include "worker/device_choice.hpp"

namespace danaus::worker {

namespace {

void check_rdma(const WorkerConfig& config, std::span<const messages::DeviceInfo> devices) {
  std::vector<std::string> reasons;
  for (const auto& device : devices) {
    if (device.transport == soft_transport) {
      continue;
    }
    if (device.usable) {
      return;
    }
    reasons.push_back(fmt::format("{}: {}", device.name, device.reason));
  }
  throw Error{ErrorCode::device_unusable,
              fmt::format("cannot start {} with an RDMA device, as required: {}; leave "
                          "--require-rdma (WorkerConfig::require_rdma) away to use the software "
                          "device",
                          config.identity,
                          reasons.empty() ? std::string{"this build supports none"}
                                          : fmt::format("{}", fmt::join(reasons, "; ")))};
}

}  // namespace

void check_config(const WorkerConfig& config) {
  const auto refuse = [](std::string message) {
    throw Error{ErrorCode::invalid_argument, std::move(message)};
  };
  const auto identity = messages::check_actor_ref({config.identity, {}});
  if (!identity) {
    throw identity.error();
  }
  if (config.soft_devices < 1 || config.soft_devices > max_soft_devices) {
    refuse(
        fmt::format("cannot offer {} software devices (WorkerConfig::soft_devices); give 1 to {}",
                    config.soft_devices, max_soft_devices));
  }
  if (config.watchdog_timeout < min_watchdog_timeout ||
      config.watchdog_timeout > max_watchdog_timeout) {
    refuse(
        fmt::format("cannot watch threads with a timeout of {} ms "
                    "(WorkerConfig::watchdog_timeout); give {} to {} ms",
                    config.watchdog_timeout.count(), min_watchdog_timeout.count(),
                    max_watchdog_timeout.count()));
  }
  if (config.require_rdma && config.device == soft_device) {
    refuse(
        "cannot both require an RDMA device (--require-rdma) and use the software device "
        "(--device soft); leave one away");
  }
}

void check_device_choice(const WorkerConfig& config,
                         std::span<const messages::DeviceInfo> devices) {
  if (config.require_rdma) {
    check_rdma(config, devices);
  }
  if (config.device == auto_device || config.device == soft_device) {
    return;
  }
  const auto device = std::ranges::find(devices, config.device, &messages::DeviceInfo::name);
  if (device == devices.end()) {
    std::vector<std::string> names;
    std::ranges::transform(devices, std::back_inserter(names), &messages::DeviceInfo::name);
    throw Error{
        ErrorCode::unknown_device,
        fmt::format("there is no device {:?} on this worker; it has: {} (or give \"auto\" or "
                    "\"soft\")",
                    config.device, fmt::join(names, ", "))};
  }
  if (!device->usable) {
    throw Error{ErrorCode::device_unusable,
                fmt::format("cannot use the device {}: {}", device->name, device->reason)};
  }
}

}  // namespace danaus::worker
