#include "transport/soft/responder.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>

#include "transport/soft/responder_connection.hpp"

namespace danaus::transport::soft {
namespace {

// Connections on one thread that have not said a valid hello. Legitimate ones say it at once, so a
// storm of a thousand handshakes stays far below this; beyond it somebody is holding us up.
constexpr std::size_t max_strangers = 512;

}  // namespace

Responder::Responder(std::shared_ptr<EngineState> engine) : engine_{std::move(engine)} {}

Responder::~Responder() = default;

void Responder::adopt(asio::generic::stream_protocol::socket socket) {
  auto connection = std::make_shared<ResponderConnection>(std::move(socket), *this, engine_);
  asio::co_spawn(context_, ResponderConnection::serve(std::move(connection)),
                 [](const std::exception_ptr& failure) {
                   // A connection handles what a peer can do to it; anything else ends the thread,
                   // whose keeper reports it.
                   if (failure) {
                     std::rethrow_exception(failure);
                   }
                 });
}

void Responder::stop() {
  asio::post(context_, [this] {
    stopped_ = true;
    work_.reset();
    const std::vector<ResponderConnection*> all{connections_.begin(), connections_.end()};
    for (ResponderConnection* connection : all) {
      connection->close();
    }
  });
}

void Responder::greet(ResponderConnection& connection) {
  connections_.insert(&connection);
  if (stopped_) {
    connection.close();
    return;
  }
  strangers_.push_back(&connection);
  if (strangers_.size() > max_strangers) {
    strangers_.front()->expire();
  }
}

void Responder::acquaint(ResponderConnection& connection) noexcept {
  std::erase(strangers_, &connection);
}

void Responder::leave(ResponderConnection& connection) noexcept {
  std::erase(strangers_, &connection);
  connections_.erase(&connection);
}

}  // namespace danaus::transport::soft
