// WorkerConfig: everything that can be set on a worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "danaus/failure.hpp"

namespace danaus {

/// How the software device may move bytes.
enum class SoftPath : std::uint8_t {
  /// By copying within one host where the kernel allows it, else over TCP.
  automatic,
  /// Over TCP only.
  tcp,
  /// By copying only: peers elsewhere, or whose memory the kernel does not let us read, cannot be
  /// reached.
  copy,
};

/// What others may register in this process by RequestBuffer.
enum class RegisterPolicy : std::uint8_t {
  /// Ranges within buffers that this worker offers by name.
  offered,
  /// Any mapped range, as in the seed of this protocol. For trusted networks only.
  any,
};

// Every member has an initialiser, so that designated initialisers may leave out the rest.
struct WorkerConfig {
  /// [A-Za-z0-9._-]{1,200}; unique among the workers that talk to each other.
  std::string identity = {};
  /// ZeroMQ endpoint to serve on (tcp://HOST:PORT or ipc://PATH; a port may be `*`). Empty: a
  /// passive worker, which can ask and move bytes but which nobody dials.
  std::string bind = {};
  /// The endpoint that others dial; empty: the bound one. Needed when `bind` is a wildcard address.
  std::string advertise = {};
  /// The device for what names none: a device's name, "auto" (the best usable) or "soft".
  std::string device = "auto";
  /// TCP port of the software device's data listener; 0: any free one.
  std::uint16_t data_port = 0;
  /// Software devices to offer: soft0, soft1, …
  unsigned soft_devices = 1;
  SoftPath soft_path = SoftPath::automatic;
  RegisterPolicy register_policy = RegisterPolicy::offered;
  /// Refuse to start without a usable RDMA device.
  bool require_rdma = false;
  /// Allow a bind that is reachable from other hosts without authentication.
  bool insecure = false;
  /// How long a thread may go without a sign of life before the worker is ended.
  std::chrono::milliseconds watchdog_timeout{10'000};
  /// Called once, in place of ending the process, when the worker has failed; on the supervisor's
  /// thread, so it must not destroy the Worker. Empty: one log line, then `_exit(1)`.
  std::function<void(const Failure&)> on_failure = {};
};

}  // namespace danaus
