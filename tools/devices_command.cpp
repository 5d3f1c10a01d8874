// `danaus devices`: what this machine has to move bytes with; no running worker is needed.
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "danaus/worker.hpp"
#include "messages/codec.hpp"
#include "tools/buffer_session.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/worker_report.hpp"

namespace danaus::tools {

ExitCode devices_command(Arguments arguments) {
  CLI::App app{"Shows the devices of this machine.", "danaus devices"};
  bool verbose = false;
  bool json = false;
  app.add_flag("--verbose", verbose, "Show everything that is known of each");
  app.add_flag("--json", json, "Print JSON: the reply of ListDevices");
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  const Worker worker{passive_worker_config("devices")};
  const std::vector<messages::DeviceInfo> devices = worker.devices();
  std::string text =
      json ? to_line(decode_to_json(messages::encode(devices))) : format_devices(devices, verbose);
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  print_line(text);
  return ExitCode::success;
}

}  // namespace danaus::tools
