#include "manager/device_table.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace danaus::manager {
namespace {

constexpr std::string_view software = "soft";

Error unusable(const messages::DeviceInfo& info) {
  return {ErrorCode::device_unusable,
          fmt::format("device {} cannot be used: {}; mend that, or name another device", info.name,
                      info.reason),
          {{"device", info.name}}};
}

}  // namespace

DeviceTable::DeviceTable(std::vector<std::unique_ptr<transport::Device>> devices,
                         std::string choice, bool require_rdma, asio::io_context& context,
                         DeviceWork& work)
    : context_{context}, work_{work}, require_rdma_{require_rdma} {
  slots_.reserve(devices.size());
  for (auto& device : devices) {
    slots_.push_back(Slot{std::move(device), nullptr, nullptr});
  }
  auto chosen = choose(choice, require_rdma);
  if (!chosen) {
    throw Error{std::move(chosen).error()};
  }
  choice_ = *std::move(chosen);
}

std::vector<messages::DeviceInfo> DeviceTable::list() const {
  std::vector<messages::DeviceInfo> all;
  all.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    all.push_back(slot.device->info());
  }
  return all;
}

std::expected<messages::DeviceInfo, Error> DeviceTable::find(const std::string& name) const {
  const Slot* const found = slot(name.empty() ? choice_ : name);
  if (found == nullptr) {
    return std::unexpected{Error{
        ErrorCode::unknown_device,
        fmt::format("there is no device named \"{}\" here; the devices are: {}", name, names()),
        {{"device", name}, {"devices", names()}}}};
  }
  messages::DeviceInfo info = found->device->info();
  if (!info.usable) {
    return std::unexpected{unusable(info)};
  }
  return info;
}

std::vector<messages::DeviceInfo> DeviceTable::for_registration() const {
  std::vector<messages::DeviceInfo> usable = list();
  std::erase_if(usable, [&](const messages::DeviceInfo& info) {
    return !info.usable || (require_rdma_ && info.transport == software);
  });
  std::ranges::stable_partition(
      usable, [&](const messages::DeviceInfo& info) { return info.name == choice_; });
  return usable;
}

asio::awaitable<std::expected<std::shared_ptr<transport::Domain>, Error>> DeviceTable::open(
    std::string name) {
  auto info = find(name);
  if (!info) {
    co_return std::unexpected{std::move(info).error()};
  }
  Slot& slot = *std::ranges::find_if(
      slots_, [&](const Slot& candidate) { return candidate.device->info().name == info->name; });
  if (slot.domain) {
    co_return slot.domain;
  }
  if (slot.opening) {
    const std::shared_ptr<Opening> opening = slot.opening;
    while (!opening->finished) {
      co_await opening->done.wait_until(no_deadline);
    }
    if (opening->error) {
      co_return std::unexpected{*opening->error};
    }
    co_return slot.domain;
  }

  const auto opening = std::make_shared<Opening>(context_);
  slot.opening = opening;
  auto open_device = [device = slot.device.get()] { return device->open(); };
  std::expected<std::unique_ptr<transport::Domain>, Error> opened;
  try {
    opened = co_await work_.run(std::move(open_device));
  } catch (const std::exception& failure) {
    opened = std::unexpected{
        Error{ErrorCode::device_unusable,
              fmt::format("opening device {} failed: {}", info->name, failure.what()),
              {{"device", info->name}}}};
  }
  slot.opening = nullptr;
  if (opened) {
    slot.domain = *std::move(opened);
  } else {
    opening->error = std::move(opened).error();
  }
  opening->finished = true;
  opening->done.notify();
  if (opening->error) {
    co_return std::unexpected{*opening->error};
  }
  co_return slot.domain;
}

std::vector<std::shared_ptr<transport::Domain>> DeviceTable::take_domains() {
  std::vector<std::shared_ptr<transport::Domain>> domains;
  for (Slot& slot : slots_) {
    if (slot.domain) {
      domains.push_back(std::move(slot.domain));
    }
  }
  return domains;
}

std::expected<std::string, Error> DeviceTable::choose(const std::string& choice,
                                                      bool require_rdma) const {
  const std::vector<messages::DeviceInfo> all = list();
  const auto is_software = [](const messages::DeviceInfo& info) {
    return info.transport == software;
  };
  if (choice != "auto" && choice != "soft") {
    const auto named = std::ranges::find(all, choice, &messages::DeviceInfo::name);
    if (named == all.end()) {
      return std::unexpected{Error{
          ErrorCode::unknown_device,
          fmt::format("there is no device named \"{}\" here; the devices are: {}", choice, names()),
          {{"device", choice}, {"devices", names()}}}};
    }
    if (!named->usable) {
      return std::unexpected{unusable(*named)};
    }
    if (require_rdma && is_software(*named)) {
      return std::unexpected{
          Error{ErrorCode::device_unusable,
                fmt::format("device {} is a software device, and RDMA is required; name an RDMA "
                            "device or do not require one",
                            choice),
                {{"device", choice}}}};
    }
    return choice;
  }
  std::string why;
  const auto acceptable = [&](const messages::DeviceInfo& info, bool want_software) {
    if (is_software(info) != want_software) {
      return false;
    }
    if (!info.usable) {
      why += fmt::format("; {}: {}", info.name, info.reason);
    }
    return info.usable;
  };
  for (const bool want_software : {false, true}) {
    if ((want_software && require_rdma) || (!want_software && choice == "soft")) {
      continue;
    }
    const auto found = std::ranges::find_if(
        all, [&](const messages::DeviceInfo& info) { return acceptable(info, want_software); });
    if (found != all.end()) {
      return found->name;
    }
  }
  return std::unexpected{
      Error{ErrorCode::device_unusable, fmt::format("no usable {} device{}; the devices are: {}",
                                                    require_rdma ? "RDMA" : choice, why, names())}};
}

std::string DeviceTable::names() const {
  std::vector<std::string> all;
  all.reserve(slots_.size());
  for (const messages::DeviceInfo& info : list()) {
    all.push_back(info.name);
  }
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

const DeviceTable::Slot* DeviceTable::slot(const std::string& name) const {
  const auto found = std::ranges::find_if(
      slots_, [&](const Slot& candidate) { return candidate.device->info().name == name; });
  return found == slots_.end() ? nullptr : &*found;
}

}  // namespace danaus::manager
