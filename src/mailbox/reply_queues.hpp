// ReplyQueues: sends replies to clients, and keeps those that a slow client does not take yet. A
// bounded queue for each client; what goes beyond is dropped and counted, as a ROUTER would drop it
// without a word.
// `mailbox` thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "mailbox/counters.hpp"
#include "mailbox/zmq_socket.hpp"
#include "messages/bytes.hpp"

namespace danaus::mailbox {

/// A reply as it goes on the wire.
struct EncodedReply {
  messages::Bytes header;
  messages::Bytes body;

  [[nodiscard]] std::size_t size() const noexcept { return header.size() + body.size(); }
};

class ReplyQueues {
 public:
  ReplyQueues(ZmqSocket& router, std::size_t max_per_client, Counters& counters)
      : router_{router}, max_per_client_{max_per_client}, counters_{counters} {}

  /// Sends to `client` (a routing id) on `connection`, or queues.
  void send(const std::string& client, int connection, EncodedReply reply);

  /// Sends what has room by now. Call when the socket may have become writable.
  void flush();

  /// A message of `client` came on `connection`: replies queued for another connection of that
  /// routing id are not for it, and are dropped.
  void seen(const std::string& client, int connection);

 private:
  struct Queue {
    std::deque<EncodedReply> replies;
    std::size_t bytes = 0;
    int connection = -1;
  };

  SendOutcome try_send(const std::string& client, const EncodedReply& reply);
  void enqueue(const std::string& client, int connection, EncodedReply reply);
  bool flush_queue(const std::string& client, Queue& queue);
  void forget(const Queue& queue, Counter counter);

  ZmqSocket& router_;
  std::size_t max_per_client_;
  Counters& counters_;
  /// Only clients with something queued.
  std::map<std::string, Queue> queues_;
  std::size_t total_bytes_ = 0;
};

}  // namespace danaus::mailbox
