// Self: who this mailbox is, as its messages say.
// Any thread; constant after start.
#pragma once

#include "messages/actor_ref.hpp"
#include "messages/envelope.hpp"

namespace danaus::mailbox {

struct Self {
  messages::ActorRef ref;
  messages::Incarnation incarnation{};

  [[nodiscard]] messages::Sender sender() const { return {ref.id, ref.at, incarnation}; }
};

}  // namespace danaus::mailbox
