// Short forms of what many tests ask of a manager, and matchers for how it went.
// Any thread. Relies on danaus::Client and GoogleMock.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <expected>
#include <latch>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "danaus/danaus.hpp"
#include "tests/integration/harness/worker_process.hpp"

namespace danaus::integration {

/// RTS, as GetQpState says it (ibv_qp_state).
inline constexpr std::uint32_t ready_to_send = 3;

/// What `body` returns, or the Error that it throws.
template <class Body>
[[nodiscard]] auto attempt(Body body) -> std::expected<std::invoke_result_t<Body>, Error> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

/// Sends `message` and returns its reply or the error, the manager's or the client's.
template <messages::DescribedMessage M>
[[nodiscard]] std::expected<typename M::Reply, Error> ask(
    Client& client, const messages::ActorRef& to, M message,
    std::chrono::milliseconds timeout = patience) {
  return attempt([&] { return client.call(to, std::move(message), timeout); });
}

/// One end of a transfer: a named buffer of a worker and where in it.
struct Range {
  std::string buffer;
  std::uint64_t offset = 0;
};

[[nodiscard]] inline messages::Transfer transfer(std::string op, Range local,
                                                 messages::RdmaBuffer remote,
                                                 std::uint64_t remote_offset, std::uint64_t length,
                                                 std::chrono::milliseconds timeout = patience) {
  messages::Transfer message;
  message.op = std::move(op);
  message.local = {.buffer = std::move(local.buffer), .offset = local.offset};
  message.remote = std::move(remote);
  message.offset = remote_offset;
  message.length = length;
  message.timeout_ms = static_cast<std::uint32_t>(timeout.count());
  return message;
}

/// Runs `body(0)` … `body(count - 1)`, each on a thread of its own, all released at once; returns
/// when all are over.
template <class Body>
void run_concurrently(unsigned count, const Body& body) {
  std::latch start{static_cast<std::ptrdiff_t>(count)};
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&start, &body, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
}

// NOLINTBEGIN(readability-identifier-naming): GoogleMock's convention for matchers

/// An expected that holds a value.
MATCHER(Succeeds, negation ? "fails" : "succeeds") {
  if (!arg.has_value()) {
    *result_listener << "failed with " << to_string(arg.error().code()) << ": "
                     << arg.error().message();
  }
  return arg.has_value();
}

/// An expected that holds an error of this code.
MATCHER_P(FailsWith, code, "fails with " + std::string{to_string(code)}) {
  if (arg.has_value()) {
    *result_listener << "succeeded";
    return false;
  }
  *result_listener << "failed with " << to_string(arg.error().code()) << ": "
                   << arg.error().message();
  return arg.error().code() == code;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace danaus::integration
