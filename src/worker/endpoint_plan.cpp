#include "worker/endpoint_plan.hpp"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "messages/actor_ref.hpp"
#include "messages/error.hpp"
#include "worker/local_address.hpp"

namespace danaus::worker {

namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view ipc_scheme = "ipc://";
/// Where data goes when messages go through an AF_UNIX socket: such peers are on this host.
constexpr std::string_view loopback_address = "127.0.0.1";

struct TcpEndpoint {
  /// Without the brackets of IPv6.
  std::string host;
  std::string port;
};

Error invalid(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)};
}

/// `*`, or a number that fits; 0 means any port, as `*` does.
bool is_bindable_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text == "*" || (!text.empty() && error == std::errc{} && end == text.data() + text.size());
}

std::optional<TcpEndpoint> split_tcp(std::string_view endpoint) {
  const std::string_view address = endpoint.substr(tcp_scheme.size());
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return std::nullopt;
  }
  const std::string_view port = address.substr(colon + 1);
  if (host.empty() || !is_bindable_port(port)) {
    return std::nullopt;
  }
  return TcpEndpoint{std::string{host}, std::string{port}};
}

void check_advertise(const WorkerConfig& config) {
  if (config.advertise.empty()) {
    return;
  }
  // The mailbox puts the bound port in the place of `*`; any number stands in for it here.
  std::string endpoint = config.advertise;
  if (endpoint.ends_with(":*")) {
    endpoint.back() = '1';
  }
  const auto checked = messages::check_actor_ref({config.identity, endpoint});
  if (!checked) {
    throw invalid(
        fmt::format("cannot advertise {:?}: {}", config.advertise, checked.error().message()));
  }
}

/// The host of a data listener that belongs to the advertised endpoint.
std::string data_host(const std::string& advertise, const std::string& bound_host) {
  if (!advertise.starts_with(tcp_scheme)) {
    return bound_host;
  }
  const auto endpoint = split_tcp(advertise);
  return endpoint ? endpoint->host : bound_host;
}

EndpointPlan plan_passive(const WorkerConfig& config) {
  if (!config.advertise.empty()) {
    throw invalid(
        fmt::format("cannot advertise {:?} for {}: it binds nothing, so nobody can dial "
                    "it; give an endpoint to bind",
                    config.advertise, config.identity));
  }
  if (config.data_port != 0) {
    throw invalid(
        fmt::format("cannot listen on data port {} for {}: it binds nothing, so nobody "
                    "can dial it; give an endpoint to bind",
                    config.data_port, config.identity));
  }
  return {};
}

EndpointPlan plan_ipc(const WorkerConfig& config) {
  if (config.bind.size() == ipc_scheme.size()) {
    throw invalid(
        fmt::format("cannot bind to {:?}: it names no path; write ipc://PATH", config.bind));
  }
  const std::string host{loopback_address};
  return {.bind = config.bind,
          .advertise = config.advertise,
          .data_listen = host,
          .data_advertise = data_host(config.advertise, host)};
}

EndpointPlan plan_tcp(const WorkerConfig& config) {
  const auto endpoint = split_tcp(config.bind);
  if (!endpoint) {
    throw invalid(
        fmt::format("cannot bind to {:?}: write tcp://HOST:PORT, where PORT is a number or "
                    "* and an IPv6 address stands in brackets",
                    config.bind));
  }
  const auto address = LocalAddress::resolve(endpoint->host);
  if (!address) {
    throw invalid(
        fmt::format("cannot bind to {:?}: {:?} is neither an address nor a network "
                    "interface nor a host name that resolves",
                    config.bind, endpoint->host));
  }
  if (address->is_wildcard() && config.advertise.empty()) {
    throw invalid(
        fmt::format("cannot bind to {:?} alone: it stands for every address of this "
                    "machine, so peers cannot be told where to dial; name the endpoint "
                    "that they dial with --advertise (WorkerConfig::advertise)",
                    config.bind));
  }
  if (!address->is_loopback() && !config.insecure) {
    throw Error{
        ErrorCode::permission_denied,
        fmt::format("refused to bind to {:?}: other hosts can reach it, and whoever reaches "
                    "it may use this worker's buffers; bind to 127.0.0.1, or allow it on a "
                    "network that you trust with --insecure (WorkerConfig::insecure)",
                    config.bind)};
  }
  return {.bind = fmt::format("{}{}:{}", tcp_scheme, address->in_endpoint(), endpoint->port),
          .advertise = config.advertise,
          .data_listen = address->text(),
          .data_advertise = data_host(config.advertise, address->text())};
}

}  // namespace

EndpointPlan plan_endpoints(const WorkerConfig& config) {
  if (config.bind.empty()) {
    return plan_passive(config);
  }
  check_advertise(config);
  if (config.bind.starts_with(tcp_scheme)) {
    return plan_tcp(config);
  }
  if (config.bind.starts_with(ipc_scheme)) {
    return plan_ipc(config);
  }
  throw invalid(fmt::format("cannot bind to {:?}: it is neither tcp://HOST:PORT nor ipc://PATH",
                            config.bind));
}

}  // namespace danaus::worker
