#include "mailbox/reply_queues.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace danaus::mailbox {
namespace {

/// Replies are up to 1 MiB: the number of them alone bounds no memory.
constexpr std::size_t max_bytes_per_client = std::size_t{16} << 20U;
constexpr std::size_t max_bytes_in_total = std::size_t{256} << 20U;

}  // namespace

void ReplyQueues::send(const std::string& client, int connection, EncodedReply reply) {
  if (queues_.contains(client)) {
    enqueue(client, connection, std::move(reply));
    return;
  }
  switch (try_send(client, reply)) {
    case SendOutcome::sent:
      counters_.add(Counter::replies_sent);
      break;
    case SendOutcome::full:
      enqueue(client, connection, std::move(reply));
      break;
    case SendOutcome::no_such_peer:
      counters_.add(Counter::replies_undeliverable);
      break;
  }
}

SendOutcome ReplyQueues::try_send(const std::string& client, const EncodedReply& reply) {
  return router_.send({bytes_of(client), reply.header, reply.body});
}

void ReplyQueues::enqueue(const std::string& client, int connection, EncodedReply reply) {
  Queue& queue = queues_[client];
  queue.connection = connection;
  const std::size_t size = reply.size();
  if (queue.replies.size() >= max_per_client_ || queue.bytes + size > max_bytes_per_client ||
      total_bytes_ + size > max_bytes_in_total) {
    if (queue.replies.empty()) {
      queues_.erase(client);
    }
    if (is_worth_a_line(counters_.add(Counter::replies_dropped))) {
      spdlog::warn(
          "dropped a reply: its client does not read, and its queue is full (counted as {})",
          to_string(Counter::replies_dropped));
    }
    return;
  }
  queue.bytes += size;
  total_bytes_ += size;
  queue.replies.push_back(std::move(reply));
  router_.wake_when_writable();
}

void ReplyQueues::flush() {
  for (auto entry = queues_.begin(); entry != queues_.end();) {
    const bool done = flush_queue(entry->first, entry->second);
    entry = done ? queues_.erase(entry) : std::next(entry);
  }
  if (!queues_.empty()) {
    router_.wake_when_writable();
  }
}

/// True when nothing is left to send.
bool ReplyQueues::flush_queue(const std::string& client, Queue& queue) {
  while (!queue.replies.empty()) {
    const EncodedReply& reply = queue.replies.front();
    const SendOutcome outcome = try_send(client, reply);
    if (outcome == SendOutcome::full) {
      return false;
    }
    if (outcome == SendOutcome::no_such_peer) {
      forget(queue, Counter::replies_undeliverable);
      return true;
    }
    counters_.add(Counter::replies_sent);
    queue.bytes -= reply.size();
    total_bytes_ -= reply.size();
    queue.replies.pop_front();
  }
  return true;
}

void ReplyQueues::seen(const std::string& client, int connection) {
  const auto found = queues_.find(client);
  if (found != queues_.end() && found->second.connection != connection) {
    forget(found->second, Counter::replies_to_replaced_clients);
    queues_.erase(found);
  }
}

void ReplyQueues::forget(const Queue& queue, Counter counter) {
  counters_.add(counter, queue.replies.size());
  total_bytes_ -= queue.bytes;
}

}  // namespace danaus::mailbox
