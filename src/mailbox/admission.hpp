// Admission: who may have how many requests in flight. A request holds a Ticket from its arrival
// until its handler has ended.
// `mailbox` thread. Shared with the tickets: an abandoned handler gives its ticket back late,
// perhaps when the mailbox is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace danaus::mailbox {

class Admission : public std::enable_shared_from_this<Admission> {
 public:
  class Ticket;

  Admission(std::size_t max_in_flight, std::size_t max_per_client)
      : max_in_flight_{max_in_flight}, max_per_client_{max_per_client} {}

  /// A ticket for one request of `client` (a routing id) that came on `connection`; nothing where
  /// either bound is reached. Clients are told apart by connection, not by the identity they claim,
  /// so that nobody can use up what is another's.
  [[nodiscard]] std::optional<Ticket> admit(const std::string& client, int connection);

  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }

  /// Called each time the last ticket is given back.
  void on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }

 private:
  struct Client {
    std::size_t in_flight = 0;
    int connection = -1;
    /// Grows when another connection takes over the routing id (ROUTER_HANDOVER).
    std::uint64_t generation = 0;
  };
  using Clients = std::map<std::string, Client, std::less<>>;

  void give_back(Clients::iterator client) noexcept;

  std::size_t max_in_flight_;
  std::size_t max_per_client_;
  std::size_t in_flight_ = 0;
  Clients clients_;
  std::function<void()> on_idle_;
};

class Admission::Ticket {
 public:
  Ticket(Ticket&& other) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket();

  /// The routing id that the reply goes to.
  [[nodiscard]] const std::string& client() const noexcept { return client_->first; }
  [[nodiscard]] int connection() const noexcept { return connection_; }

  /// False once another connection was seen to have taken over the routing id: the reply is not
  /// its.
  [[nodiscard]] bool is_same_connection() const noexcept {
    return client_->second.generation == generation_;
  }

 private:
  friend class Admission;
  Ticket(std::shared_ptr<Admission> admission, Clients::iterator client)
      : admission_{std::move(admission)},
        client_{client},
        connection_{client->second.connection},
        generation_{client->second.generation} {}

  std::shared_ptr<Admission> admission_;
  Clients::iterator client_;
  int connection_;
  std::uint64_t generation_;
};

}  // namespace danaus::mailbox
