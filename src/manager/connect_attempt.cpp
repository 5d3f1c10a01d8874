// The part of Connector that carries out one attempt: offer, ask, conclude; again when it was
// crossed.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "manager/connect_errors.hpp"
#include "manager/connector.hpp"

namespace danaus::manager {

asio::awaitable<void> Connector::run(Activity::Ticket ticket, std::shared_ptr<Attempt> attempt,
                                     Route route) {
  static_cast<void>(ticket);
  ++connections_.counters.connect_attempts;
  std::expected<void, Error> outcome;
  try {
    if (connections_.is_self(route.other)) {
      outcome = co_await connect_locally(route);
    } else {
      outcome = co_await connect(attempt, route);
    }
  } catch (const std::exception& failure) {
    outcome = std::unexpected{Error{
        ErrorCode::internal, fmt::format("connecting {} to {} failed: {}", route.key.self_device,
                                         describe_peer(route.key), failure.what())}};
  }
  if (!outcome) {
    ++connections_.counters.connects_failed;
    Error reason = outcome.error();
    co_await discard(attempt, route.key, std::move(reason));
  }
  if (attempt->closed) {
    co_return;  // its callers know already, and another attempt may have its place
  }
  attempts_.erase(attempt_key(route.key));
  if (!outcome) {
    attempt->error = std::move(outcome).error();
  }
  attempt->finished = true;
  attempt->changed.notify();
  co_await connections_.sweep();
}

asio::awaitable<std::expected<void, Error>> Connector::connect(std::shared_ptr<Attempt> attempt,
                                                               Route route) {
  for (int round = 0; round < max_rounds && !attempt->closed; ++round) {
    auto offered = co_await offer(attempt, route);
    if (!offered) {
      co_return std::unexpected{std::move(offered).error()};
    }
    const messages::ConnectPeer connect_peer{.self_device = route.key.peer_device,
                                             .other_device = route.key.self_device,
                                             .transport = route.transport,
                                             .attempt = offered->number,
                                             .endpoint = offered->endpoint};
    auto answer = co_await ask(connections_.link, route.other, route.incarnation, connect_peer,
                               attempt->deadline);
    const auto concluded = co_await conclude(attempt, route, *offered, std::move(answer));
    if (!concluded) {
      co_return std::unexpected{concluded.error()};
    }
    if (*concluded == Round::connected) {
      co_return std::expected<void, Error>{};
    }

    // Crossed: the peer's newer attempt may be about to end well by itself.
    const auto patient_until = std::min(attempt->deadline, Clock::now() + patience_.ready_patience);
    const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(route.key);
    while (entry && connections_.table.find(route.key) == entry &&
           entry->handshake.phase() == Phase::awaiting_ready && Clock::now() < patient_until) {
      co_await entry->changed.wait_until(patient_until);
    }
    const std::shared_ptr<QueuePairEntry> settled = connections_.table.find(route.key);
    if (settled && settled->usable()) {
      co_return std::expected<void, Error>{};
    }
    if (Clock::now() >= attempt->deadline) {
      co_return std::unexpected{timed_out(route.key)};
    }
  }
  co_return std::unexpected{never_settled(route.key)};
}

asio::awaitable<std::expected<Connector::Offer, Error>> Connector::offer(
    std::shared_ptr<Attempt> attempt, Route route) {
  const QueuePairKey& key = route.key;
  const auto ticket = co_await connections_.order.enter(key);
  if (attempt->closed) {
    co_return std::unexpected{*attempt->error};
  }
  std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
  if (!entry || entry->state() == transport::QueuePairState::error) {
    auto created = co_await connections_.create(key);
    if (!created) {
      connections_.table.remove(key, created.error());
      co_return std::unexpected{std::move(created).error()};
    }
    if (entry) {
      ++connections_.counters.queue_pairs_replaced;
      connections_.table.replace(*entry, *std::move(created), replaced_error(key, "it was in ERR"));
      entry->handshake.queue_pair_renewed();
      entry->incarnation.reset();
    } else {
      entry = std::make_shared<QueuePairEntry>(connections_.link.context(), Phase::connecting);
      entry->operations = *std::move(created);
      connections_.table.insert(key, entry);
    }
  }
  entry->transport = route.transport;
  entry->peer_at = route.other.at;
  entry->handshake.attempt_started();

  auto ready = co_await connections_.initialize(entry->operations);
  auto endpoint = entry->operations->queue_pair().endpoint();
  if (ready && !endpoint) {
    ready = std::unexpected{endpoint.error()};
  }
  if (!ready) {
    connections_.table.remove(key, ready.error());
    co_return std::unexpected{std::move(ready).error()};
  }
  co_return Offer{next_number_++, entry, entry->operations, *std::move(endpoint)};
}

asio::awaitable<std::expected<Connector::Round, Error>> Connector::conclude(
    std::shared_ptr<Attempt> attempt, Route route, Offer offer,
    PeerAnswer<messages::ConnectPeerResult> answer) {
  using Result = std::expected<Round, Error>;
  const QueuePairKey& key = route.key;
  const auto ticket = co_await connections_.order.enter(key);
  const bool is_current =
      connections_.table.find(key) == offer.entry && offer.entry->operations == offer.operations;
  if (answer.incarnation) {
    directory_.seen(key.peer, *answer.incarnation);
  }
  if (attempt->closed || !is_current) {
    // Whatever the peer made of this offer leads nowhere.
    abandon(route, offer.number);
    if (attempt->closed) {
      co_return std::unexpected{*attempt->error};
    }
    co_return Result{Round::crossed};
  }
  QueuePairEntry& entry = *offer.entry;
  if (answer.reply &&
      answer.reply->state != static_cast<std::uint32_t>(transport::QueuePairState::ready_to_send)) {
    answer.reply = std::unexpected{
        Error{ErrorCode::invalid_queue_pair_state,
              fmt::format("{} answered with its queue pair in state {} in place of RTS (3)",
                          describe_peer(key), answer.reply->state),
              {{"peer", key.peer}}}};
    answer.incarnation.reset();  // what it did make is to be abandoned
  }
  if (!answer.reply) {
    co_return conclude_failure(route, offer, answer);
  }

  if (entry.wiring(answer.reply->endpoint) == Wiring::unconnected) {
    const auto connected = co_await connections_.connect(entry.operations, answer.reply->endpoint);
    if (!connected && connected.error().code() != ErrorCode::connect_conflict &&
        entry.state() != transport::QueuePairState::error) {
      abandon(route, offer.number);
      connections_.table.remove(key, connected.error());
      co_return std::unexpected{connected.error()};
    }
  }
  if (entry.wiring(answer.reply->endpoint) != Wiring::connected_to_it) {
    // Connected by the peer's crossing attempt, to a queue pair that it has replaced since: the
    // next round offers another.
    abandon(route, offer.number);
    entry.operations->abort(replaced_error(key, "the peer has replaced its end"));
    co_return Result{Round::crossed};
  }
  entry.incarnation = answer.incarnation ? answer.incarnation : answer.reply->incarnation;
  entry.handshake.attempt_succeeded();
  entry.changed.notify();
  const messages::Message ready =
      messages::ServiceMessage{messages::PeerReady{key.peer_device, key.self_device, offer.number}};
  connections_.link.cast(route.other, entry.incarnation, ready);
  co_return Result{Round::connected};
}

std::expected<Connector::Round, Error> Connector::conclude_failure(
    const Route& route, const Offer& offer, const PeerAnswer<messages::ConnectPeerResult>& answer) {
  const bool peer_answered = answer.incarnation.has_value();
  if (peer_answered && answer.reply.error().code() == ErrorCode::superseded) {
    ++connections_.counters.connects_superseded;
    return Round::crossed;
  }
  QueuePairEntry& entry = *offer.entry;
  if (entry.state() != transport::QueuePairState::error && entry.handshake.attempt_failed()) {
    entry.changed.notify();
    if (entry.usable()) {
      return Round::connected;
    }
    return std::unexpected{answer.reply.error()};
  }
  if (!peer_answered) {
    abandon(route, offer.number);
  }
  connections_.table.remove(route.key, answer.reply.error());
  return std::unexpected{answer.reply.error()};
}

asio::awaitable<void> Connector::discard(std::shared_ptr<Attempt> attempt, QueuePairKey key,
                                         Error reason) {
  const auto ticket = co_await connections_.order.enter(key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
  if (attempt->closed || !entry || entry->handshake.phase() != Phase::connecting) {
    co_return;  // gone, or somebody else's
  }
  if (entry->state() == transport::QueuePairState::error || !entry->handshake.attempt_failed()) {
    connections_.table.remove(key, reason);
  }
}

void Connector::abandon(const Route& route, std::uint64_t number) {
  const messages::Message abandon_peer = messages::ServiceMessage{
      messages::AbandonPeer{route.key.peer_device, route.key.self_device, number}};
  connections_.link.cast(route.other, route.incarnation, abandon_peer);
}

}  // namespace danaus::manager
