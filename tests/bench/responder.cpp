#include <thread>
#include <vector>

#include "messages/codec.hpp"
#include "tests/bench/roles.hpp"
#include "tests/bench/socket_baseline.hpp"
#include "tests/unit/transport/soft_host.hpp"

namespace danaus::bench {

void run_responder(Channel channel) {
  std::vector<std::byte> memory(long_length);
  std::vector<std::byte> baseline_memory(long_length);
  BaselineServer baseline{baseline_memory};
  std::thread baseline_thread{[&] { baseline.serve(); }};

  transport::testing::SoftHost host{transport::soft::PathPolicy::tcp};
  const auto domain = host.device().open().value();
  const auto region = domain
                          ->register_memory(reinterpret_cast<std::uintptr_t>(memory.data()),
                                            memory.size(), transport::full_access)
                          .value();
  const auto queue_pair = domain->create_queue_pair({}).value();
  const auto requester = channel.receive();
  queue_pair
      ->connect(messages::decode<messages::QpInfo>(
                    messages::from_hex(requester.at("endpoint").get<std::string>()).value())
                    .value())
      .value();
  channel.send({{"endpoint", messages::to_hex(messages::encode(queue_pair->endpoint().value()))},
                {"address", region->remote_address()},
                {"rkey", region->rkey()},
                {"baseline_port", baseline.port()}});
  static_cast<void>(channel.receive());  // the requester is done
  baseline_thread.join();
}

}  // namespace danaus::bench
