#include "tests/stress/peer.hpp"

#include <stdexcept>

namespace danaus::stress {

Peer::Peer(std::string identity, std::uint64_t size, std::string path)
    : identity_{std::move(identity)}, size_{size}, path_{std::move(path)} {
  begin("tcp://127.0.0.1:*");
}

std::shared_ptr<const Life> Peer::life() const {
  const std::lock_guard lock{mutex_};
  return life_;
}

void Peer::restart(int signal) {
  const std::lock_guard lock{disturbing_};
  ++restarts_begun_;
  const std::string endpoint = life()->ref.at;
  process_->process().signal(signal);
  if (!process_->process().wait_for_exit()) {
    throw std::runtime_error{identity_ + " did not end by signal " + std::to_string(signal)};
  }
  try {
    begin(endpoint);
  } catch (const std::runtime_error&) {
    // Some connection's own port, given to it while nobody listened here.
    begin("tcp://127.0.0.1:*");
  }
}

void Peer::counted(unsigned life, bool for_certain) {
  const std::lock_guard lock{mutex_};
  ++(for_certain ? counts_[life].certain : counts_[life].perhaps);
}

Peer::Count Peer::count() const {
  const std::lock_guard lock{mutex_};
  const auto found = counts_.find(life_->number);
  return found == counts_.end() ? Count{} : found->second;
}

void Peer::begin(const std::string& bind) {
  process_.emplace(integration::WorkerOptions{.identity = identity_,
                                              .bind = bind,
                                              .buffers = {"data=" + std::to_string(size_)},
                                              .arguments = {"--soft-path", path_}});
  auto life =
      std::make_shared<const Life>(Life{.number = life_ ? life_->number + 1 : 0,
                                        .pid = process_->pid(),
                                        .ref = process_->ref(),
                                        .buffer = RemoteBuffer{process_->lookup(client_, "data")}});
  const std::lock_guard lock{mutex_};
  life_ = std::move(life);
}

}  // namespace danaus::stress
