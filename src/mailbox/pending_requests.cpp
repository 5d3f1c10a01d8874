#include "mailbox/pending_requests.hpp"

#include <utility>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

namespace danaus::mailbox {

PendingRequest* PendingRequests::find(std::uint64_t id) noexcept {
  const auto found = waiting_.find(id);
  return found == waiting_.end() ? nullptr : found->second;
}

void PendingRequests::fail_all(const Error& error) {
  for (const auto& [id, request] : waiting_) {
    request->complete(PeerReply{.body = std::unexpected{error}, .incarnation = std::nullopt});
  }
}

PendingRequest::PendingRequest(std::shared_ptr<PendingRequests> table, std::uint64_t id,
                               const asio::any_io_executor& executor,
                               std::optional<messages::Incarnation> incarnation)
    : table_{std::move(table)}, id_{id}, timer_{executor}, incarnation_{incarnation} {
  table_->waiting_.emplace(id_, this);
}

PendingRequest::~PendingRequest() {
  table_->waiting_.erase(id_);
}

void PendingRequest::complete(PeerReply reply) {
  if (!reply_) {
    reply_ = std::move(reply);
    timer_.cancel();
  }
}

asio::awaitable<std::optional<PeerReply>> PendingRequest::wait(Clock::time_point deadline) {
  if (!reply_) {
    timer_.expires_at(deadline);
    std::error_code ignored;
    auto token = asio::redirect_error(asio::use_awaitable, ignored);
    co_await timer_.async_wait(token);
  }
  co_return std::move(reply_);
}

}  // namespace danaus::mailbox
