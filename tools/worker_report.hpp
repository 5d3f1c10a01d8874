// What `status` and `devices` show to people.
// Any thread. Plain formatting of values of the wire; whatever came from there is made printable.
#pragma once

#include <string>
#include <vector>

#include "messages/values.hpp"

namespace danaus::tools {

/// A table of devices; with `verbose`, every attribute of each below its line.
[[nodiscard]] std::string format_devices(const std::vector<messages::DeviceInfo>& devices,
                                         bool verbose);

/// Identity, uptime, devices, buffers, queue pairs, counters.
[[nodiscard]] std::string format_status(const messages::Stats& stats,
                                        const std::vector<messages::DeviceInfo>& devices,
                                        const std::vector<messages::NamedBuffer>& buffers);

}  // namespace danaus::tools
