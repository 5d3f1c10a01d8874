// What an actor may do in one step.
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <system_error>

#include "messages/codec.hpp"
#include "tests/integration/harness/process_view.hpp"
#include "tests/stress/actor.hpp"

namespace danaus::stress {

namespace {

using Word = std::array<std::byte, sizeof(std::uint64_t)>;

/// `bytes` as a number in the byte order of this machine, which is that of its worker processes.
std::uint64_t word_of(const std::vector<std::byte>& bytes) {
  Word word{};
  std::ranges::copy(bytes, word.begin());
  return std::bit_cast<std::uint64_t>(word);
}

}  // namespace

void Actor::move_one() {
  const Move move = choose_move();
  prepare(move);
  const auto outcome = attempt(describe(move), operation_timeout, [&] {
    if (move.direction == Direction::put) {
      stage_.worker.put(local(move), remote(move), operation_timeout);
    } else {
      stage_.worker.get(local(move), remote(move), operation_timeout);
    }
  });
  conclude(move, outcome);
  expect_fair(outcome, move.peer);
}

void Actor::move_in_a_batch() {
  const std::vector<Move> moves = choose_moves(40);
  const std::uint64_t submits = 1 + choose(2);
  for (const Move& move : moves) {
    prepare(move);
  }
  Batch batch = stage_.worker.batch();
  for (const Move& move : moves) {
    note("batch: " + describe(move));
    if (move.direction == Direction::put) {
      batch.put(local(move), remote(move));
    } else {
      batch.get(local(move), remote(move));
    }
  }
  for (std::uint64_t submit = 0; submit < submits; ++submit) {
    stage_.tally.did("batch");
    static_cast<void>(attempt("submit a batch of " + std::to_string(moves.size()),
                              operation_timeout, [&] { batch.submit(operation_timeout); }));
    const auto outcomes = batch.outcomes();
    for (std::size_t index = 0; index < moves.size(); ++index) {
      conclude(moves[index], outcomes[index].outcome);
      expect_fair(outcomes[index].outcome, moves[index].peer);
    }
  }
}

/// On one queue pair, over before anything else happens there; waited for in any order.
void Actor::move_posted() {
  std::vector<Move> moves = choose_moves(20);
  const bool by_polling = choose(2) == 0;
  const std::size_t peer = moves.front().peer;
  for (Move& move : moves) {
    move.peer = peer;
    prepare(move);
  }
  std::vector<Outcome> outcomes(
      moves.size(), std::unexpected{Error{ErrorCode::invalid_queue_pair_state, "not begun"}});
  const auto all = attempt("post to peer " + std::to_string(peer), operation_timeout, [&] {
    QueuePair queue_pair = stage_.worker.queue_pair(remote(moves.front()), operation_timeout);
    std::map<std::uint64_t, std::size_t> posted;
    // One that is refused ends the posting, not the waiting.
    const auto refused = attempt("posting", operation_timeout, [&] {
      for (std::size_t index = 0; index < moves.size(); ++index) {
        const Move& move = moves[index];
        note("posted: " + describe(move));
        const auto id = move.direction == Direction::put
                            ? queue_pair.post_put(local(move), remote(move))
                            : queue_pair.post_get(local(move), remote(move));
        posted.emplace(id, index);
      }
    });
    expect_fair(refused, peer);
    if (by_polling) {
      poll_until_over(queue_pair, posted, outcomes);
    }
    for (const auto& [id, index] : posted) {
      outcomes[index] = attempt("wait for " + std::to_string(index), operation_timeout,
                                [&] { queue_pair.wait(id, operation_timeout); });
    }
  });
  expect_fair(all, peer);
  for (std::size_t index = 0; index < moves.size(); ++index) {
    conclude(moves[index], outcomes[index]);
    expect_fair(outcomes[index], peer);
  }
}

/// Takes what ends within the time of an operation out of `posted`.
void Actor::poll_until_over(QueuePair& queue_pair, std::map<std::uint64_t, std::size_t>& posted,
                            std::vector<Outcome>& outcomes) {
  const auto deadline = Watchdog::Clock::now() + operation_timeout;
  while (!posted.empty() && Watchdog::Clock::now() < deadline) {
    queue_pair.arm();
    const auto completions = queue_pair.poll(7);
    for (const Completion& completion : completions) {
      const auto found = posted.find(completion.id);
      if (found == posted.end()) {
        wrong("poll told of an operation that was not posted, or over before");
        return;
      }
      outcomes[found->second] = completion.outcome;
      posted.erase(found);
    }
    if (completions.empty()) {
      pollfd ready{.fd = queue_pair.fd(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, static_cast<int>(operation_timeout.count()));
    }
  }
}

/// On a number of its own, whose value it knows, and on one that it shares with all actors.
void Actor::use_atomics() {
  const std::size_t peer = choose(views_.size());
  const std::size_t offset = choose(share_size / 8) * 8;
  const std::uint64_t operand = choose(1U << 20U);
  const bool swaps = choose(2) == 0;
  View& there = view(peer);
  const auto buffer = there.life->buffer;
  const auto before = there.bytes.certain(offset, sizeof(std::uint64_t));
  const std::uint64_t expected = before ? word_of(*before) : 0;
  const std::uint64_t after = swaps ? operand : expected + operand;
  std::uint64_t found = 0;
  const auto outcome = attempt(
      (swaps ? "compare_swap at " : "fetch_add at ") + std::to_string(offset) + ", peer " +
          std::to_string(peer),
      operation_timeout, [&] {
        const std::size_t at = share_offset(number_) + offset;
        found = swaps ? stage_.worker.compare_swap(buffer, at, expected, operand, operation_timeout)
                      : stage_.worker.fetch_add(buffer, at, operand, operation_timeout);
      });
  stage_.tally.did(swaps ? "compare_swap" : "fetch_add");
  expect_fair(outcome, peer);
  const auto after_bytes = std::bit_cast<Word>(after);
  if (!before) {
    there.bytes.may_be_anything(offset, sizeof found);
  } else if (!outcome) {
    there.bytes.may_become(offset, after_bytes);
  } else if (found != expected) {
    wrong("an atomic found " + std::to_string(found) + " in place of " + std::to_string(expected),
          peer);
  } else {
    there.bytes.becomes(offset, after_bytes);
  }

  const auto counted = attempt("count at peer " + std::to_string(peer), operation_timeout, [&] {
    Batch batch = stage_.worker.batch();
    batch.fetch_add(buffer, 0, 1).submit(operation_timeout);
  });
  stage_.peers[peer]->counted(there.life->number, counted.has_value());
  expect_fair(counted, peer);
}

/// The local memory is released and gets other content while its bytes may be on their way.
void Actor::release_while_moving() {
  const Move move = choose_move();
  prepare(move);
  Local& memory = local_of(move);
  const std::vector<std::byte> sent(
      memory.memory.begin() + static_cast<long>(move.local_offset),
      memory.memory.begin() + static_cast<long>(move.local_offset + move.length));
  Outcome outcome = std::unexpected{Error{ErrorCode::invalid_queue_pair_state, "not begun"}};
  const auto connected = attempt("release while: " + describe(move), operation_timeout, [&] {
    QueuePair queue_pair = stage_.worker.queue_pair(remote(move), operation_timeout);
    const auto id = move.direction == Direction::put
                        ? queue_pair.post_put(local(move), remote(move))
                        : queue_pair.post_get(local(move), remote(move));
    memory.buffer->release();
    if (move.direction == Direction::get) {
      // From here on nobody writes to it; what it holds is the peer's or its own.
      doubt_in(move);
      check_in(move);
    }
    give_new_content(memory, move.local_offset, move.length);
    outcome = attempt("wait", operation_timeout, [&] { queue_pair.wait(id, operation_timeout); });
  });
  stage_.tally.did("release");
  expect_fair(connected, move.peer);
  expect_fair(outcome, move.peer, {ErrorCode::local_protection_error});
  if (move.direction == Direction::put) {
    if (outcome) {
      views_[move.peer].bytes.becomes(move.offset, sent);
    } else if (connected) {
      doubt(views_[move.peer].bytes, move.offset, sent);
    }
  }
  compare_local(memory, "what was released");
  register_again(memory);
}

/// A part of its share is registered there, used by that handle, released, and used in vain.
void Actor::use_a_remote_registration() {
  Move move = choose_move();
  move.length = std::max<std::size_t>(move.length, 1);
  move.offset = std::min(move.offset, share_size - move.length);
  move.local_offset = std::min(move.local_offset, share_size - move.length);
  prepare(move);
  const std::size_t peer = move.peer;
  const auto life = views_[peer].life;
  const auto whole = remote(move);
  const auto ask = [&](messages::Message message) {
    auto reply = stage_.worker.request(life->ref, message, operation_timeout);
    if (!reply) {
      throw Error{reply.error()};
    }
    return *std::move(reply);
  };
  std::optional<RemoteBuffer> handle;
  const auto registered =
      attempt("register at peer " + std::to_string(peer), operation_timeout, [&] {
        const auto reply = ask(messages::ManagerMessage{
            messages::RequestBuffer{.addr = whole.wire().addr, .size = move.length}});
        handle.emplace(messages::decode<messages::RdmaBuffer>(reply).value());
      });
  stage_.tally.did("remote-register");
  expect_fair(registered, peer);
  if (!registered || handle->wire().incarnation != life->buffer.wire().incarnation) {
    return;
  }
  const auto use = [&] {
    if (move.direction == Direction::put) {
      stage_.worker.put(local(move), *handle, operation_timeout);
    } else {
      stage_.worker.get(local(move), *handle, operation_timeout);
    }
  };
  const auto used = attempt("by that: " + describe(move), operation_timeout, use);
  conclude(move, used);
  expect_fair(used, peer);
  const auto released = attempt("release it", operation_timeout, [&] {
    static_cast<void>(ask(messages::ManagerMessage{messages::ReleaseBuffer{handle->wire()}}));
  });
  stage_.tally.did("remote-release");
  expect_fair(released, peer);
  if (released) {
    const auto in_vain = attempt("use it in vain", operation_timeout, use);
    expect_fair(in_vain, peer, {ErrorCode::remote_access_error});
    if (in_vain) {
      wrong("a buffer served after its release");
    }
  }
}

void Actor::use_a_forged_key() {
  Move move = choose_move();
  move.length = std::max<std::size_t>(move.length, 1);
  move.offset = std::min(move.offset, share_size - move.length);
  move.local_offset = std::min(move.local_offset, share_size - move.length);
  prepare(move);
  messages::RdmaBuffer forged = remote(move).wire();
  forged.rkey ^= 1U + choose(1000);
  const auto outcome = attempt("forged " + describe(move), operation_timeout, [&] {
    if (move.direction == Direction::put) {
      stage_.worker.put(local(move), RemoteBuffer{forged}, operation_timeout);
    } else {
      stage_.worker.get(local(move), RemoteBuffer{forged}, operation_timeout);
    }
  });
  stage_.tally.injected("forged-key");
  expect_fair(outcome, move.peer, {ErrorCode::remote_access_error});
  if (outcome) {
    wrong("a forged key opened a buffer");
  }
  compare_local(local_of(move), "an operation that was refused");
}

void Actor::close_connection() {
  const std::size_t peer = choose(views_.size());
  const auto life = view(peer).life;
  const auto closed =
      attempt("close the connection to peer " + std::to_string(peer), operation_timeout, [&] {
        const auto reply = stage_.worker.request(
            stage_.worker.ref(),
            messages::ServiceMessage{messages::ClosePeer{
                .other = life->ref, .self_device = "soft0", .other_device = "soft0"}},
            operation_timeout);
        if (!reply) {
          throw Error{reply.error()};
        }
      });
  stage_.tally.injected("close");
  expect_fair(closed, peer, {ErrorCode::not_found, ErrorCode::unreachable, ErrorCode::stale_peer});
}

/// By the kernel's view of the peer's memory, and of its own.
void Actor::look_from_outside() {
  const std::size_t peer = choose(views_.size());
  const View& there = view(peer);
  try {
    const auto bytes = integration::read_memory(
        there.life->pid, there.life->buffer.wire().addr + share_offset(number_), share_size);
    const auto at = there.bytes.first_mismatch(0, bytes);
    if (at && stage_.peers[peer]->restarts_begun() == there.life->number) {
      wrong("byte " + std::to_string(*at) + " at peer " + std::to_string(peer) + " is " +
                std::to_string(std::to_integer<unsigned>(bytes[*at])) + ", not what was put there",
            peer);
    }
    stage_.tally.compared(share_size);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): it was killed meanwhile
  }
  compare_local(out_, "puts");
  compare_local(in_, "gets");
}

/// It times out, and its memory gets other content while the peer still holds what it was sent.
void Actor::move_to_a_stopped_peer() {
  Move move = choose_move();
  move.length = std::max<std::size_t>(move.length, 1);
  move.offset = std::min(move.offset, share_size - move.length);
  move.local_offset = std::min(move.local_offset, share_size - move.length);
  if (!stage_.with_faults) {
    return;
  }
  prepare(move);
  Outcome outcome;
  stage_.peers[move.peer]->while_stopped([&] {
    prepare(move);  // it may have had to wait for a restart
    outcome = attempt("while it is stopped: " + describe(move), short_timeout, [&] {
      if (move.direction == Direction::put) {
        stage_.worker.put(local(move), remote(move), short_timeout);
      } else {
        stage_.worker.get(local(move), remote(move), short_timeout);
      }
    });
    conclude(move, outcome);
    give_new_content(local_of(move), move.local_offset, move.length);
  });
  stage_.tally.injected("stop");
  expect_fair(outcome, move.peer);
  const bool needs_the_peer = move.direction == Direction::put || !stage_.by_copy;
  if (outcome && needs_the_peer) {
    wrong("an operation succeeded while its peer was stopped");
  }
}

void Actor::restart_a_peer() {
  const std::size_t peer = choose(views_.size());
  const int signal = choose(2) == 0 ? SIGKILL : SIGTERM;
  if (!stage_.with_faults) {
    return;
  }
  note("restart peer " + std::to_string(peer));
  const Watchdog::Watch watch{stage_.watchdog, "restarting a peer", operation_timeout};
  stage_.peers[peer]->restart(signal);
  stage_.tally.injected(signal == SIGKILL ? "kill" : "terminate");
}

std::string Actor::describe(const Move& move) {
  return std::string{move.direction == Direction::put ? "put" : "get"} + " of " +
         std::to_string(move.length) + " bytes at " + std::to_string(move.offset) + ", peer " +
         std::to_string(move.peer) + ", local " + std::to_string(move.local_offset);
}

}  // namespace danaus::stress
