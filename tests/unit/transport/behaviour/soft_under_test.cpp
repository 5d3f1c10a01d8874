#include "tests/unit/transport/behaviour/soft_under_test.hpp"

#include <array>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "transport/soft/soft_engine.hpp"

namespace danaus::transport::testing {
namespace {

soft::SoftEngineConfig config() {
  soft::SoftEngineConfig config;
  config.listen_address = "127.0.0.1";
  config.advertised_address = "127.0.0.1";
  return config;
}

/// What a worker has of the software device: the engine, its `data` thread, its responders.
class Host {
 public:
  Host() : engine_{config(), data_}, devices_{engine_.devices()} {
    threads_.emplace_back([this] { data_.run(); });
    for (auto* context : engine_.responder_contexts()) {
      threads_.emplace_back([context] { context->run(); });
    }
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    engine_.stop();
    work_.reset();
    data_.stop();
    for (auto& thread : threads_) {
      thread.join();
    }
  }

  [[nodiscard]] Device& device() { return *devices_.front(); }

 private:
  asio::io_context data_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(data_);
  soft::SoftEngine engine_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::thread> threads_;
};

class SoftUnderTest : public TransportUnderTest {
 public:
  [[nodiscard]] std::unique_ptr<Domain> open_domain(Side side) override {
    return hosts_.at(static_cast<std::size_t>(side)).device().open().value();
  }

  [[nodiscard]] messages::QpInfo unreachable_endpoint() override {
    messages::QpInfo info;
    info.qp_num = 1;
    // The discard port, which nobody serves.
    info.soft.emplace();
    info.soft->address = "127.0.0.1";
    info.soft->port = 9;
    return info;
  }

  [[nodiscard]] messages::QpInfo foreign_endpoint() override {
    messages::QpInfo info;
    info.qp_num = 1;
    info.lid = 1;
    return info;
  }

 private:
  std::array<Host, 2> hosts_;
};

}  // namespace

std::unique_ptr<TransportUnderTest> make_soft_under_test() {
  return std::make_unique<SoftUnderTest>();
}

}  // namespace danaus::transport::testing
