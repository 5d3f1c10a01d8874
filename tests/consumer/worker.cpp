// Uses each class of the installed library once, and catches an error of its.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>

#include <danaus/danaus.hpp>

int main() {
  using namespace std::chrono_literals;
  constexpr auto patience = 30s;

  danaus::Worker owner{{.identity = "owner", .bind = "tcp://127.0.0.1:*"}};
  danaus::Buffer source = owner.allocate_buffer(4096, "source");
  std::ranges::fill(source.memory(), std::byte{42});

  danaus::Client client;
  const auto found = client.call(owner.ref(), danaus::messages::LookupBuffer{"source"}, patience);
  const danaus::RemoteBuffer remote{found};

  danaus::Worker reader{{.identity = "reader"}};
  danaus::Buffer copy = reader.allocate_buffer(remote.size());
  danaus::QueuePair pair = reader.queue_pair(remote, patience);
  pair.get(copy, remote, patience);
  if (!std::ranges::equal(copy.memory(), source.memory())) {
    std::puts("the copy differs");
    return 1;
  }

  danaus::Batch batch = reader.batch();
  batch.put(copy.slice(0, 64), remote.slice(0, 64)).submit(patience);
  if (batch.outcomes().size() != 1) {
    std::puts("a batch of one has another number of outcomes");
    return 1;
  }

  try {
    static_cast<void>(client.call(owner.ref(), danaus::messages::LookupBuffer{"none"}, patience));
  } catch (const danaus::Error& error) {
    std::printf("consumer: %s\n", error.what());
    return error.code() == danaus::ErrorCode::not_found ? 0 : 1;
  }
  std::puts("a buffer that nobody offers was found");
  return 1;
}
