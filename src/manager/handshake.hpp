// Handshake: the state machine of one queue pair's connection, without its sockets: what an
// incoming message means for it, and what the own attempt's end means. `mailbox` thread; pure.
//
//   stepwise ─┐        own attempt starts               reply, QP in RTS
//   (nothing) ┼───────────────────────────▶ connecting ──────────────────▶ ready
//             │  ConnectPeer                    │ ConnectPeer with a newer     ▲
//             └───────────────▶ awaiting_ready ◀┘ endpoint; own attempt failed │
//                                     └────────── PeerReady ────────────────────┘
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "messages/bytes.hpp"

namespace danaus::manager {

enum class Phase : std::uint8_t {
  /// Made by InitializeQP; its user brings it to RTS by Connect.
  stepwise,
  /// An attempt of our own is under way.
  connecting,
  /// The peer connected it and has not yet said that its own end is in RTS.
  awaiting_ready,
  /// Both ends are in RTS.
  ready,
};

/// As GetStats shows it.
[[nodiscard]] std::string_view to_string(Phase phase) noexcept;

/// How a queue pair stands to the endpoint that a message brings.
enum class Wiring : std::uint8_t { unconnected, connected_to_it, connected_elsewhere, broken };

/// An attempt of the peer's: its number, and the life of the peer that its message claims.
struct PeerAttempt {
  std::uint64_t number = 0;
  std::optional<messages::Incarnation> incarnation;
  friend bool operator==(const PeerAttempt&, const PeerAttempt&) = default;
};

class Handshake {
 public:
  explicit Handshake(Phase phase) : phase_{phase} {}

  [[nodiscard]] Phase phase() const noexcept { return phase_; }

  /// Whether the peer's end is known to be in RTS, so that work may be posted.
  [[nodiscard]] bool confirmed() const noexcept {
    return phase_ == Phase::ready || (connected_by_peer_ && peer_is_ready_);
  }

  /// The peer's highest attempt; its incarnation is a claim, not verified.
  [[nodiscard]] const std::optional<PeerAttempt>& peer_attempt() const noexcept {
    return peer_attempt_;
  }

  // ---- messages of the peer -----------------------------------------------------------------

  enum class Answer : std::uint8_t {
    /// Connect the queue pair that is there.
    connect,
    /// It is connected to this endpoint already.
    repeat,
    /// The queue pair goes to ERR and a new one takes its place.
    replace,
    /// The attempt is older than what was answered already.
    superseded,
  };

  /// What a ConnectPeer means. Changes nothing.
  [[nodiscard]] Answer judge(const PeerAttempt& attempt, Wiring wiring) const noexcept;

  /// The queue pair is now connected as `attempt` asked, with or without having been replaced.
  void connected_by_peer(const PeerAttempt& attempt, bool replaced) noexcept;

  /// PeerReady. False when it is about another attempt than the one that is connected.
  bool peer_is_ready(const PeerAttempt& attempt) noexcept;

  /// AbandonPeer: whether the queue pair is connected to what the peer has thrown away.
  [[nodiscard]] bool abandoned_by(const PeerAttempt& attempt) const noexcept;

  // ---- the own attempt ------------------------------------------------------------------------

  void attempt_started() noexcept { phase_ = Phase::connecting; }
  void attempt_succeeded() noexcept { phase_ = Phase::ready; }

  /// A fresh queue pair took the place of the old one for the own attempt.
  void queue_pair_renewed() noexcept;

  /// True when the queue pair stays: the peer's own crossing attempt has connected it.
  [[nodiscard]] bool attempt_failed() noexcept;

 private:
  Phase phase_;
  std::optional<PeerAttempt> peer_attempt_;
  /// The queue pair is connected as `peer_attempt_` asked.
  bool connected_by_peer_ = false;
  bool peer_is_ready_ = false;
};

}  // namespace danaus::manager
