#include "manager/handshake.hpp"

namespace danaus::manager {

std::string_view to_string(Phase phase) noexcept {
  switch (phase) {
    case Phase::stepwise:
      return "stepwise";
    case Phase::connecting:
      return "connecting";
    case Phase::awaiting_ready:
      return "awaiting_ready";
    case Phase::ready:
      return "ready";
  }
  return "unknown";
}

Handshake::Answer Handshake::judge(const PeerAttempt& attempt, Wiring wiring) const noexcept {
  // Numbers of two lives do not compare: another life is a newer one.
  const bool newer = !peer_attempt_ || peer_attempt_->incarnation != attempt.incarnation ||
                     attempt.number > peer_attempt_->number;
  switch (wiring) {
    case Wiring::connected_to_it:
      return Answer::repeat;
    case Wiring::unconnected:
      return newer ? Answer::connect : Answer::superseded;
    case Wiring::connected_elsewhere:
    case Wiring::broken:
      return newer ? Answer::replace : Answer::superseded;
  }
  return Answer::superseded;
}

void Handshake::connected_by_peer(const PeerAttempt& attempt, bool replaced) noexcept {
  if (!replaced && peer_attempt_ && peer_attempt_->incarnation == attempt.incarnation &&
      attempt.number < peer_attempt_->number) {
    return;  // an old message that asks for what a newer one already got
  }
  const bool another = !connected_by_peer_ || peer_attempt_ != attempt;
  peer_attempt_ = attempt;
  connected_by_peer_ = true;
  if (replaced || another) {
    peer_is_ready_ = false;
  }
  // A pending attempt of our own goes on with the queue pair that it offered; when that was
  // replaced, the attempt has nothing left to conclude.
  if (replaced || phase_ == Phase::stepwise) {
    phase_ = Phase::awaiting_ready;
  }
}

bool Handshake::peer_is_ready(const PeerAttempt& attempt) noexcept {
  if (!connected_by_peer_ || peer_attempt_ != attempt) {
    return false;
  }
  peer_is_ready_ = true;
  if (phase_ == Phase::awaiting_ready) {
    phase_ = Phase::ready;
  }
  return true;
}

bool Handshake::abandoned_by(const PeerAttempt& attempt) const noexcept {
  return connected_by_peer_ && peer_attempt_ == attempt;
}

void Handshake::queue_pair_renewed() noexcept {
  connected_by_peer_ = false;
  peer_is_ready_ = false;
}

bool Handshake::attempt_failed() noexcept {
  if (!connected_by_peer_) {
    return false;
  }
  phase_ = peer_is_ready_ ? Phase::ready : Phase::awaiting_ready;
  return true;
}

}  // namespace danaus::manager
