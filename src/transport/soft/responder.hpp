// Responder: the passive side's share on one thread: an io_context and the connections on it.
// Everything runs on that thread, but for what is marked otherwise.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_set>

#include <asio/executor_work_guard.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>

#include "transport/soft/engine_state.hpp"

namespace danaus::transport::soft {

class ResponderConnection;

class Responder {
 public:
  explicit Responder(std::shared_ptr<EngineState> engine);
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();

  /// Any thread.
  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

  /// Serves a connection that was accepted into `context`. Any thread.
  void adopt(asio::generic::stream_protocol::socket socket);

  /// Closes every connection and lets the context run out. Any thread.
  void stop();

  // -- for its connections --

  /// A connection that has not said who it is. The oldest of too many is closed.
  void greet(ResponderConnection& connection);
  /// It has.
  void acquaint(ResponderConnection& connection) noexcept;
  void leave(ResponderConnection& connection) noexcept;
  /// Whether nobody else is kept waiting by one of its connections.
  [[nodiscard]] bool serves_only_one() const noexcept { return connections_.size() == 1; }

 private:
  // Only one thread runs the context: asio need not wake another for what it queues.
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::shared_ptr<EngineState> engine_;
  std::unordered_set<ResponderConnection*> connections_;
  /// Oldest first.
  std::list<ResponderConnection*> strangers_;
  bool stopped_ = false;
};

}  // namespace danaus::transport::soft
