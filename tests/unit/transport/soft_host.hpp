// SoftHost: what a worker has of the software device, for tests and benchmarks: the engine,
// listening on loopback, its responder threads and its `data` thread.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "transport/soft/soft_engine.hpp"

namespace danaus::transport::testing {

class SoftHost {
 public:
  explicit SoftHost(soft::PathPolicy paths)
      : engine_{config(paths), data_}, devices_{engine_.devices()} {
    threads_.emplace_back([this] { data_.run(); });
    for (auto* context : engine_.responder_contexts()) {
      threads_.emplace_back([context] { context->run(); });
    }
  }
  SoftHost(const SoftHost&) = delete;
  SoftHost& operator=(const SoftHost&) = delete;
  /// Its domains and queue pairs are gone by then.
  ~SoftHost() {
    engine_.stop();
    data_.stop();
    for (auto& thread : threads_) {
      thread.join();
    }
  }

  [[nodiscard]] Device& device() { return *devices_.front(); }

 private:
  static soft::SoftEngineConfig config(soft::PathPolicy paths) {
    soft::SoftEngineConfig config;
    config.paths = paths;
    config.listen_address = "127.0.0.1";
    config.advertised_address = "127.0.0.1";
    return config;
  }

  asio::io_context data_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(data_);
  soft::SoftEngine engine_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::thread> threads_;
};

}  // namespace danaus::transport::testing
