#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <vector>

#include "messages/codec.hpp"
#include "tests/bench/roles.hpp"
#include "tests/bench/socket_baseline.hpp"
#include "tests/unit/transport/soft_host.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::bench {
namespace {

using transport::Opcode;
using transport::Operation;

/// Far longer than any operation here takes.
constexpr std::chrono::seconds time_limit{60};

/// Seconds that one of `count` operations takes.
double measure(std::uint64_t count, const std::function<void()>& operation) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    operation();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(count);
}

struct Measurement {
  const char* name;
  Opcode opcode;
  std::uint64_t length;
  std::uint64_t count;
};

constexpr auto measurements = std::to_array<Measurement>({
    {"put_64_mib", Opcode::rdma_write, long_length, 1},
    {"get_64_mib", Opcode::rdma_read, long_length, 1},
    {"put_8_bytes", Opcode::rdma_write, short_length, short_count},
});

}  // namespace

void run_requester(Channel channel, unsigned rounds, const std::string& only) {
  std::vector<std::byte> memory(long_length, std::byte{1});
  std::vector<std::byte> baseline_memory(long_length, std::byte{1});
  transport::testing::SoftHost host{transport::soft::PathPolicy::tcp};
  const auto domain = host.device().open().value();
  const auto region = domain
                          ->register_memory(reinterpret_cast<std::uintptr_t>(memory.data()),
                                            memory.size(), transport::full_access)
                          .value();
  transport::OperationQueue queue{domain->create_queue_pair({}).value(), "the responder"};
  channel.send(
      {{"endpoint", messages::to_hex(messages::encode(queue.queue_pair().endpoint().value()))}});
  const auto responder = channel.receive();
  queue.queue_pair()
      .connect(messages::decode<messages::QpInfo>(
                   messages::from_hex(responder.at("endpoint").get<std::string>()).value())
                   .value())
      .value();
  const BaselineClient baseline{responder.at("baseline_port").get<std::uint16_t>()};

  const auto run_danaus = [&](const Measurement& measurement) {
    const Operation operation{.opcode = measurement.opcode,
                              .local_address = region->address(),
                              .lkey = region->lkey(),
                              .remote_address = responder.at("address").get<std::uint64_t>(),
                              .rkey = responder.at("rkey").get<std::uint64_t>(),
                              .length = measurement.length};
    return measure(measurement.count,
                   [&] { queue.run(operation, transport::Clock::now() + time_limit).value(); });
  };
  const auto run_baseline = [&](const Measurement& measurement) {
    const bool is_put = measurement.opcode == Opcode::rdma_write;
    const auto bytes = std::span{baseline_memory}.first(measurement.length);
    baseline.announce(is_put, measurement.length, measurement.count);
    return measure(measurement.count, [&] {
      if (is_put) {
        baseline.put(bytes);
      } else {
        baseline.get(bytes);
      }
    });
  };

  auto results = nlohmann::json::object();
  for (const auto& measurement : measurements) {
    if (!only.empty() && only != measurement.name) {
      continue;
    }
    // Once each without looking, for page faults and slow starts.
    run_baseline(measurement);
    run_danaus(measurement);
    auto& result = results[measurement.name];
    for (unsigned round = 0; round < rounds; ++round) {
      result["socket"].push_back(run_baseline(measurement));
      result["danaus"].push_back(run_danaus(measurement));
    }
  }
  channel.send(results);
}

}  // namespace danaus::bench
