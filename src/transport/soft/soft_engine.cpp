#include "transport/soft/soft_engine.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/listener.hpp"
#include "transport/soft/responder.hpp"
#include "transport/soft/route.hpp"
#include "transport/soft/soft_device.hpp"

namespace danaus::transport::soft {

namespace {

// What endpoints carry: nothing when there is no listener to dial.
std::string dialled_address(const SoftEngineConfig& config) {
  if (config.listen_address.empty()) {
    return {};
  }
  return config.advertised_address.empty() ? config.listen_address : config.advertised_address;
}

}  // namespace

class SoftEngine::Impl {
 public:
  Impl(const SoftEngineConfig& config, asio::io_context& data)
      : state{std::make_shared<EngineState>(dialled_address(config), config.paths,
                                            config.hello_timeout, data)},
        devices{config.devices} {
    for (unsigned i = 0; i < std::max(config.responders, 1U); ++i) {
      responders.push_back(std::make_unique<Responder>(state));
    }
    if (!config.listen_address.empty()) {
      asio::io_context& context = responders.front()->context();
      Acceptor tcp = listen_on_tcp(context, config.listen_address, config.listen_port);
      state->port = port_of(tcp);
      listeners.push_back(std::make_unique<Listener>(std::move(tcp), state, responders));
      if (config.paths != PathPolicy::tcp) {
        listen_within_host(context);
      }
    }
  }

  // Peers use TCP where this cannot be had.
  void listen_within_host(asio::io_context& context) {
    auto name = make_unix_name();
    auto acceptor = listen_on_unix(context, name);
    if (acceptor) {
      state->unix_name = std::move(name);
      listeners.push_back(std::make_unique<Listener>(*std::move(acceptor), state, responders));
    } else {
      spdlog::warn("soft: no copies within this host: cannot listen on an AF_UNIX socket: {}",
                   acceptor.error().message());
    }
  }

  std::shared_ptr<EngineState> state;
  unsigned devices;
  std::vector<std::unique_ptr<Responder>> responders;
  // They live on the first responder's context, so they go before it.
  std::vector<std::unique_ptr<Listener>> listeners;
};

SoftEngine::SoftEngine(SoftEngineConfig config, asio::io_context& data)
    : impl_{std::make_unique<Impl>(config, data)} {}

SoftEngine::~SoftEngine() = default;

std::vector<asio::io_context*> SoftEngine::responder_contexts() {
  std::vector<asio::io_context*> contexts;
  for (const auto& responder : impl_->responders) {
    contexts.push_back(&responder->context());
  }
  return contexts;
}

void SoftEngine::stop() {
  if (impl_->state->stopped.exchange(true)) {
    return;
  }
  for (const auto& listener : impl_->listeners) {
    listener->stop();
  }
  for (const auto& responder : impl_->responders) {
    responder->stop();
  }
}

std::uint16_t SoftEngine::port() const noexcept {
  return impl_->state->port;
}

std::vector<std::unique_ptr<Device>> SoftEngine::devices() {
  std::vector<std::unique_ptr<Device>> devices;
  devices.reserve(impl_->devices);
  for (unsigned i = 0; i < impl_->devices; ++i) {
    devices.push_back(std::make_unique<SoftDevice>(fmt::format("soft{}", i), impl_->state));
  }
  return devices;
}

std::map<std::string, std::uint64_t> SoftEngine::counters() const {
  return impl_->state->counters.snapshot();
}

}  // namespace danaus::transport::soft
