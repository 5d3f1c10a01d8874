#include "tools/worker_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdint>

#include "messages/actor_ref.hpp"
#include "messages/bytes.hpp"
#include "tools/printable.hpp"
#include "tools/quantity.hpp"
#include "tools/table.hpp"
#include "transport/types.hpp"

namespace danaus::tools {
namespace {

std::string format_uptime(double seconds) {
  constexpr std::uint64_t minute = 60;
  constexpr std::uint64_t hour = 60 * minute;
  constexpr double longest = 1e15;
  if (!(seconds >= 0 && seconds < longest)) {
    return "unknown";
  }
  const auto whole = static_cast<std::uint64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / hour, whole % hour / minute, whole % minute);
}

std::string format_state(std::uint32_t state) {
  constexpr auto last = static_cast<std::uint32_t>(transport::QueuePairState::error);
  return state <= last
             ? std::string{transport::to_string(static_cast<transport::QueuePairState>(state))}
             : fmt::format("unknown ({})", state);
}

std::string format_buffers(const std::vector<messages::NamedBuffer>& buffers) {
  Table table{{"NAME", "SIZE", "DEVICE", "MR"}};
  for (const auto& [name, buffer] : buffers) {
    table.add({name, format_size(buffer.size), buffer.device_name, fmt::to_string(buffer.mr_id)});
  }
  return table.text();
}

std::string format_queue_pairs(const std::vector<messages::QueuePairStats>& queue_pairs) {
  Table table{{"DEVICE", "PEER", "PEER DEVICE", "QP", "PEER QP", "STATE", "PHASE", "PATH",
               "OPERATIONS", "BYTES"}};
  for (const messages::QueuePairStats& entry : queue_pairs) {
    const messages::QueuePairDescriptor& pair = entry.queue_pair;
    table.add({pair.self_device, messages::to_string(pair.other), pair.other_device,
               fmt::to_string(pair.qp_num), fmt::to_string(pair.peer_qp_num),
               format_state(pair.state), entry.phase, entry.path, fmt::to_string(entry.operations),
               format_size(entry.bytes)});
  }
  return table.text();
}

std::string format_counters(const std::map<std::string, std::uint64_t>& counters) {
  Table table{{"COUNTER", "COUNT"}};
  for (const auto& [name, count] : counters) {
    if (count > 0) {
      table.add({name, fmt::to_string(count)});
    }
  }
  return table.text();
}

}  // namespace

std::string format_devices(const std::vector<messages::DeviceInfo>& devices, bool verbose) {
  Table table{{"NAME", "TRANSPORT", "PORT", "USABLE"}};
  for (const messages::DeviceInfo& device : devices) {
    table.add({device.name, device.transport, fmt::to_string(device.port),
               device.usable ? "yes" : "no: " + device.reason});
  }
  std::string text = table.text();
  if (verbose) {
    for (const messages::DeviceInfo& device : devices) {
      text += fmt::format("\n{}:\n", printable(device.name));
      for (const auto& [name, value] : device.attributes) {
        text += fmt::format("  {}: {}\n", printable(name), printable(value));
      }
    }
  }
  return text;
}

std::string format_status(const messages::Stats& stats,
                          const std::vector<messages::DeviceInfo>& devices,
                          const std::vector<messages::NamedBuffer>& buffers) {
  std::string text =
      fmt::format("{}\n  incarnation {}\n  version     {}\n  uptime      {}\n",
                  printable(messages::to_string(stats.self)), messages::to_hex(stats.incarnation),
                  printable(stats.version), format_uptime(stats.uptime_seconds));
  text += "\nDevices\n" + format_devices(devices, false);
  text += fmt::format("\nBuffers ({} registered, these by name)\n", stats.buffers) +
          format_buffers(buffers);
  text += "\nQueue pairs\n" + format_queue_pairs(stats.queue_pairs);
  const auto all = stats.counters.find("manager.queue_pairs");
  if (all != stats.counters.end() && all->second > stats.queue_pairs.size()) {
    text += fmt::format("and {} more\n", all->second - stats.queue_pairs.size());
  }
  text += "\nCounters above 0\n" + format_counters(stats.counters);
  return text;
}

}  // namespace danaus::tools
