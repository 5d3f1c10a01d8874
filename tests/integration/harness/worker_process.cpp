#include "tests/integration/harness/worker_process.hpp"

#include <signal.h>

#include <stdexcept>
#include <utility>

#include "messages/actor_ref.hpp"

namespace danaus::integration {
namespace {

ProcessOptions command_line(const WorkerOptions& options) {
  ProcessOptions process;
  process.arguments = {built_program("danaus"), "worker", "--identity",
                       options.identity,        "--bind", options.bind};
  for (const std::string& buffer : options.buffers) {
    process.arguments.insert(process.arguments.end(), {"--buffer", buffer});
  }
  process.arguments.insert(process.arguments.end(), options.arguments.begin(),
                           options.arguments.end());
  process.environment = options.environment;
  return process;
}

messages::ActorRef await_ready(Process& process) {
  const std::optional<std::string> line = process.read_line();
  if (!line) {
    const std::optional<ExitStatus> status = process.wait_for_exit(Deadline{1s});
    throw std::runtime_error{"the worker never said that it is ready (" +
                             (status ? to_string(*status) : std::string{"it still runs"}) +
                             "); it wrote: " + process.standard_error()};
  }
  const nlohmann::json ready = nlohmann::json::parse(*line);
  if (!ready.at("ready").get<bool>()) {
    throw std::runtime_error{"the worker said: " + *line};
  }
  auto ref = messages::parse_actor_ref(ready.at("ref").get<std::string>());
  if (!ref) {
    throw std::move(ref).error();
  }
  return *std::move(ref);
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerOptions& options)
    : process_{command_line(options)}, ref_{await_ready(process_)} {}

messages::RdmaBuffer WorkerProcess::lookup(Client& client, const std::string& name) const {
  return client.call(ref_, messages::LookupBuffer{.buffer_name = name}, patience);
}

messages::Stats WorkerProcess::stats(Client& client) const {
  return client.call(ref_, messages::GetStats{}, patience);
}

bool WorkerProcess::answers(Client& client) const {
  return !client.call(ref_, messages::ListDevices{}, patience).empty();
}

std::optional<ExitStatus> WorkerProcess::terminate(Deadline deadline) {
  process_.signal(SIGTERM);
  return process_.wait_for_exit(deadline);
}

CommandResult run_danaus(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), built_program("danaus"));
  return run_command({.arguments = std::move(arguments), .environment = {}});
}

Injected inject(const WorkerProcess& worker, const std::string& message,
                const nlohmann::json& fields) {
  const CommandResult result = run_danaus({"inject", worker.reference(), message, fields.dump()});
  const auto end = result.output.find('\n');
  if (end == std::string::npos || end + 1 != result.output.size()) {
    throw std::runtime_error{"danaus inject did not print one line but: " + result.output +
                             " and: " + result.error};
  }
  return {.status = result.status, .reply = nlohmann::json::parse(result.output)};
}

}  // namespace danaus::integration
