#include "tests/stress/actor.hpp"

#include <algorithm>
#include <cstring>

namespace danaus::stress {

namespace {

constexpr std::size_t history_length = 1500;

/// Errors that say that the operation was not begun, so that nothing has changed.
bool was_not_begun(const Error& error) {
  using enum ErrorCode;
  return error.code() == stale_peer || error.code() == invalid_queue_pair_state ||
         error.code() == unreachable || error.code() == remote_access_error;
}

}  // namespace

Actor::Actor(Stage stage, unsigned number, std::uint64_t seed)
    : stage_{stage},
      number_{number},
      random_{seed * 1'000'003 + number},
      views_(stage.peers.size()) {
  for (Local* const memory : {&out_, &in_}) {
    memory->memory.resize(share_size);
    give_new_content(*memory, 0, share_size);
    register_again(*memory);
  }
  for (std::size_t peer = 0; peer < views_.size(); ++peer) {
    view(peer);
  }
}

bool Actor::step() {
  ++steps_;
  const std::uint64_t choice = choose(1000);
  if (choice < 400) {
    move_one();
  } else if (choice < 450) {
    use_atomics();
  } else if (choice < 650) {
    move_in_a_batch();
  } else if (choice < 800) {
    move_posted();
  } else if (choice < 860) {
    release_while_moving();
  } else if (choice < 910) {
    use_a_remote_registration();
  } else if (choice < 925) {
    use_a_forged_key();
  } else if (choice < 945) {
    close_connection();
  } else if (choice < 980) {
    look_from_outside();
  } else if (choice < 990) {
    move_to_a_stopped_peer();
  } else {
    restart_a_peer();
  }
  return !failed_;
}

// -- choosing
// ---------------------------------------------------------------------------------------

std::uint64_t Actor::choose(std::uint64_t below) {
  return random_() % below;  // the same on every machine, unlike std's distributions
}

std::size_t Actor::choose_length() {
  const std::uint64_t kind = choose(100);
  const std::size_t most = kind < 50   ? 64
                           : kind < 80 ? std::size_t{8} << 10U
                           : kind < 96 ? std::size_t{128} << 10U
                                       : share_size;
  return choose(most + 1);
}

Actor::Move Actor::choose_move() {
  Move move;
  move.direction = choose(2) == 0 ? Direction::put : Direction::get;
  move.peer = choose(views_.size());
  move.length = choose_length();
  move.offset = choose(share_size - move.length + 1);
  move.local_offset = choose(share_size - move.length + 1);
  return move;
}

/// Moves whose local ranges do not overlap, as long as there is room.
std::vector<Actor::Move> Actor::choose_moves(std::size_t most) {
  std::vector<Move> moves;
  const std::size_t count = 1 + choose(most);
  std::size_t used = 0;
  for (std::size_t index = 0; index < count; ++index) {
    Move move = choose_move();
    move.length = std::min(move.length, share_size - used);
    move.local_offset = used;
    used += move.length;
    moves.push_back(move);
  }
  return moves;
}

// -- doing and comparing
// ----------------------------------------------------------------------------

Actor::View& Actor::view(std::size_t peer) {
  View& one = views_[peer];
  auto life = stage_.peers[peer]->life();
  if (life != one.life) {
    one.life = std::move(life);
    one.bytes.reset();
    note("peer " + std::to_string(peer) + " lives for the " + std::to_string(one.life->number + 1) +
         ". time");
  }
  return one;
}

RemoteBuffer Actor::remote(const Move& move) {
  return views_[move.peer].life->buffer.slice(share_offset(number_) + move.offset, move.length);
}

BufferSlice Actor::local(const Move& move) {
  return local_of(move).buffer->slice(move.local_offset, move.length);
}

/// Something new to put; something known to get over.
void Actor::prepare(const Move& move) {
  view(move.peer);
  if (move.direction == Direction::put) {
    give_new_content(out_, move.local_offset, move.length);
  }
}

/// To be called in the order in which the moves executed.
void Actor::conclude(const Move& move, const Outcome& outcome) {
  stage_.tally.did(move.direction == Direction::put ? "put" : "get");
  View& there = views_[move.peer];
  const auto bytes = std::span{local_of(move).memory}.subspan(move.local_offset, move.length);
  if (move.direction == Direction::put) {
    if (outcome) {
      there.bytes.becomes(move.offset, bytes);
    } else if (!was_not_begun(outcome.error())) {
      doubt(there.bytes, move.offset, bytes);
    }
    return;
  }
  if (!outcome) {
    doubt_in(move);
    check_in(move);
    return;
  }
  stage_.tally.compared(move.length);
  if (const auto at = there.bytes.first_mismatch(move.offset, bytes)) {
    std::string allowed;
    for (const unsigned value : there.bytes.allowed(move.offset + *at)) {
      allowed += " " + std::to_string(value);
    }
    wrong("a get of " + std::to_string(move.length) + " bytes at " + std::to_string(move.offset) +
              " from peer " + std::to_string(move.peer) + " brought " +
              std::to_string(std::to_integer<unsigned>(bytes[*at])) + " at its byte " +
              std::to_string(*at) + ", which may be:" + allowed,
          move.peer);
  }
  there.bytes.becomes(move.offset, bytes);
  in_.bytes.becomes(move.local_offset, bytes);
}

/// A put of `bytes` failed.
void Actor::doubt(ByteModel& there, std::size_t offset, std::span<const std::byte> bytes) const {
  if (stage_.by_copy) {
    there.may_be_anything(offset, bytes.size());
  } else {
    there.may_become(offset, bytes);
  }
}

/// A get failed.
void Actor::doubt_in(const Move& move) {
  if (stage_.by_copy) {
    in_.bytes.may_be_anything(move.local_offset, move.length);
  } else {
    in_.bytes.may_become(move.local_offset, views_[move.peer].bytes, move.offset, move.length);
  }
}

/// After a get that failed: what is there now, stays.
void Actor::check_in(const Move& move) {
  const auto bytes = std::span{in_.memory}.subspan(move.local_offset, move.length);
  stage_.tally.compared(move.length);
  if (const auto at = in_.bytes.first_mismatch(move.local_offset, bytes)) {
    wrong("a get that failed left at byte " + std::to_string(*at) +
              " of its memory what was neither there nor at peer " + std::to_string(move.peer),
          move.peer);
  }
  in_.bytes.becomes(move.local_offset, bytes);
}

void Actor::give_new_content(Local& memory, std::size_t offset, std::size_t length) {
  std::minstd_rand generator{static_cast<unsigned>(++content_ * 64 + number_ + 1)};
  const auto bytes = std::span{memory.memory}.subspan(offset, length);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(generator() >> 8U); });
  memory.bytes.becomes(offset, bytes);
}

void Actor::register_again(Local& memory) {
  memory.buffer.reset();
  memory.buffer.emplace(stage_.worker.register_buffer(memory.memory));
}

void Actor::compare_local(const Local& memory, const char* which) {
  stage_.tally.compared(memory.memory.size());
  if (const auto at = memory.bytes.first_mismatch(0, memory.memory)) {
    wrong(std::string{"byte "} + std::to_string(*at) + " of the memory for " + which +
          " changed when no operation used it");
  }
}

bool Actor::compare_all() {
  compare_local(out_, "puts");
  compare_local(in_, "gets");
  for (std::size_t peer = 0; peer < views_.size() && !failed_; ++peer) {
    const Move all{.direction = Direction::get, .peer = peer, .length = share_size};
    // Another actor's fault may befall it.
    for (int tries = 0; tries < 20; ++tries) {
      prepare(all);
      const auto outcome =
          attempt("get all of peer " + std::to_string(peer), operation_timeout,
                  [&] { stage_.worker.get(local(all), remote(all), operation_timeout); });
      conclude(all, outcome);
      if (outcome) {
        break;
      }
      expect_fair(outcome, peer);
    }
  }
  return !failed_;
}

/// What may happen to anybody while peers are disturbed.
void Actor::expect_fair(const Outcome& outcome, std::size_t peer,
                        std::initializer_list<ErrorCode> also) {
  using enum ErrorCode;
  if (outcome) {
    return;
  }
  const ErrorCode code = outcome.error().code();
  const bool is_restarting = stage_.peers[peer]->restarts_begun() > views_[peer].life->number;
  const bool is_fair =
      code == queue_pair_reset || code == invalid_queue_pair_state ||
      (stage_.with_faults && (code == timeout || code == retry_exceeded || code == peer_lost)) ||
      (is_restarting &&
       (code == stale_peer || code == unreachable || code == remote_operation_error ||
        code == shutting_down || code == permission_denied));
  if (!is_fair && std::ranges::find(also, code) == also.end()) {
    wrong("an error that nothing explains: " + std::string{to_string(code)} + ": " +
              outcome.error().message(),
          peer);
  }
}

void Actor::note(std::string what) {
  history_.push_back(std::to_string(steps_) + ": " + std::move(what));
  if (history_.size() > history_length) {
    history_.pop_front();
  }
}

void Actor::wrong(const std::string& what, std::optional<std::size_t> peer) {
  failed_ = true;
  std::string text = "actor " + std::to_string(number_) + ", step " + std::to_string(steps_) +
                     ": " + what + "\nwhat it did before:";
  // Of all that it noted, what touched the peer in question.
  for (const std::string& line : history_) {
    if (!peer || line.contains("peer " + std::to_string(*peer)) || line.contains("->")) {
      text += "\n  " + line;
    }
  }
  stage_.tally.wrong(std::move(text));
}

}  // namespace danaus::stress
