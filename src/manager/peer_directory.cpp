#include "manager/peer_directory.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace danaus::manager {

asio::awaitable<std::expected<std::vector<messages::DeviceInfo>, Error>> PeerDirectory::devices(
    messages::ActorRef peer, std::optional<messages::Incarnation> incarnation,
    Clock::time_point deadline) {
  for (;;) {
    if (const Known* const remembered = known(peer, incarnation)) {
      co_return remembered->devices;
    }
    const QuestionKey key{messages::to_string(peer), incarnation};
    if (const auto asked = questions_.find(key); asked != questions_.end()) {
      const std::shared_ptr<Question> question = asked->second;
      while (!question->finished && Clock::now() < deadline) {
        co_await question->done.wait_until(deadline);
      }
      const bool asker_gave_up = question->finished && !question->answer &&
                                 question->answer.error().code() == ErrorCode::timeout;
      if (Clock::now() >= deadline) {
        co_return std::unexpected{Error{
            ErrorCode::timeout,
            fmt::format("{} did not say in time which devices it has; try again with more time",
                        peer.id),
            {{"peer", peer.id}}}};
      }
      if (asker_gave_up) {
        continue;  // its deadline was not ours
      }
      co_return question->answer;
    }

    const auto question = std::make_shared<Question>(link_.context());
    questions_.emplace(key, question);
    messages::ListDevices list_devices;
    std::optional<messages::Incarnation> life;
    try {
      auto answer = co_await ask(link_, peer, incarnation, list_devices, deadline);
      question->answer = std::move(answer.reply);
      life = answer.incarnation;
    } catch (const std::exception& failure) {
      question->answer = std::unexpected{
          Error{ErrorCode::internal,
                fmt::format("asking {} for its devices failed: {}", peer.id, failure.what())}};
    }
    if (question->answer) {
      if (known_.size() >= max_remembered_peers) {
        known_.clear();
      }
      known_.insert_or_assign(peer.id, Known{peer.at, life, *question->answer});
    }
    questions_.erase(key);
    question->finished = true;
    question->done.notify();
    co_return question->answer;
  }
}

asio::awaitable<std::expected<void, Error>> PeerDirectory::verify(messages::ActorRef peer,
                                                                  messages::Incarnation incarnation,
                                                                  Clock::time_point deadline) {
  forget(peer.id);
  auto answer = co_await devices(std::move(peer), incarnation, deadline);
  if (!answer) {
    co_return std::unexpected{std::move(answer).error()};
  }
  co_return std::expected<void, Error>{};
}

void PeerDirectory::seen(const std::string& peer, const messages::Incarnation& incarnation) {
  const auto found = known_.find(peer);
  if (found != known_.end() && found->second.incarnation != incarnation) {
    known_.erase(found);
  }
}

const PeerDirectory::Known* PeerDirectory::known(
    const messages::ActorRef& peer, const std::optional<messages::Incarnation>& incarnation) const {
  const auto found = known_.find(peer.id);
  if (found == known_.end() || found->second.at != peer.at ||
      (incarnation && found->second.incarnation != incarnation)) {
    return nullptr;
  }
  return &found->second;
}

}  // namespace danaus::manager
