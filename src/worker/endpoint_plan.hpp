// EndpointPlan: where a worker listens and what it tells others to dial, worked out of its config.
// Calling thread, at start; may ask the resolver. Relies on messages/actor_ref.hpp.
#pragma once

#include <string>

#include "danaus/config.hpp"

namespace danaus::worker {

struct EndpointPlan {
  /// For the mailbox, its host as a numeric address (ZeroMQ binds no names); empty: passive.
  std::string bind;
  /// For the mailbox; empty: the bound endpoint.
  std::string advertise;
  /// Address of the data listener; empty: none, as nobody can dial a passive worker.
  std::string data_listen;
  /// Host that peers dial for data.
  std::string data_advertise;
};

/// Throws Error: InvalidArgument; PermissionDenied for an address that other hosts can reach,
/// unless the config says `insecure`.
[[nodiscard]] EndpointPlan plan_endpoints(const WorkerConfig& config);

}  // namespace danaus::worker
