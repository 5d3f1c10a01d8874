#include "manager/connector.hpp"

#include <algorithm>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "manager/connect_errors.hpp"

namespace danaus::manager {
namespace {

/// Grows over restarts too, so that a peer that missed one is not confused by small numbers.
std::uint64_t first_attempt_number() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Connector::Connector(Connections& connections, PeerDirectory& directory, ConnectPatience patience,
                     Activity& activity)
    : connections_{connections},
      directory_{directory},
      patience_{patience},
      activity_{activity},
      next_number_{first_attempt_number()} {}

// ---- callers --------------------------------------------------------------------------------

asio::awaitable<std::expected<std::shared_ptr<QueuePairEntry>, Error>> Connector::obtain(
    Route route, Clock::time_point deadline) {
  const QueuePairKey& key = route.key;
  // A peer that nobody can dial is waited for as long as the caller cares to.
  const Clock::time_point patient_until =
      can_dial(route) ? std::min(deadline, Clock::now() + patience_.ready_patience) : deadline;
  for (int tries = 0; tries < max_rounds;) {
    const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
    if (entry && entry->usable()) {
      const auto lives = co_await lives_as_expected(route, entry, deadline);
      if (!lives) {
        co_return std::unexpected{lives.error()};
      }
      if (connections_.table.find(key) != entry || !entry->usable()) {
        continue;
      }
      if (*lives) {
        co_return entry;
      }
      const auto ticket = co_await connections_.order.enter(key);
      if (connections_.table.find(key) == entry) {
        ++connections_.counters.queue_pairs_replaced;
        connections_.table.remove(key, replaced_error(key, "the peer has restarted"));
      }
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) {
      co_return std::unexpected{timed_out(key)};
    }
    if (entry && entry->handshake.phase() == Phase::awaiting_ready && now < patient_until &&
        entry->state() == transport::QueuePairState::ready_to_send) {
      co_await entry->changed.wait_until(patient_until);
      continue;
    }
    if (!can_dial(route)) {
      co_return std::unexpected{cannot_dial(key)};
    }

    const std::shared_ptr<Attempt> attempt = join(route, deadline);
    // An attempt that ends no later than the caller's time is waited for to its very end, so that
    // nothing of it is left when the caller hears that it failed.
    const Clock::time_point until = deadline < attempt->deadline ? deadline : no_deadline;
    while (!attempt->finished && Clock::now() < until) {
      co_await attempt->changed.wait_until(until);
      const std::shared_ptr<QueuePairEntry> now_there = connections_.table.find(key);
      if (now_there && now_there->usable()) {
        break;
      }
    }
    if (!attempt->finished) {
      continue;
    }
    if (attempt->error) {
      // What only befell its first caller: too little time, or an old handle.
      const ErrorCode code = attempt->error->code();
      const bool was_hurried = attempt->cut_short && code == ErrorCode::timeout;
      const bool was_stale =
          code == ErrorCode::stale_peer && attempt->incarnation != route.incarnation;
      if (!(was_hurried || was_stale) || Clock::now() >= deadline) {
        co_return std::unexpected{*attempt->error};
      }
      continue;
    }
    ++tries;
  }
  co_return std::unexpected{replaced_error(key, "it broke as often as it was connected")};
}

std::shared_ptr<Connector::Attempt> Connector::join(const Route& route,
                                                    Clock::time_point deadline) {
  const QueuePairKey key = attempt_key(route.key);
  if (const auto found = attempts_.find(key); found != attempts_.end()) {
    return found->second;
  }
  const auto attempt = std::make_shared<Attempt>(connections_.link.context());
  const Clock::time_point longest = Clock::now() + patience_.connect_timeout;
  attempt->deadline = std::min(deadline, longest);
  attempt->cut_short = deadline < longest;
  attempt->incarnation = route.incarnation;
  attempts_.emplace(key, attempt);
  // On its own, so that it ends in order when its first caller goes away.
  asio::co_spawn(connections_.link.context(), run(activity_.begin(), attempt, route),
                 asio::detached);
  return attempt;
}

asio::awaitable<std::expected<bool, Error>> Connector::lives_as_expected(
    Route route, std::shared_ptr<QueuePairEntry> entry, Clock::time_point deadline) {
  using Verdict = std::expected<bool, Error>;
  if (!route.incarnation || entry->incarnation == route.incarnation) {
    co_return Verdict{true};
  }
  if (connections_.is_self(route.other)) {
    if (*route.incarnation == connections_.link.incarnation()) {
      co_return Verdict{true};
    }
    co_return std::unexpected{another_life(route.key)};
  }
  if (route.other.at.empty()) {
    const auto known = entry->probable_incarnation();
    if (known && known != route.incarnation) {
      co_return std::unexpected{another_life(route.key)};
    }
    co_return Verdict{true};
  }
  // Only the peer can say which life it lives: either the handle is old or this queue pair is.
  const auto verified = co_await directory_.verify(route.other, *route.incarnation, deadline);
  if (!verified) {
    co_return std::unexpected{verified.error()};
  }
  const auto known = entry->probable_incarnation();
  if (known && known != route.incarnation) {
    co_return Verdict{false};
  }
  entry->incarnation = route.incarnation;
  entry->peer_at = route.other.at;
  co_return Verdict{true};
}

bool Connector::can_dial(const Route& route) const {
  return connections_.is_self(route.other) || !route.other.at.empty();
}

void Connector::close(const QueuePairKey& key, const Error& reason) {
  const auto found = attempts_.find(attempt_key(key));
  if (found == attempts_.end()) {
    return;
  }
  const std::shared_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  attempt->closed = true;
  attempt->finished = true;
  attempt->error = reason;
  attempt->changed.notify();
}

void Connector::wake(const QueuePairKey& key) {
  if (const auto found = attempts_.find(attempt_key(key)); found != attempts_.end()) {
    found->second->changed.notify();
  }
}

QueuePairKey Connector::attempt_key(const QueuePairKey& key) const {
  const std::string& self = connections_.link.self().id;
  return key.peer == self ? std::min(key, key.mirrored(self)) : key;
}

}  // namespace danaus::manager
