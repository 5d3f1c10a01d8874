// SoftDevice: soft0, soft1, …: a device of this process's SoftEngine. Any thread.
#pragma once

#include <memory>
#include <string>

#include "transport/soft/engine_state.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

class SoftDevice final : public Device {
 public:
  SoftDevice(std::string name, std::shared_ptr<EngineState> engine)
      : name_{std::move(name)}, engine_{std::move(engine)} {}

  [[nodiscard]] messages::DeviceInfo info() const override;
  std::expected<std::unique_ptr<Domain>, Error> open() override;

 private:
  std::string name_;
  std::shared_ptr<EngineState> engine_;
};

}  // namespace danaus::transport::soft
