// Compares the software device with a plain TCP socket: two pinned processes, in turns, medians.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/bench/roles.hpp"

namespace danaus::bench {
namespace {

struct Placement {
  const char* name;
  std::vector<int> requester;
  std::vector<int> responder;
};

/// What is asked of the software device, and how each measurement is read.
struct Target {
  const char* name;
  bool is_bandwidth;
  /// Of the baseline: the least bandwidth, or the longest round trip.
  double limit;
};

constexpr auto targets = std::to_array<Target>({
    {"put_64_mib", true, 0.9},
    {"get_64_mib", true, 0.9},
    {"put_8_bytes", false, 1.2},
});

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  return ends;
}

/// Starts both processes, passes their lines on to each other, and returns what the requester
/// found.
nlohmann::json run_placement(const Placement& placement, unsigned rounds, const std::string& only) {
  const auto to_requester = make_pipe();
  const auto from_requester = make_pipe();
  const auto to_responder = make_pipe();
  const auto from_responder = make_pipe();
  const auto requester = start_role({.role = "requester",
                                     .cpus = placement.requester,
                                     .rounds = rounds,
                                     .only = only,
                                     .read_fd = to_requester[0],
                                     .write_fd = from_requester[1]});
  const auto responder = start_role({.role = "responder",
                                     .cpus = placement.responder,
                                     .rounds = rounds,
                                     .only = only,
                                     .read_fd = to_responder[0],
                                     .write_fd = from_responder[1]});
  for (const int theirs :
       {to_requester[0], from_requester[1], to_responder[0], from_responder[1]}) {
    ::close(theirs);
  }
  Channel requester_channel{from_requester[0], to_requester[1]};
  Channel responder_channel{from_responder[0], to_responder[1]};
  responder_channel.send(requester_channel.receive());
  requester_channel.send(responder_channel.receive());
  auto results = requester_channel.receive();
  wait_for(requester);
  responder_channel.send("done");
  wait_for(responder);
  for (const int ours : {to_requester[1], from_requester[0], to_responder[1], from_responder[0]}) {
    ::close(ours);
  }
  return results;
}

/// The medians, their ratio and the verdict.
nlohmann::json summary_of(const nlohmann::json& samples, const Target& target) {
  const double danaus = median(samples.at("danaus"));
  const double socket = median(samples.at("socket"));
  const double ratio = target.is_bandwidth ? socket / danaus : danaus / socket;
  const auto readable = [&](double seconds) {
    return target.is_bandwidth ? static_cast<double>(long_length) / seconds / 1e9 : seconds * 1e6;
  };
  return {{"unit", target.is_bandwidth ? "GB/s" : "us"},
          {"danaus", readable(danaus)},
          {"socket", readable(socket)},
          {"ratio", ratio},
          {"target", target.limit},
          {"met", target.is_bandwidth ? ratio >= target.limit : ratio <= target.limit},
          {"danaus_seconds", samples.at("danaus")},
          {"socket_seconds", samples.at("socket")}};
}

void print(const nlohmann::json& report) {
  fmt::print("{:<12} {:<12} {:>10} {:>10} {:>7} {:>7}\n", "cores", "operation", "danaus", "socket",
             "ratio", "target");
  for (const auto& [placement, operations] : report.items()) {
    for (const auto& [operation, result] : operations.items()) {
      const auto unit = result.at("unit").get<std::string>();
      fmt::print("{:<12} {:<12} {:>10} {:>10} {:>7.2f} {:>2}{:>5.2f} {}\n", placement, operation,
                 fmt::format("{:.2f} {}", result.at("danaus").get<double>(), unit),
                 fmt::format("{:.2f} {}", result.at("socket").get<double>(), unit),
                 result.at("ratio").get<double>(),
                 unit == "us" ? "<=" : ">=", result.at("target").get<double>(),
                 result.at("met").get<bool>() ? "" : "MISSED");
    }
  }
}

nlohmann::json compare(const std::vector<Placement>& placements, unsigned rounds,
                       const std::string& only) {
  nlohmann::json report;
  for (const auto& placement : placements) {
    const auto results = run_placement(placement, rounds, only);
    for (const auto& target : targets) {
      if (results.contains(target.name)) {
        report[placement.name][target.name] = summary_of(results.at(target.name), target);
      }
    }
  }
  return report;
}

std::vector<Placement> placements() {
  std::vector<Placement> all{{.name = "one", .requester = {0}, .responder = {0}}};
  if (std::thread::hardware_concurrency() > 1) {
    all.push_back({.name = "one each", .requester = {0}, .responder = {1}});
    all.push_back({.name = "two shared", .requester = {0, 1}, .responder = {0, 1}});
  }
  return all;
}

int run(int argc, char** argv) {
  CLI::App app{"Compares the software device with a plain TCP socket."};
  bool as_json = false;
  unsigned rounds = 7;
  Role role;
  app.add_flag("--json", as_json, "print all samples as JSON");
  app.add_option("--rounds", rounds, "measurements of each kind")->check(CLI::Range(1, 1000));
  app.add_option("--only", role.only, "one of put_64_mib, get_64_mib, put_8_bytes");
  // How this program starts its two processes.
  app.add_option("--role", role.role)->group("");
  app.add_option("--read-fd", role.read_fd)->group("");
  app.add_option("--write-fd", role.write_fd)->group("");
  CLI11_PARSE(app, argc, argv);
  if (role.role == "responder") {
    run_responder({role.read_fd, role.write_fd});
    return 0;
  }
  if (role.role == "requester") {
    run_requester({role.read_fd, role.write_fd}, rounds, role.only);
    return 0;
  }
  const auto report = compare(placements(), rounds, role.only);
  if (as_json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    print(report);
  }
  return 0;
}

}  // namespace
}  // namespace danaus::bench

int main(int argc, char** argv) {
  try {
    return danaus::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_soft_vs_socket: {}\n", error.what());
    return 1;
  }
}
