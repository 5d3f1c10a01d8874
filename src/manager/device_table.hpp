// DeviceTable: the worker's devices by name, each with its protection domain once something needed
// it. `mailbox` thread; opening runs on `device-work`.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/device_work.hpp"
#include "manager/signal.hpp"
#include "messages/values.hpp"
#include "transport/transport.hpp"

namespace danaus::manager {

class DeviceTable {
 public:
  /// `choice` is what "" stands for: a device's name, "auto" (RDMA before software) or "soft".
  /// Throws Error: UnknownDevice, DeviceUnusable.
  DeviceTable(std::vector<std::unique_ptr<transport::Device>> devices, std::string choice,
              bool require_rdma, asio::io_context& context, DeviceWork& work);

  [[nodiscard]] std::vector<messages::DeviceInfo> list() const;

  /// The usable device of that name, or the choice for "". Errors: UnknownDevice (lists the names),
  /// DeviceUnusable (says why).
  [[nodiscard]] std::expected<messages::DeviceInfo, Error> find(const std::string& name) const;

  /// The devices that buffers are registered with: the choice first, then the others that are
  /// usable; without software under `require_rdma`.
  [[nodiscard]] std::vector<messages::DeviceInfo> for_registration() const;

  /// The device's domain, opened at its first use; callers that come meanwhile wait for the same
  /// opening. Shared with the regions and queue pairs made in it, which must go first.
  asio::awaitable<std::expected<std::shared_ptr<transport::Domain>, Error>> open(std::string name);

  /// Lets go of all domains; they are returned to be destroyed where that may block.
  [[nodiscard]] std::vector<std::shared_ptr<transport::Domain>> take_domains();

 private:
  struct Opening {
    explicit Opening(asio::io_context& context) : done{context} {}
    Signal done;
    bool finished = false;
    std::optional<Error> error;
  };
  struct Slot {
    std::unique_ptr<transport::Device> device;
    std::shared_ptr<transport::Domain> domain;
    std::shared_ptr<Opening> opening;
  };

  [[nodiscard]] std::expected<std::string, Error> choose(const std::string& choice,
                                                         bool require_rdma) const;
  [[nodiscard]] std::string names() const;
  [[nodiscard]] const Slot* slot(const std::string& name) const;

  asio::io_context& context_;
  DeviceWork& work_;
  bool require_rdma_;
  // In the order in which the worker offers them.
  std::vector<Slot> slots_;
  std::string choice_;
};

}  // namespace danaus::manager
