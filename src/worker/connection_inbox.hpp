// ConnectionInbox: where the connections that one thread asked for at once arrive, in the order in
// which they are made, while that thread does other things. Filled by the `mailbox` thread, emptied
// by the one that asked.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <utility>
#include <vector>

#include "manager/manager.hpp"
#include "worker/blocking_calls.hpp"

namespace danaus::worker {

using Connected = std::expected<manager::QueuePairHandle, Error>;

class ConnectionInbox final : public BlockingCall {
 public:
  /// Throws Error: ResourceExhausted.
  ConnectionInbox();
  ~ConnectionInbox() override;
  ConnectionInbox(const ConnectionInbox&) = delete;
  ConnectionInbox& operator=(const ConnectionInbox&) = delete;

  struct Arrival {
    std::size_t which = 0;
    Connected connected;
  };

  void deliver(std::size_t which, Connected connected);
  /// Nothing more is worth waiting for.
  void end(const Error& reason) override;

  /// What has arrived since the last look. Never waits.
  [[nodiscard]] std::vector<Arrival> take();
  /// Why nothing more arrives; looked at after `take`.
  [[nodiscard]] std::optional<Error> ended();

  /// Readable while there is something to take, and for good once it has ended.
  [[nodiscard]] int fd() const noexcept { return event_; }

 private:
  void signal() const noexcept;

  int event_;
  std::vector<Arrival> arrivals_;
};

}  // namespace danaus::worker
