#include "transport/soft/soft_device.hpp"

#include <spdlog/fmt/fmt.h>

#include "transport/soft/soft_domain.hpp"

namespace danaus::transport::soft {

messages::DeviceInfo SoftDevice::info() const {
  const bool stopped = engine_->stopped;
  messages::DeviceInfo info{.name = name_,
                            .transport = "soft",
                            .port = 1,
                            .usable = !stopped,
                            .reason = stopped ? "the software device has been stopped" : "",
                            .attributes = {}};
  info.attributes["data_address"] =
      engine_->advertised_address.empty()
          ? "none: peers cannot dial this process"
          : fmt::format("{}:{}", engine_->advertised_address, engine_->port);
  // IBV_ATOMIC_HCA of ibv_query_device(3).
  info.attributes["atomics"] = "among Danaus atomics of this process, not against CPU stores";
  return info;
}

std::expected<std::unique_ptr<Domain>, Error> SoftDevice::open() {
  if (engine_->stopped) {
    return std::unexpected{
        Error{ErrorCode::device_unusable,
              fmt::format("cannot open {}: the software device has been stopped", name_)}};
  }
  return std::make_unique<SoftDomain>(engine_);
}

}  // namespace danaus::transport::soft
