// danaus_stress: random operations and faults, chosen from a seed, with a model of every byte. Ends
// with OK, or with the first thing that was wrong and what led to it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/integration/harness/process_view.hpp"
#include "tests/stress/actor.hpp"

namespace danaus::stress {
namespace {

struct Options {
  unsigned seconds = 60;
  std::uint64_t seed = std::random_device{}();
  unsigned workers = 3;
  unsigned actors = 3;
  std::string path = "tcp";
  bool no_faults = false;
};

const std::map<std::string, SoftPath> soft_paths{
    {"auto", SoftPath::automatic}, {"tcp", SoftPath::tcp}, {"copy", SoftPath::copy}};

/// That the number which all actors added to is their sum.
void compare_counter(const Peer& peer, std::span<const std::byte> bytes, Tally& tally) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  const auto [certain, perhaps] = peer.count();
  if (value < certain || value > certain + perhaps) {
    tally.wrong("1 was added to a number of " + peer.life()->ref.id + " " +
                std::to_string(certain) + " to " + std::to_string(certain + perhaps) +
                " times, but it is " + std::to_string(value));
  }
}

/// That nobody wrote between the shares.
void compare_margins(const std::vector<std::unique_ptr<Peer>>& peers, unsigned actors,
                     Tally& tally) {
  for (const auto& peer : peers) {
    const auto life = peer->life();
    for (unsigned actor = 0; actor <= actors; ++actor) {
      const auto bytes = integration::read_memory(
          life->pid, life->buffer.wire().addr + share_offset(actor) - margin_size, margin_size);
      const std::size_t counter = actor == 0 ? counter_size : 0;
      if (actor == 0) {
        compare_counter(*peer, bytes, tally);
      }
      if (std::ranges::any_of(std::span{bytes}.subspan(counter),
                              [](std::byte byte) { return byte != std::byte{}; })) {
        tally.wrong("bytes of " + life->ref.id + " changed that nobody was to write");
      }
    }
  }
}

void perform(Actor& actor, Tally& tally, Watchdog::Clock::time_point until) {
  try {
    while (Watchdog::Clock::now() < until && !tally.first_wrong() && actor.step()) {
    }
    if (!tally.first_wrong()) {
      static_cast<void>(actor.compare_all());
    }
  } catch (const std::exception& error) {
    tally.wrong(std::string{"an actor could not go on: "} + error.what());
  }
}

int run(const Options& options) {
  const std::string about = "seed " + std::to_string(options.seed) + ", " +
                            std::to_string(options.workers) + " workers, " +
                            std::to_string(options.actors) + " actors, path " + options.path;
  std::printf("%s\n", about.c_str());
  std::fflush(stdout);
  spdlog::set_level(spdlog::level::err);
  Tally tally;
  std::vector<std::unique_ptr<Peer>> peers;
  for (unsigned number = 0; number < options.workers; ++number) {
    peers.push_back(std::make_unique<Peer>("stress-" + std::to_string(number),
                                           share_offset(options.actors), options.path));
  }
  WorkerConfig config;
  config.identity = "driver";
  config.bind = "tcp://127.0.0.1:*";
  config.soft_path = soft_paths.at(options.path);
  Worker worker{config};
  Watchdog watchdog{about};
  {
    const Stage stage{worker, peers, tally, watchdog, !options.no_faults, options.path != "tcp"};
    std::vector<std::unique_ptr<Actor>> actors;
    for (unsigned number = 0; number < options.actors; ++number) {
      actors.push_back(std::make_unique<Actor>(stage, number, options.seed));
    }
    const auto until = Watchdog::Clock::now() + std::chrono::seconds{options.seconds};
    std::vector<std::jthread> threads;
    for (const auto& actor : actors) {
      threads.emplace_back([&, it = actor.get()] { perform(*it, tally, until); });
    }
    threads.clear();
    std::uint64_t steps = 0;
    for (const auto& actor : actors) {
      steps += actor->steps();
    }
    std::printf("steps:      %llu\n", static_cast<unsigned long long>(steps));
    if (!tally.first_wrong()) {
      compare_margins(peers, options.actors, tally);
    }
  }
  std::printf("%s", tally.summary().c_str());
  if (const auto wrong = tally.first_wrong()) {
    std::printf("WRONG (%s)\n%s\n", about.c_str(), wrong->c_str());
    return 1;
  }
  std::printf("OK\n");
  return 0;
}

}  // namespace
}  // namespace danaus::stress

int main(int argc, char** argv) {
  using danaus::stress::Options;
  Options options;
  CLI::App app{"Moves bytes at random among workers that are disturbed, and compares every one."};
  app.add_option("--seconds", options.seconds, "How long")->capture_default_str();
  app.add_option("--seed", options.seed, "What the choices follow from; random unless given");
  app.add_option("--workers", options.workers, "Worker processes")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  app.add_option("--actors", options.actors, "Threads that choose and compare")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  app.add_option("--soft-path", options.path, "How bytes go")
      ->check(CLI::IsMember(danaus::stress::soft_paths))
      ->capture_default_str();
  app.add_flag("--no-faults", options.no_faults, "Stop, kill and restart nobody");
  CLI11_PARSE(app, argc, argv);
  try {
    return danaus::stress::run(options);
  } catch (const std::exception& error) {
    std::printf("WRONG: %s\n", error.what());
    return 1;
  }
}
