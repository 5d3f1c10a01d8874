#include "manager/connect_errors.hpp"

#include <spdlog/fmt/fmt.h>

#include "manager/connector.hpp"

namespace danaus::manager {

Error timed_out(const QueuePairKey& key) {
  return {ErrorCode::timeout,
          fmt::format("connecting {} to {} did not end in time; see whether that worker is running "
                      "and reachable, then try again with more time",
                      key.self_device, describe_peer(key)),
          {{"peer", key.peer}, {"device", key.self_device}}};
}

Error cannot_dial(const QueuePairKey& key) {
  return {
      ErrorCode::unreachable,
      fmt::format("{} cannot be dialled: its reference names no address (a passive peer), and it "
                  "has not connected to {} here; let it connect first, or give its address",
                  describe_peer(key), key.self_device),
      {{"peer", key.peer}, {"device", key.self_device}}};
}

Error never_settled(const QueuePairKey& key) {
  return {ErrorCode::superseded,
          fmt::format("connecting {} to {} was crossed by newer attempts {} times; try again",
                      key.self_device, describe_peer(key), max_rounds),
          {{"peer", key.peer}, {"device", key.self_device}}};
}

Error another_life(const QueuePairKey& key) {
  return {ErrorCode::stale_peer,
          fmt::format("{} is not in the life that is meant: it has restarted since; get the handle "
                      "from it anew",
                      key.peer),
          {{"peer", key.peer}}};
}

}  // namespace danaus::manager
