// Compares the software device within one host with a direct process_vm_readv(2) or
// process_vm_writev(2): two processes, in turns, medians. Both use the same memory: where the
// kernel puts a page makes more of a difference than anything else.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "messages/bytes.hpp"
#include "messages/codec.hpp"
#include "tests/bench/processes.hpp"
#include "tests/unit/transport/soft_host.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::bench {
namespace {

using transport::Opcode;
using transport::Operation;

struct Measurement {
  const char* name;
  Opcode opcode;
  std::uint64_t length;
  std::uint64_t count;
  /// The least bandwidth, of the direct call's; 0: nothing is asked for.
  double limit;
};

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;
constexpr std::uint64_t memory_length = 256 * mib;

constexpr auto measurements = std::to_array<Measurement>({
    {"put_8_bytes", Opcode::rdma_write, 8, 5000, 0},
    {"put_16_kib", Opcode::rdma_write, 16 * kib, 2000, 0},
    {"get_16_kib", Opcode::rdma_read, 16 * kib, 2000, 0},
    {"put_64_kib", Opcode::rdma_write, 64 * kib, 1000, 0},
    {"get_64_kib", Opcode::rdma_read, 64 * kib, 1000, 0},
    {"put_1_mib", Opcode::rdma_write, mib, 100, 0.8},
    {"get_1_mib", Opcode::rdma_read, mib, 100, 0.8},
    {"put_256_mib", Opcode::rdma_write, 256 * mib, 1, 0.95},
    {"get_256_mib", Opcode::rdma_read, 256 * mib, 1, 0.95},
});

/// Far longer than any operation here takes.
constexpr std::chrono::seconds time_limit{60};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Seconds that one of `count` operations takes.
double measure(std::uint64_t count, const std::function<void()>& operation) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    operation();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(count);
}

/// One direct call for all of it; the kernel moves at most 2 GiB - 4 KiB at once.
void copy_directly(pid_t process, Opcode opcode, void* local, std::uint64_t remote,
                   std::uint64_t length) {
  const ::iovec here{local, length};
  const ::iovec there{reinterpret_cast<void*>(remote), length};  // NOLINT: another process's
  const ssize_t count = opcode == Opcode::rdma_write
                            ? ::process_vm_writev(process, &here, 1, &there, 1, 0)
                            : ::process_vm_readv(process, &here, 1, &there, 1, 0);
  if (count != static_cast<ssize_t>(length)) {
    throw std::system_error{errno, std::generic_category(), "process_vm"};
  }
}

messages::QpInfo endpoint_in(const nlohmann::json& message) {
  return messages::decode<messages::QpInfo>(
             messages::from_hex(message.at("endpoint").get<std::string>()).value())
      .value();
}

void run_responder(Channel channel) {
  std::vector<std::byte> memory(memory_length, std::byte{2});
  transport::testing::SoftHost host{transport::soft::PathPolicy::copy};
  const auto domain = host.device().open().value();
  const auto region = domain
                          ->register_memory(reinterpret_cast<std::uintptr_t>(memory.data()),
                                            memory.size(), transport::full_access)
                          .value();
  const auto queue_pair = domain->create_queue_pair({}).value();
  queue_pair->connect(endpoint_in(channel.receive())).value();
  channel.send({{"endpoint", messages::to_hex(messages::encode(queue_pair->endpoint().value()))},
                {"address", region->remote_address()},
                {"rkey", region->rkey()},
                {"process", ::getpid()}});
  static_cast<void>(channel.receive());  // the requester is done
}

void run_requester(Channel channel, unsigned rounds, const std::string& only) {
  std::vector<std::byte> memory(memory_length, std::byte{1});
  transport::testing::SoftHost host{transport::soft::PathPolicy::copy};
  const auto domain = host.device().open().value();
  const auto region = domain
                          ->register_memory(reinterpret_cast<std::uintptr_t>(memory.data()),
                                            memory.size(), transport::full_access)
                          .value();
  transport::OperationQueue queue{domain->create_queue_pair({}).value(), "the responder"};
  channel.send(
      {{"endpoint", messages::to_hex(messages::encode(queue.queue_pair().endpoint().value()))}});
  const auto responder = channel.receive();
  queue.queue_pair().connect(endpoint_in(responder)).value();

  auto results = nlohmann::json::object();
  for (const auto& measurement : measurements) {
    if (!only.empty() && only != measurement.name) {
      continue;
    }
    const Operation operation{.opcode = measurement.opcode,
                              .local_address = region->address(),
                              .lkey = region->lkey(),
                              .remote_address = responder.at("address").get<std::uint64_t>(),
                              .rkey = responder.at("rkey").get<std::uint64_t>(),
                              .length = measurement.length};
    const auto by_danaus = [&] {
      return measure(measurement.count,
                     [&] { queue.run(operation, transport::Clock::now() + time_limit).value(); });
    };
    const auto by_call = [&] {
      return measure(measurement.count, [&] {
        copy_directly(responder.at("process").get<pid_t>(), measurement.opcode, memory.data(),
                      operation.remote_address, measurement.length);
      });
    };
    // Once each without looking, for page faults and slow starts.
    by_call();
    by_danaus();
    if (queue.queue_pair().path() != "copy") {
      throw std::runtime_error{"the bytes do not go by copies"};
    }
    auto& result = results[measurement.name];
    for (unsigned round = 0; round < rounds; ++round) {
      result["direct"].push_back(by_call());
      result["danaus"].push_back(by_danaus());
    }
  }
  channel.send(results);
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  return ends;
}

/// A process of this program in a role, and the channel to it.
struct Child {
  pid_t process = -1;
  Channel channel;
};

Child start(const std::string& role, unsigned rounds, const std::string& only) {
  const auto to_child = make_pipe();
  const auto from_child = make_pipe();
  const pid_t process = start_role({.role = role,
                                    .cpus = {},
                                    .rounds = rounds,
                                    .only = only,
                                    .read_fd = to_child[0],
                                    .write_fd = from_child[1]});
  ::close(to_child[0]);
  ::close(from_child[1]);
  return {process, Channel{from_child[0], to_child[1]}};
}

nlohmann::json compare(unsigned rounds, const std::string& only) {
  Child requester = start("requester", rounds, only);
  Child responder = start("responder", rounds, only);
  responder.channel.send(requester.channel.receive());
  requester.channel.send(responder.channel.receive());
  auto results = requester.channel.receive();
  responder.channel.send("done");
  wait_for(requester.process);
  wait_for(responder.process);
  return results;
}

void print(const nlohmann::json& results) {
  fmt::print("{:<12} {:>12} {:>12} {:>7} {:>7}\n", "operation", "danaus", "direct", "ratio",
             "target");
  for (const auto& measurement : measurements) {
    if (!results.contains(measurement.name)) {
      continue;
    }
    const double danaus = median(results.at(measurement.name).at("danaus"));
    const double direct = median(results.at(measurement.name).at("direct"));
    const auto bandwidth = [&](double seconds) {
      return measurement.length < kib
                 ? fmt::format("{:.2f} us", seconds * 1e6)
                 : fmt::format("{:.2f} GB/s",
                               static_cast<double>(measurement.length) / seconds / 1e9);
    };
    const double ratio = direct / danaus;
    fmt::print("{:<12} {:>12} {:>12} {:>7.2f} {:>7} {}\n", measurement.name, bandwidth(danaus),
               bandwidth(direct), ratio,
               measurement.limit > 0 ? fmt::format(">={:.2f}", measurement.limit) : "",
               ratio < measurement.limit ? "MISSED" : "");
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Compares the software device within one host with direct copies."};
  bool as_json = false;
  unsigned rounds = 7;
  Role role;
  app.add_flag("--json", as_json, "print all samples as JSON");
  app.add_option("--rounds", rounds, "measurements of each kind")->check(CLI::Range(1, 1000));
  app.add_option("--only", role.only, "one measurement, e.g. put_1_mib");
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
  const auto results = compare(rounds, role.only);
  if (as_json) {
    fmt::print("{}\n", results.dump(2));
  } else {
    print(results);
  }
  return 0;
}

}  // namespace
}  // namespace danaus::bench

int main(int argc, char** argv) {
  try {
    return danaus::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_soft_vs_copy: {}\n", error.what());
    return 1;
  }
}
