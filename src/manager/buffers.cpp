#include "manager/buffers.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace danaus::manager {
namespace {

/// A device to register with, its domain open.
struct Target {
  messages::DeviceInfo device;
  std::shared_ptr<transport::Domain> domain;
};

/// On `device-work`. When one device refuses, what the others registered goes with `regions`.
std::expected<std::vector<DomainRegion>, Error> register_with_all(
    const std::vector<Target>& targets, const memory::AddressRange& range,
    transport::AccessFlags access) {
  std::vector<DomainRegion> regions;
  for (const Target& target : targets) {
    auto region = target.domain->register_memory(range.address(), range.size(), access);
    if (!region) {
      Error::Details details = region.error().details();
      details.emplace("device", target.device.name);
      return std::unexpected{
          Error{region.error().code(), region.error().message(), std::move(details)}};
    }
    regions.push_back({target.domain, *std::move(region)});
  }
  return regions;
}

/// On `device-work`. All are deregistered; the first error is returned.
std::expected<void, Error> deregister_all(std::vector<RegisteredBuffer> buffers) {
  std::expected<void, Error> outcome;
  for (RegisteredBuffer& buffer : buffers) {
    for (DomainRegion& held : buffer.regions) {
      auto done = held.region->deregister();
      if (!done && outcome) {
        outcome = std::move(done);
      }
    }
    buffer.regions.clear();
  }
  return outcome;
}

Error no_such_buffer(std::uint64_t mr_id) {
  return {ErrorCode::not_found,
          fmt::format("buffer {} is not registered here: it was released already or never existed; "
                      "nothing was changed",
                      mr_id),
          {{"mr_id", std::to_string(mr_id)}}};
}

/// The name that a reservation holds, given back unless the registration came about.
class NameReservation {
 public:
  NameReservation(BufferTable& table, std::string name) : table_{&table}, name_{std::move(name)} {}
  NameReservation(const NameReservation&) = delete;
  NameReservation& operator=(const NameReservation&) = delete;
  ~NameReservation() {
    if (table_ != nullptr) {
      table_->cancel(name_);
    }
  }
  void keep() noexcept { table_ = nullptr; }

 private:
  BufferTable* table_;
  std::string name_;
};

}  // namespace

asio::awaitable<std::expected<Registration, Error>> Buffers::add(std::uint64_t address,
                                                                 std::uint64_t size,
                                                                 BufferTerms terms) {
  const auto range = memory::AddressRange::make(address, size);
  if (!range) {
    co_return std::unexpected{range.error()};
  }
  const auto mr_id = table_.reserve(terms.name);
  if (!mr_id) {
    co_return std::unexpected{mr_id.error()};
  }
  NameReservation reservation{table_, terms.name};

  // A further device that cannot be opened is left out; the chosen one must be there.
  std::vector<Target> targets;
  const std::vector<messages::DeviceInfo> candidates = devices_.for_registration();
  std::optional<Error> first_refusal;
  for (const messages::DeviceInfo& device : candidates) {
    auto domain = co_await devices_.open(device.name);
    if (domain) {
      targets.push_back({device, *std::move(domain)});
    } else if (!first_refusal) {
      first_refusal = std::move(domain).error();
    }
  }
  if (targets.empty()) {
    co_return std::unexpected{first_refusal.value_or(
        Error{ErrorCode::device_unusable,
              fmt::format("{} bytes at {:#x} cannot be registered: no device is usable; see "
                          "`danaus devices` for the reasons",
                          size, address)})};
  }

  std::vector<messages::DeviceInfo> devices;
  devices.reserve(targets.size());
  for (const Target& target : targets) {
    devices.push_back(target.device);
  }
  auto register_memory = [targets = std::move(targets), range = *range, access = terms.access] {
    return register_with_all(targets, range, access);
  };
  auto regions = co_await work_.run(std::move(register_memory));
  if (!regions) {
    co_return std::unexpected{std::move(regions).error()};
  }
  if (terms.within && table_.find(*terms.within) == nullptr) {
    work_.destroy(*std::move(regions));
    co_return std::unexpected{Error{
        ErrorCode::permission_denied,
        fmt::format("{} bytes at {:#x} are not registered: the offered buffer around them was "
                    "released meanwhile",
                    size, address)}};
  }

  Registration registration{.buffer = describe(*mr_id, devices, *regions), .lkeys = {}};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    registration.lkeys.emplace(devices[i].name, (*regions)[i].region->lkey());
  }
  reservation.keep();
  table_.insert(RegisteredBuffer{registration, *range, std::move(terms), *std::move(regions)});
  ++counters_.buffers_registered;
  co_return registration;
}

asio::awaitable<std::expected<messages::RdmaBuffer, Error>> Buffers::add_for_other(
    std::uint64_t address, std::uint64_t size, std::string registrant) {
  BufferTerms terms{.name = {},
                    .registrant = std::move(registrant),
                    .access = transport::full_access,
                    .within = std::nullopt};
  if (policy_ == RegisterPolicy::offered) {
    const auto range = memory::AddressRange::make(address, size);
    if (!range) {
      co_return std::unexpected{range.error()};
    }
    const RegisteredBuffer* const offering = table_.offering(*range);
    if (offering == nullptr) {
      co_return std::unexpected{Error{
          ErrorCode::permission_denied,
          fmt::format("{} may not register {} bytes at {:#x}: others may register only ranges "
                      "within a buffer that {} offers (ListBuffers shows them); offer the "
                      "memory by name, or start the worker with --register-policy any",
                      terms.registrant, size, address, link_.self().id)}};
    }
    // No more than the offer itself allows, and no longer than it stands.
    terms.access = offering->terms.access;
    terms.within = offering->registration.buffer.mr_id;
  }
  auto registration = co_await add(address, size, std::move(terms));
  if (!registration) {
    co_return std::unexpected{std::move(registration).error()};
  }
  co_return std::move(registration->buffer);
}

asio::awaitable<std::expected<void, Error>> Buffers::remove(std::uint64_t mr_id) {
  std::vector<RegisteredBuffer> removed = table_.remove(mr_id);
  if (removed.empty()) {
    co_return std::unexpected{no_such_buffer(mr_id)};
  }
  for (const RegisteredBuffer& buffer : removed) {
    for (const DomainRegion& held : buffer.regions) {
      held.region->revoke();
    }
  }
  counters_.buffers_released += removed.size();
  auto deregister = [removed = std::move(removed)]() mutable {
    return deregister_all(std::move(removed));
  };
  co_return co_await work_.run(std::move(deregister));
}

asio::awaitable<std::expected<void, Error>> Buffers::remove_for(std::string sender,
                                                                messages::RdmaBuffer buffer) {
  const std::string& self = link_.self().id;
  if (buffer.owner.id != self) {
    co_return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("buffer {} belongs to {}, not to {}; send its ReleaseBuffer there",
                          buffer.mr_id, messages::to_string(buffer.owner), self),
              {{"owner", messages::to_string(buffer.owner)}}}};
  }
  if (buffer.incarnation != link_.incarnation()) {
    co_return std::unexpected{Error{
        ErrorCode::stale_peer,
        fmt::format("buffer {} is of an earlier life of {}: it went with that process, there is "
                    "nothing to release",
                    buffer.mr_id, self),
        {{"mr_id", std::to_string(buffer.mr_id)}}}};
  }
  const RegisteredBuffer* const found = table_.find(buffer.mr_id);
  if (found == nullptr) {
    ++counters_.unknown_buffers_released;
    co_return std::unexpected{no_such_buffer(buffer.mr_id)};
  }
  if (sender != self && sender != found->terms.registrant) {
    co_return std::unexpected{
        Error{ErrorCode::permission_denied,
              fmt::format("{} may not release buffer {}: only {}, which registered it, and the "
                          "process of {} may; nothing was changed",
                          sender, buffer.mr_id, found->terms.registrant, self),
              {{"mr_id", std::to_string(buffer.mr_id)}}}};
  }
  co_return co_await remove(buffer.mr_id);
}

messages::RdmaBuffer Buffers::describe(std::uint64_t mr_id,
                                       const std::vector<messages::DeviceInfo>& devices,
                                       const std::vector<DomainRegion>& regions) const {
  const transport::MemoryRegion& first = *regions.front().region;
  messages::RdmaBuffer buffer{.owner = link_.self(),
                              .mr_id = mr_id,
                              .addr = first.remote_address(),
                              .size = first.size(),
                              .rkey = first.rkey(),
                              .lkey = first.lkey(),
                              .device_name = devices.front().name,
                              .transport = devices.front().transport,
                              .incarnation = link_.incarnation(),
                              .alternates = {}};
  for (std::size_t i = 1; i < devices.size(); ++i) {
    const transport::MemoryRegion& region = *regions[i].region;
    buffer.alternates.push_back(
        {devices[i].name, devices[i].transport, region.remote_address(), region.rkey()});
  }
  return buffer;
}

}  // namespace danaus::manager
