// EngineState: what the parts of a SoftEngine share. Any thread, but for `data`, which is for
// BackgroundProgress. Shared, so that devices, queue pairs and connections may go in any order.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <asio/io_context.hpp>

#include "transport/soft/copy_probe.hpp"
#include "transport/soft/counters.hpp"
#include "transport/soft/path_policy.hpp"
#include "transport/soft/queue_pair_registry.hpp"

namespace danaus::transport::soft {

struct EngineState {
  EngineState(std::string address, PathPolicy path_policy, std::chrono::milliseconds hello_patience,
              asio::io_context& data_context)
      : advertised_address{std::move(address)},
        paths{path_policy},
        hello_timeout{hello_patience},
        data{data_context} {}

  /// What endpoints carry; empty when nobody can dial us.
  const std::string advertised_address;
  const PathPolicy paths;
  const std::chrono::milliseconds hello_timeout;
  /// Set once, before any device is handed out.
  std::uint16_t port = 0;
  /// The listener within this host; empty: none. Set likewise.
  std::string unix_name;
  const Nonce nonce;
  asio::io_context& data;
  Counters counters;
  QueuePairRegistry queue_pairs;
  std::atomic<bool> stopped{false};
  /// It has been said that copies within this host are refused.
  std::atomic<bool> refusal_told{false};
};

}  // namespace danaus::transport::soft
