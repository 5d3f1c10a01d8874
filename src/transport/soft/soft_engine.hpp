// SoftEngine: the software device's process-wide part: its data listener, its responder and data
// threads, and the registry by which incoming connections find their queue pair.
// Created and destroyed by the worker; soft devices refer to it and must not outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "transport/soft/path_policy.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

struct SoftEngineConfig {
  /// Address to listen on for data, e.g. "127.0.0.1"; empty: no listener, nobody can reach us.
  std::string listen_address;
  /// 0: any free port.
  std::uint16_t listen_port = 0;
  /// Host name or address that endpoints carry for peers to dial.
  std::string advertised_address;
  /// Threads of the passive side.
  unsigned responders = 2;
  /// How bytes may go to peers, and be fetched by them.
  PathPolicy paths = PathPolicy::automatic;
  /// How many soft devices to offer: soft0, soft1, …
  unsigned devices = 1;
  /// From accepting a connection until its hello is there and its queue pair takes requests. An RC
  /// queue pair retries for 7 times 67 ms at least (retry_cnt 7, timeout 14 of ibv_modify_qp(3)); a
  /// peer that is about to be connected needs one message more.
  std::chrono::milliseconds hello_timeout{5'000};
};

class SoftEngine {
 public:
  /// Binds the listener and prepares the contexts; runs nothing yet. `data` is the io_context of
  /// the `data` thread, run by the caller. Throws Error (IoFailed) when the port cannot be had.
  SoftEngine(SoftEngineConfig config, asio::io_context& data);
  SoftEngine(const SoftEngine&) = delete;
  SoftEngine& operator=(const SoftEngine&) = delete;
  ~SoftEngine();

  /// The contexts of the responder threads: the caller runs each on a thread of its own named
  /// "responder-N" until `stop`.
  [[nodiscard]] std::vector<asio::io_context*> responder_contexts();

  /// Closes the listener and every connection and lets the responder contexts run out. Any thread.
  void stop();

  /// The port that the listener got; 0 without one.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// soft0, soft1, … in that order.
  [[nodiscard]] std::vector<std::unique_ptr<Device>> devices();

  /// Counters for GetStats, e.g. "soft.rejected_connections".
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace danaus::transport::soft
