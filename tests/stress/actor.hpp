// Actor: one thread's share of a stress run: it chooses operations from its seed, carries them out
// on ranges that are its own at every peer, and compares every byte with its model. Faults that it
// injects befall the other actors too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "danaus/danaus.hpp"
#include "tests/stress/byte_model.hpp"
#include "tests/stress/peer.hpp"
#include "tests/stress/tally.hpp"
#include "tests/stress/watchdog.hpp"

namespace danaus::stress {

/// What all actors use.
struct Stage {
  Worker& worker;
  std::vector<std::unique_ptr<Peer>>& peers;
  Tally& tally;
  Watchdog& watchdog;
  /// Whether peers are stopped, killed and started anew.
  bool with_faults = true;
  /// Operations are copied within the host: one that fails may leave at its destination what its
  /// source has become since, and a get may need nothing of its peer.
  bool by_copy = false;
};

/// An actor's bytes in each peer's buffer; between two shares lie bytes that nobody writes.
inline constexpr std::size_t share_size = std::size_t{1} << 20U;
inline constexpr std::size_t margin_size = 4096;

/// A number in the first margin that all actors add to.
inline constexpr std::size_t counter_size = 8;

[[nodiscard]] constexpr std::size_t share_offset(unsigned actor) noexcept {
  return margin_size + actor * (share_size + margin_size);
}

/// Ends what is not over; with peers that are disturbed, sanitizers and two cores.
inline constexpr std::chrono::milliseconds operation_timeout{20'000};
/// For what cannot succeed.
inline constexpr std::chrono::milliseconds short_timeout{200};

class Actor {
 public:
  Actor(Stage stage, unsigned number, std::uint64_t seed);

  /// One operation or fault, chosen from the seed alone. False: something was wrong, and the tally
  /// knows it.
  [[nodiscard]] bool step();
  /// Compares everything that is its own.
  [[nodiscard]] bool compare_all();

  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  enum class Direction : std::uint8_t { put, get };

  /// Its share of one peer.
  struct View {
    std::shared_ptr<const Life> life;
    ByteModel bytes{share_size};
  };
  /// Memory of its own, registered over and over.
  struct Local {
    std::vector<std::byte> memory;
    ByteModel bytes{share_size};
    std::optional<Buffer> buffer;
  };
  /// One transfer: the same offset is used in the local memory unless `local_offset` says else.
  struct Move {
    Direction direction = Direction::put;
    std::size_t peer = 0;
    std::size_t offset = 0;
    std::size_t local_offset = 0;
    std::size_t length = 0;
  };
  using Outcome = std::expected<void, Error>;

  // -- choosing
  // ------------------------------------------------------------------------------------
  [[nodiscard]] std::uint64_t choose(std::uint64_t below);
  [[nodiscard]] std::size_t choose_length();
  [[nodiscard]] Move choose_move();
  [[nodiscard]] std::vector<Move> choose_moves(std::size_t most);

  // -- steps (actor_steps.cpp)
  // -------------------------------------------------------------------------
  void move_one();
  void move_in_a_batch();
  void move_posted();
  void use_atomics();
  void release_while_moving();
  void use_a_remote_registration();
  void use_a_forged_key();
  void close_connection();
  void look_from_outside();
  void move_to_a_stopped_peer();
  void restart_a_peer();

  // -- doing and comparing
  // ---------------------------------------------------------------------------
  /// The peer as it lives now; a new life has new memory.
  View& view(std::size_t peer);
  [[nodiscard]] RemoteBuffer remote(const Move& move);
  [[nodiscard]] BufferSlice local(const Move& move);
  Local& local_of(const Move& move) { return move.direction == Direction::put ? out_ : in_; }
  void prepare(const Move& move);
  void conclude(const Move& move, const Outcome& outcome);
  void doubt(ByteModel& there, std::size_t offset, std::span<const std::byte> bytes) const;
  void doubt_in(const Move& move);
  void check_in(const Move& move);
  void give_new_content(Local& memory, std::size_t offset, std::size_t length);
  void register_again(Local& memory);
  void compare_local(const Local& memory, const char* which);
  void expect_fair(const Outcome& outcome, std::size_t peer,
                   std::initializer_list<ErrorCode> also = {});
  /// Runs `body`, watched; what it throws is the outcome.
  template <class Body>
  [[nodiscard]] Outcome attempt(std::string what, std::chrono::milliseconds timeout,
                                const Body& body);
  void poll_until_over(QueuePair& queue_pair, std::map<std::uint64_t, std::size_t>& posted,
                       std::vector<Outcome>& outcomes);
  [[nodiscard]] static std::string describe(const Move& move);
  void note(std::string what);
  /// With what it did before; to that peer alone, if one is named.
  void wrong(const std::string& what, std::optional<std::size_t> peer = std::nullopt);

  Stage stage_;
  const unsigned number_;
  std::mt19937_64 random_;
  std::uint64_t steps_ = 0;
  std::uint64_t content_ = 0;
  std::vector<View> views_;
  Local out_;
  Local in_;
  std::deque<std::string> history_;
  bool failed_ = false;
};

template <class Body>
Actor::Outcome Actor::attempt(std::string what, std::chrono::milliseconds timeout,
                              const Body& body) {
  note(what);
  Outcome outcome;
  try {
    const Watchdog::Watch watch{stage_.watchdog, std::move(what), timeout};
    body();
  } catch (const Error& error) {
    outcome = std::unexpected{error};
    stage_.tally.saw(error);
    note("  -> " + std::string{to_string(error.code())} + ": " + error.message());
  }
  return outcome;
}

}  // namespace danaus::stress
