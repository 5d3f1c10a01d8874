// What Connector tells its callers when there is no connection. Any thread.
#pragma once

#include "manager/queue_pair_key.hpp"
#include "messages/error.hpp"

namespace danaus::manager {

[[nodiscard]] Error timed_out(const QueuePairKey& key);
/// The peer is passive and has not connected to us.
[[nodiscard]] Error cannot_dial(const QueuePairKey& key);
/// Crossed more often than an attempt may be.
[[nodiscard]] Error never_settled(const QueuePairKey& key);
/// The handle is of another life of the peer.
[[nodiscard]] Error another_life(const QueuePairKey& key);

}  // namespace danaus::manager
