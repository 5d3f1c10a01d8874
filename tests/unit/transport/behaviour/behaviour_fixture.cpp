#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

#include "transport/completion_waiter.hpp"

namespace danaus::transport::testing {
namespace {

WorkRequest request(Opcode opcode, const Registered& local, const Registered& remote,
                    std::uint64_t id) {
  return {.id = id,
          .opcode = opcode,
          .local_address = local.memory.address(),
          .lkey = local.region->lkey(),
          .remote_address = remote.region->remote_address(),
          .rkey = remote.region->rkey(),
          .length = local.memory.size()};
}

}  // namespace

TransportBehaviour::TransportBehaviour() : transport_{GetParam().make()} {
  a_.domain = transport_->open_domain(Side::a);
  b_.domain = transport_->open_domain(Side::b);
}

void TransportBehaviour::connect(const QueuePairConfig& config) {
  a_.queue_pair = new_queue_pair(a_, config);
  b_.queue_pair = new_queue_pair(b_, config);
  ASSERT_TRUE(a_.queue_pair->connect(b_.queue_pair->endpoint().value()));
  ASSERT_TRUE(b_.queue_pair->connect(a_.queue_pair->endpoint().value()));
}

std::unique_ptr<QueuePair> TransportBehaviour::new_queue_pair(const End& end,
                                                              const QueuePairConfig& config) {
  return end.domain->create_queue_pair(config).value();
}

WorkRequest TransportBehaviour::put(const Registered& local, const Registered& remote,
                                    std::uint64_t id) {
  return request(Opcode::rdma_write, local, remote, id);
}

WorkRequest TransportBehaviour::get(const Registered& local, const Registered& remote,
                                    std::uint64_t id) {
  return request(Opcode::rdma_read, local, remote, id);
}

WorkCompletion TransportBehaviour::next(QueuePair& queue_pair) {
  thread_local CompletionWaiter waiter;
  std::array<WorkCompletion, 1> completion;
  const auto limit = CompletionWaiter::Clock::now() + patience;
  if (waiter.wait(queue_pair, completion, max_work_request_length, limit) == 0) {
    ADD_FAILURE() << "no completion within " << patience.count() << " s";
    return {.id = 0, .status = CompletionStatus::general_error};
  }
  return completion.front();
}

std::vector<WorkCompletion> TransportBehaviour::next(QueuePair& queue_pair, std::size_t count) {
  std::vector<WorkCompletion> completions;
  while (completions.size() < count && !HasFailure()) {
    completions.push_back(next(queue_pair));
  }
  return completions;
}

CompletionStatus TransportBehaviour::carry_out(QueuePair& queue_pair, const WorkRequest& request) {
  if (const auto posted = queue_pair.post(request); !posted) {
    ADD_FAILURE() << posted.error().message();
    return CompletionStatus::general_error;
  }
  const auto completion = next(queue_pair);
  EXPECT_EQ(completion.id, request.id);
  return completion.status;
}

bool TransportBehaviour::comes_to_error(const QueuePair& queue_pair) {
  return eventually([&] { return queue_pair.state() == QueuePairState::error; });
}

}  // namespace danaus::transport::testing
