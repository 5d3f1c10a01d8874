// `danaus status`: a running worker's account of itself.
#include <chrono>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "danaus/client.hpp"
#include "messages/codec.hpp"
#include "messages/message.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/worker_report.hpp"

namespace danaus::tools {

ExitCode status_command(Arguments arguments) {
  CLI::App app{"Shows a running worker: devices, buffers, queue pairs, counters.", "danaus status"};
  std::string text;
  std::chrono::milliseconds timeout{5'000};
  bool json = false;
  app.add_option("REF", text, "The worker: ID@ENDPOINT")->required()->type_name("");
  add_duration(app, "--timeout", timeout, "How long to wait for each reply")->default_str("5s");
  app.add_flag("--json", json,
               R"(Print {"stats", "devices", "buffers"}: the replies of GetStats, ListDevices, )"
               "ListBuffers");
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  const messages::ActorRef target = parse_target(text);

  Client client;
  const messages::Stats stats = client.call(target, messages::GetStats{}, timeout);
  const auto devices = client.call(target, messages::ListDevices{}, timeout);
  const auto buffers = client.call(target, messages::ListBuffers{}, timeout);
  if (json) {
    print_line(to_line({{"stats", decode_to_json(messages::encode(stats))},
                        {"devices", decode_to_json(messages::encode(devices))},
                        {"buffers", decode_to_json(messages::encode(buffers))}}));
    return ExitCode::success;
  }
  std::string report = format_status(stats, devices, buffers);
  report.pop_back();
  print_line(report);
  return ExitCode::success;
}

}  // namespace danaus::tools
