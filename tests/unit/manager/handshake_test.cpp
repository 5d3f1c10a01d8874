// The state machine of one queue pair's connection, without anything around it.
#include "manager/handshake.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace danaus::manager {
namespace {

using Answer = Handshake::Answer;

const messages::Incarnation first_life = {std::byte{1}};
const messages::Incarnation second_life = {std::byte{2}};

/// The peer's highest attempt in every test: number 5 of its first life.
const PeerAttempt seen{5, first_life};

Handshake answered() {
  Handshake handshake{Phase::awaiting_ready};
  handshake.connected_by_peer(seen, false);
  return handshake;
}

TEST(Handshake, JudgesEveryAttemptAgainstEveryWiring) {
  struct Row {
    PeerAttempt attempt;
    Wiring wiring;
    Answer answer;
  };
  const PeerAttempt older{4, first_life};
  const PeerAttempt newer{6, first_life};
  const PeerAttempt other_life_lower{1, second_life};
  const PeerAttempt no_life{1, std::nullopt};
  const std::vector<Row> table{
      {older, Wiring::unconnected, Answer::superseded},
      {older, Wiring::connected_to_it, Answer::repeat},
      {older, Wiring::connected_elsewhere, Answer::superseded},
      {older, Wiring::broken, Answer::superseded},
      {seen, Wiring::unconnected, Answer::superseded},
      {seen, Wiring::connected_to_it, Answer::repeat},
      {seen, Wiring::connected_elsewhere, Answer::superseded},
      {seen, Wiring::broken, Answer::superseded},
      {newer, Wiring::unconnected, Answer::connect},
      {newer, Wiring::connected_to_it, Answer::repeat},
      {newer, Wiring::connected_elsewhere, Answer::replace},
      {newer, Wiring::broken, Answer::replace},
      {other_life_lower, Wiring::unconnected, Answer::connect},
      {other_life_lower, Wiring::connected_to_it, Answer::repeat},
      {other_life_lower, Wiring::connected_elsewhere, Answer::replace},
      {other_life_lower, Wiring::broken, Answer::replace},
      {no_life, Wiring::connected_elsewhere, Answer::replace},
  };
  const Handshake handshake = answered();
  for (const Row& row : table) {
    EXPECT_EQ(handshake.judge(row.attempt, row.wiring), row.answer)
        << "attempt " << row.attempt.number << ", wiring " << static_cast<int>(row.wiring);
  }
}

TEST(Handshake, TakesAnyAttemptWhenNoneWasAnsweredYet) {
  const Handshake handshake{Phase::stepwise};
  EXPECT_EQ(handshake.judge({0, first_life}, Wiring::unconnected), Answer::connect);
  EXPECT_EQ(handshake.judge({0, first_life}, Wiring::connected_elsewhere), Answer::replace);
  EXPECT_EQ(handshake.judge({0, first_life}, Wiring::broken), Answer::replace);
}

TEST(Handshake, IsConfirmedOnlyByThePeerReadyOfTheAttemptThatConnectedIt) {
  Handshake handshake = answered();
  EXPECT_FALSE(handshake.confirmed());
  EXPECT_FALSE(handshake.peer_is_ready({4, first_life}));
  EXPECT_FALSE(handshake.peer_is_ready({5, second_life}));
  EXPECT_FALSE(handshake.confirmed());
  EXPECT_TRUE(handshake.peer_is_ready(seen));
  EXPECT_TRUE(handshake.confirmed());
  EXPECT_EQ(handshake.phase(), Phase::ready);
}

TEST(Handshake, MovesOnFromEveryPhaseWhenThePeerConnects) {
  for (const auto& [before, replaced, after] : std::vector<std::tuple<Phase, bool, Phase>>{
           {Phase::stepwise, false, Phase::awaiting_ready},
           {Phase::stepwise, true, Phase::awaiting_ready},
           {Phase::connecting, false, Phase::connecting},
           {Phase::connecting, true, Phase::awaiting_ready},
           {Phase::awaiting_ready, false, Phase::awaiting_ready},
           {Phase::awaiting_ready, true, Phase::awaiting_ready},
           {Phase::ready, false, Phase::ready},
           {Phase::ready, true, Phase::awaiting_ready}}) {
    Handshake handshake{before};
    handshake.connected_by_peer(seen, replaced);
    EXPECT_EQ(handshake.phase(), after) << to_string(before) << (replaced ? ", replaced" : "");
    EXPECT_EQ(handshake.peer_attempt(), seen);
  }
}

TEST(Handshake, KeepsItsConfirmationWhenAnOldAttemptRepeatsTheSameEndpoint) {
  Handshake handshake = answered();
  ASSERT_TRUE(handshake.peer_is_ready(seen));
  handshake.connected_by_peer({4, first_life}, false);
  EXPECT_EQ(handshake.peer_attempt(), seen);
  EXPECT_TRUE(handshake.confirmed());
}

TEST(Handshake, LosesItsConfirmationWithItsQueuePair) {
  Handshake handshake = answered();
  ASSERT_TRUE(handshake.peer_is_ready(seen));
  handshake.connected_by_peer({6, first_life}, true);
  EXPECT_FALSE(handshake.confirmed());
  EXPECT_FALSE(handshake.peer_is_ready(seen)) << "the PeerReady of the old queue pair";
}

TEST(Handshake, ACrossedAttemptThatFailsLeavesThePeersConnection) {
  Handshake handshake{Phase::connecting};
  handshake.connected_by_peer(seen, false);
  EXPECT_TRUE(handshake.attempt_failed());
  EXPECT_EQ(handshake.phase(), Phase::awaiting_ready);
}

TEST(Handshake, ACrossedAttemptThatFailsAfterPeerReadyIsReady) {
  Handshake handshake{Phase::connecting};
  handshake.connected_by_peer(seen, false);
  ASSERT_TRUE(handshake.peer_is_ready(seen));
  EXPECT_EQ(handshake.phase(), Phase::connecting) << "the own attempt is still under way";
  EXPECT_TRUE(handshake.confirmed());
  EXPECT_TRUE(handshake.attempt_failed());
  EXPECT_EQ(handshake.phase(), Phase::ready);
}

TEST(Handshake, AnAttemptOfItsOwnThatFailsLeavesNothing) {
  Handshake handshake{Phase::connecting};
  EXPECT_FALSE(handshake.attempt_failed());
}

TEST(Handshake, IsAbandonedOnlyByTheAttemptThatConnectedIt) {
  Handshake handshake = answered();
  EXPECT_TRUE(handshake.abandoned_by(seen));
  EXPECT_FALSE(handshake.abandoned_by({4, first_life}));
  EXPECT_FALSE(handshake.abandoned_by({6, first_life}));
  EXPECT_FALSE(handshake.abandoned_by({5, second_life}));
  handshake.queue_pair_renewed();
  EXPECT_FALSE(handshake.abandoned_by(seen)) << "what it connected is gone";
  EXPECT_EQ(handshake.judge(seen, Wiring::unconnected), Answer::superseded)
      << "the attempt is still the highest one seen";
}

}  // namespace
}  // namespace danaus::manager
