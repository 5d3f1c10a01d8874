// The `danaus` command: finds the subcommand, runs it, turns what it throws into an exit code.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tools/commands.hpp"
#include "tools/exit_code.hpp"
#include "tools/stderr_log.hpp"
#include "tools/suggestion.hpp"

namespace {

using danaus::tools::Arguments;
using danaus::tools::ExitCode;
using danaus::tools::UsageError;

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(Arguments);
};

constexpr auto subcommands = std::to_array<Subcommand>({
    {"worker", "serve named buffers until SIGTERM", danaus::tools::worker_command},
    {"put", "move a file into a buffer", danaus::tools::put_command},
    {"get", "move a buffer into a file", danaus::tools::get_command},
    {"inject", "send any message to any manager and print its reply",
     danaus::tools::inject_command},
    {"status", "show a running worker", danaus::tools::status_command},
    {"devices", "show the devices of this machine", danaus::tools::devices_command},
});

std::string usage() {
  std::string text =
      "Danaus moves memory between processes by one-sided put and get.\n\n"
      "Usage: danaus SUBCOMMAND [OPTIONS]; 'danaus SUBCOMMAND --help' tells more.\n\n";
  for (const Subcommand& subcommand : subcommands) {
    text += fmt::format("  {:<9}{}\n", subcommand.name, subcommand.summary);
  }
  text += "\n  --version  print the version\n  --help     print this\n";
  text +=
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 no answer (unreachable, refused, timed "
      "out).";
  return text;
}

ExitCode dispatch(Arguments arguments) {
  if (arguments.empty()) {
    throw UsageError{"a subcommand is missing"};
  }
  const std::string_view name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    danaus::tools::print_line(usage());
    return ExitCode::success;
  }
  if (name == "--version") {
    danaus::tools::print_line("danaus " DANAUS_VERSION);
    return ExitCode::success;
  }
  const auto found = std::ranges::find(subcommands, name, &Subcommand::name);
  if (found == subcommands.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(subcommands, std::back_inserter(names), &Subcommand::name);
    throw UsageError{fmt::format("there is no subcommand \"{}\"{} (subcommands: {})", name,
                                 danaus::tools::did_you_mean(name, names), fmt::join(names, ", "))};
  }
  return found->run(arguments.subspan(1));
}

/// The subcommand to name in an error; empty where none was recognised.
std::string_view subcommand_name(Arguments arguments) {
  const auto is_first = [&](const Subcommand& subcommand) {
    return !arguments.empty() && subcommand.name == arguments.front();
  };
  const auto found = std::ranges::find_if(subcommands, is_first);
  return found == subcommands.end() ? std::string_view{} : found->name;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments =
      Arguments{argv, static_cast<std::size_t>(argc)}.subspan(argc > 0 ? 1 : 0);
  const std::string_view command = subcommand_name(arguments);
  ExitCode code = ExitCode::failed;
  // Whoever reads our output may go first: then a write fails, and that is reported.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    danaus::tools::log_to_stderr();
    code = dispatch(arguments);
  } catch (const UsageError& problem) {
    danaus::tools::report(command, problem.what(), true);
    code = ExitCode::usage;
  } catch (const danaus::Error& problem) {
    danaus::tools::report(command, problem);
    code = danaus::tools::exit_code_of(problem);
  } catch (const std::exception& problem) {
    danaus::tools::report(command, problem.what());
  }
  return static_cast<int>(code);
}
