// KeySequencer: lets handlers that work on one key (a queue pair's) do so one after another, in the
// order in which they came. A ticket is held over local device work, never over an await on a peer.
// `mailbox` thread.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "manager/signal.hpp"

namespace danaus::manager {

template <class Key>
class KeySequencer {
 private:
  struct Place {
    explicit Place(asio::io_context& context) : turn{context} {}
    Signal turn;
  };

 public:
  /// The right to work on one key; the next in line has it when this one goes. Must not outlive the
  /// sequencer.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept
        : sequencer_{std::exchange(other.sequencer_, nullptr)},
          key_{std::move(other.key_)},
          place_{std::move(other.place_)} {}
    Ticket& operator=(Ticket&&) = delete;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() {
      if (sequencer_ != nullptr) {
        sequencer_->leave(key_, place_);
      }
    }

   private:
    friend class KeySequencer;
    Ticket(KeySequencer* sequencer, Key key, std::shared_ptr<Place> place)
        : sequencer_{sequencer}, key_{std::move(key)}, place_{std::move(place)} {}

    KeySequencer* sequencer_;
    Key key_;
    // Shared with the line: whoever leaves wakes the next place.
    std::shared_ptr<Place> place_;
  };

  explicit KeySequencer(asio::io_context& context) : context_{context} {}
  KeySequencer(const KeySequencer&) = delete;
  KeySequencer& operator=(const KeySequencer&) = delete;
  ~KeySequencer() = default;

  /// Joins the line of `key` at once, returns when its turn has come.
  asio::awaitable<Ticket> enter(Key key) {
    auto place = std::make_shared<Place>(context_);
    Line& line = lines_[key];
    line.push_back(place);
    Ticket ticket{this, key, place};
    while (line.front() != place) {
      co_await place->turn.wait_until(no_deadline);
    }
    co_return std::move(ticket);
  }

  /// Keys that somebody works on or waits for.
  [[nodiscard]] std::size_t busy_keys() const noexcept { return lines_.size(); }

 private:
  using Line = std::deque<std::shared_ptr<Place>>;

  void leave(const Key& key, const std::shared_ptr<Place>& place) {
    const auto found = lines_.find(key);
    Line& line = found->second;
    line.erase(std::ranges::find(line, place));
    if (line.empty()) {
      lines_.erase(found);
    } else {
      line.front()->turn.notify();
    }
  }

  asio::io_context& context_;
  std::map<Key, Line> lines_;
};

}  // namespace danaus::manager
