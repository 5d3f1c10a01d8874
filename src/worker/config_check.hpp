// The checks of a WorkerConfig that need nothing but the config and the devices.
// Calling thread, at start.
#pragma once

#include <chrono>
#include <span>

#include "danaus/config.hpp"
#include "messages/values.hpp"

namespace danaus::worker {

/// The bounds of WorkerConfig::soft_devices and ::watchdog_timeout.
inline constexpr unsigned max_soft_devices = 64;
inline constexpr std::chrono::milliseconds min_watchdog_timeout{100};
inline constexpr std::chrono::milliseconds max_watchdog_timeout{std::chrono::hours{24}};

/// Throws Error: InvalidArgument.
void check_config(const WorkerConfig& config);

/// Whether the config can be had with these devices. Throws Error: UnknownDevice (lists the
/// devices), DeviceUnusable, InvalidArgument (what it asks for contradicts itself).
void check_device_choice(const WorkerConfig& config, std::span<const messages::DeviceInfo> devices);

}  // namespace danaus::worker
