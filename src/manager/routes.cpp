#include "manager/routes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace danaus::manager {
namespace {

std::string list_devices(const std::vector<messages::DeviceInfo>& devices) {
  std::string text;
  for (const messages::DeviceInfo& device : devices) {
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", device.name, device.transport,
                        device.usable ? "" : ", unusable");
  }
  return text.empty() ? "none" : text;
}

Error no_common_transport(const messages::ActorRef& other, const std::string& own_device,
                          const std::string& own_transport,
                          const std::vector<messages::DeviceInfo>& theirs) {
  return {ErrorCode::transport_mismatch,
          fmt::format("device {} ({}) has no counterpart at {}, whose devices are: {}; name two "
                      "devices of one transport",
                      own_device, own_transport, other.id, list_devices(theirs)),
          {{"device", own_device}, {"peer", other.id}}};
}

std::expected<void, Error> check_device_name(const messages::ActorRef& other,
                                             const std::string& name) {
  if (name.size() > max_device_name_length) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("other_device has {} bytes, a device name has at most {}; name a device "
                          "of {} (ListDevices there shows them)",
                          name.size(), max_device_name_length, other.id),
              {{"peer", other.id}}}};
  }
  return {};
}

}  // namespace

asio::awaitable<std::expected<Route, Error>> Routes::choose(
    messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
    std::string self_device, std::string other_device, Clock::time_point deadline) {
  if (auto checked = messages::check_actor_ref(other); !checked) {
    co_return std::unexpected{std::move(checked).error()};
  }
  if (auto checked = check_device_name(other, other_device); !checked) {
    co_return std::unexpected{std::move(checked).error()};
  }
  auto own = connections_.devices.find(self_device);
  if (!own) {
    co_return std::unexpected{std::move(own).error()};
  }
  const auto route = [&](const messages::DeviceInfo& mine, const std::string& theirs) {
    return Route{other, incarnation, {mine.name, other.id, theirs}, mine.transport};
  };

  if (connections_.is_self(other)) {
    const auto partner = local_partner(*own, other_device);
    if (!partner) {
      co_return std::unexpected{partner.error()};
    }
    co_return route(*own, partner->name);
  }
  // Named on both sides, or nothing of ours to choose from: the peer checks that the two fit.
  if (!other_device.empty() && (!self_device.empty() || one_transport())) {
    co_return route(*own, other_device);
  }
  if (other.at.empty()) {
    if (!other_device.empty()) {
      co_return route(*own, other_device);
    }
    const auto made_by_peer = connections_.table.find_any(own->name, other.id);
    if (made_by_peer) {
      co_return route(*own, made_by_peer->peer_device);
    }
    co_return std::unexpected{
        Error{ErrorCode::unreachable,
              fmt::format("{} cannot be asked for its devices: its reference names no address (a "
                          "passive peer), and it has not connected to {} here; let it connect "
                          "first, or give its address",
                          other.id, own->name),
              {{"peer", other.id}}}};
  }

  auto theirs = co_await directory_.devices(other, incarnation, deadline);
  if (!theirs) {
    co_return std::unexpected{std::move(theirs).error()};
  }
  std::vector<messages::DeviceInfo> mine{*own};
  if (self_device.empty()) {
    for (const messages::DeviceInfo& device : connections_.devices.list()) {
      if (device.usable && device.name != own->name) {
        mine.push_back(device);
      }
    }
  }
  for (const messages::DeviceInfo& device : mine) {
    const auto fits = [&](const messages::DeviceInfo& candidate) {
      return candidate.usable && candidate.transport == device.transport &&
             (other_device.empty() || candidate.name == other_device);
    };
    const auto found = std::ranges::find_if(*theirs, fits);
    if (found != theirs->end()) {
      co_return route(device, found->name);
    }
  }
  if (!other_device.empty() &&
      std::ranges::find(*theirs, other_device, &messages::DeviceInfo::name) == theirs->end()) {
    co_return std::unexpected{
        Error{ErrorCode::unknown_device,
              fmt::format("{} has no device named \"{}\"; its devices are: {}", other.id,
                          other_device, list_devices(*theirs)),
              {{"device", other_device}, {"peer", other.id}}}};
  }
  co_return std::unexpected{no_common_transport(other, own->name, own->transport, *theirs)};
}

std::expected<messages::DeviceInfo, Error> Routes::local_partner(
    const messages::DeviceInfo& own, const std::string& other_device) const {
  if (other_device.empty()) {
    return own;
  }
  auto partner = connections_.devices.find(other_device);
  if (partner && partner->transport != own.transport) {
    return std::unexpected{no_common_transport(connections_.link.self(), own.name, own.transport,
                                               connections_.devices.list())};
  }
  return partner;
}

bool Routes::one_transport() const {
  const std::vector<messages::DeviceInfo> all = connections_.devices.list();
  const auto first = std::ranges::find_if(all, &messages::DeviceInfo::usable);
  return std::ranges::all_of(all, [&](const messages::DeviceInfo& device) {
    return !device.usable || device.transport == first->transport;
  });
}

std::expected<void, Error> check_peer(const messages::ActorRef& other,
                                      const std::string& other_device) {
  if (auto checked = messages::check_actor_ref(other); !checked) {
    return checked;
  }
  if (other_device.empty()) {
    return std::unexpected{Error{
        ErrorCode::invalid_argument,
        fmt::format("other_device is empty; name the device of {} that the queue pair leads to "
                    "(ListDevices there shows them)",
                    other.id),
        {{"peer", other.id}}}};
  }
  return check_device_name(other, other_device);
}

}  // namespace danaus::manager
