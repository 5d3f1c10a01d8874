#include "mailbox/admission.hpp"

namespace danaus::mailbox {

std::optional<Admission::Ticket> Admission::admit(const std::string& client, int connection) {
  auto found = clients_.find(client);
  if (found != clients_.end() && found->second.connection != connection) {
    found->second.connection = connection;
    ++found->second.generation;
  }
  if (in_flight_ >= max_in_flight_) {
    return std::nullopt;
  }
  if (found == clients_.end()) {
    if (max_per_client_ == 0) {
      return std::nullopt;
    }
    found = clients_.emplace(client, Client{.connection = connection}).first;
  } else if (found->second.in_flight >= max_per_client_) {
    return std::nullopt;
  }
  ++in_flight_;
  ++found->second.in_flight;
  return Ticket{shared_from_this(), found};
}

void Admission::give_back(Clients::iterator client) noexcept {
  --in_flight_;
  if (--client->second.in_flight == 0) {
    clients_.erase(client);
  }
  if (in_flight_ == 0 && on_idle_) {
    on_idle_();
  }
}

Admission::Ticket::~Ticket() {
  if (admission_) {
    admission_->give_back(client_);
  }
}

}  // namespace danaus::mailbox
