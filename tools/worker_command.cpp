// `danaus worker`: a worker with named buffers, from its first line of output to a clean end.
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "danaus/danaus.hpp"
#include "messages/actor_ref.hpp"
#include "messages/bytes.hpp"
#include "tools/buffer_option.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/stderr_log.hpp"

namespace danaus::tools {
namespace {

struct WorkerOptions {
  WorkerConfig config;
  std::vector<std::string> buffers;
  spdlog::level::level_enum log_level = spdlog::level::info;
};

const std::map<std::string, SoftPath> soft_paths{
    {"auto", SoftPath::automatic}, {"tcp", SoftPath::tcp}, {"copy", SoftPath::copy}};
const std::map<std::string, RegisterPolicy> register_policies{{"offered", RegisterPolicy::offered},
                                                              {"any", RegisterPolicy::any}};
const std::map<std::string, spdlog::level::level_enum> log_levels{{"debug", spdlog::level::debug},
                                                                  {"info", spdlog::level::info},
                                                                  {"warn", spdlog::level::warn},
                                                                  {"error", spdlog::level::err}};

void declare(CLI::App& app, WorkerOptions& options) {
  WorkerConfig& config = options.config;
  app.add_option("--identity", config.identity, "Who this worker is: [A-Za-z0-9._-]{1,200}")
      ->required();
  app.add_option("--bind", config.bind,
                 "Where to serve: tcp://HOST:PORT (a port may be *) or ipc://PATH")
      ->required();
  app.add_option("--buffer", options.buffers, "Offer a buffer under a name; may be repeated")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  app.add_option("--device", config.device, "A device's name, auto or soft")->capture_default_str();
  app.add_option("--advertise", config.advertise,
                 "Where others dial this worker, if not where it binds");
  app.add_option("--data-port", config.data_port,
                 "TCP port of the software device's data listener; 0: any free one")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  app.add_option("--soft-devices", config.soft_devices, "How many software devices to offer")
      ->capture_default_str();
  app.add_option("--soft-path", config.soft_path,
                 "How the software device moves bytes within this host: by copies where the "
                 "kernel allows them, by TCP alone, or by copies alone")
      ->transform(CLI::CheckedTransformer(soft_paths))
      ->type_name("auto|tcp|copy")
      ->default_str("auto");
  app.add_option("--register-policy", config.register_policy,
                 "What others may register: ranges of offered buffers, or any mapped memory")
      ->transform(CLI::CheckedTransformer(register_policies))
      ->type_name("offered|any")
      ->default_str("offered");
  add_duration(app, "--watchdog-timeout", config.watchdog_timeout,
               "How long a thread may give no sign of life before the worker ends itself")
      ->default_str("10s");
  app.add_option("--log-level", options.log_level, "What to log to stderr")
      ->transform(CLI::CheckedTransformer(log_levels))
      ->type_name("debug|info|warn|error")
      ->default_str("info");
  app.add_flag("--require-rdma", config.require_rdma,
               "Refuse to start without a usable RDMA device");
  app.add_flag("--insecure", config.insecure,
               "Allow a bind that other hosts can reach, though nobody is authenticated");
  app.set_config("--config", "",
                 "TOML file with these options as keys; the command line goes first");
}

/// Blocks the signals that end a worker for this thread and all that it starts.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

std::string ready_line(const Worker& worker, const std::vector<BufferOption>& buffers) {
  nlohmann::json devices = nlohmann::json::array();
  for (const messages::DeviceInfo& device : worker.devices()) {
    if (device.usable) {
      devices.push_back(device.name);
    }
  }
  nlohmann::json sizes = nlohmann::json::object();
  for (const BufferOption& buffer : buffers) {
    sizes[buffer.name] = buffer.size;
  }
  return to_line({{"ready", true},
                  {"ref", messages::to_string(worker.ref())},
                  {"incarnation", messages::to_hex(worker.incarnation())},
                  {"pid", getpid()},
                  {"devices", std::move(devices)},
                  {"buffers", std::move(sizes)}});
}

/// A config that the worker finds senseless came from the command line.
std::unique_ptr<Worker> start(const WorkerConfig& config) {
  try {
    return std::make_unique<Worker>(config);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) {
      throw UsageError{error.message()};
    }
    throw;
  }
}

/// Peers take descriptors: four each, and the usual soft limit of 1,024 is for programs that use
/// select(2), which this one does not.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    // Refused, there are fewer peers.
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  }
}

}  // namespace

ExitCode worker_command(Arguments arguments) {
  CLI::App app{
      "Serves named buffers until SIGTERM or SIGINT. Prints one JSON line when it is ready.",
      "danaus worker"};
  WorkerOptions options;
  declare(app, options);
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  const std::vector<BufferOption> named = parse_buffer_options(options.buffers);
  log_to_stderr(options.log_level);

  raise_descriptor_limit();
  const sigset_t stop_signals = block_stop_signals();
  std::unique_ptr<Worker> worker = start(options.config);
  std::vector<Buffer> buffers;
  buffers.reserve(named.size());
  for (const BufferOption& buffer : named) {
    buffers.push_back(worker->allocate_buffer(buffer.size, buffer.name));
  }
  print_line(ready_line(*worker, named));

  int signal = 0;
  sigwait(&stop_signals, &signal);
  spdlog::info("worker {} ends on {}", messages::to_string(worker->ref()),
               signal == SIGTERM ? "SIGTERM" : "SIGINT");
  // Before its buffers: who still uses one shall hear that the worker ends, not that the buffer is
  // unknown.
  worker.reset();
  return ExitCode::success;
}

}  // namespace danaus::tools
