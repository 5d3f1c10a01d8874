#include "transport/soft/requester.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

WorkCompletion completion_of(const WorkRequest& request, CompletionStatus status) noexcept {
  return {.id = request.id,
          .status = status,
          .opcode = completion_opcode(request.opcode),
          .byte_length = request.length};
}

}  // namespace

Requester::Requester(std::shared_ptr<const RegionTable> regions, std::uint32_t max_send_wr,
                     std::shared_ptr<EngineState> engine)
    : regions_{std::move(regions)},
      outstanding_{max_send_wr},
      completions_{max_send_wr},
      connection_{std::move(engine)} {}

void Requester::connect(std::vector<Route> routes, const Hello& hello) {
  connection_.set_routes(std::move(routes), hello);
}

void Requester::post(const WorkRequest& request) {
  if (failed_) {
    completions_.push(completion_of(request, CompletionStatus::work_request_flushed));
    return;
  }
  outstanding_.push(Outstanding{.request = request,
                                .sequence = 0,
                                .received = 0,
                                .copied = false,
                                .asked = true,
                                .grant = 0,
                                .region = nullptr,
                                .failure = std::nullopt});
  if (!connection_.is_open()) {
    dial_next();
  }
}

std::uint32_t Requester::free_slots() const noexcept {
  return static_cast<std::uint32_t>(outstanding_.capacity() - outstanding_.size() -
                                    completions_.size());
}

std::size_t Requester::take(std::span<WorkCompletion> completions) noexcept {
  const std::size_t count = std::min(completions.size(), completions_.size());
  for (WorkCompletion& completion : completions.first(count)) {
    completion = completions_.pop();
  }
  return count;
}

bool Requester::peer_hung_up() const noexcept {
  if (!connection_.is_open() || !outstanding_.empty()) {
    return false;
  }
  std::byte byte{};
  const ssize_t count = ::recv(connection_.socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count >= 0 || (!would_block(errno) && errno != EINTR);
}

// -- the connection -------------------------------------------------------------------------------

void Requester::dial_next() {
  send_broken_ = false;
  if (!connection_.dial_next()) {
    fail(CompletionStatus::retry_exceeded);
  }
}

void Requester::connection_lost() {
  if (!connection_.introduced() && connection_.has_next_route()) {
    dial_next();
    return;
  }
  fail(CompletionStatus::retry_exceeded);
}

void Requester::finish_front(CompletionStatus status) noexcept {
  const Outstanding finished = outstanding_.pop();
  completions_.push(completion_of(finished.request, status));
  if (sending_ > 0) {
    --sending_;
    count_sent(finished, -1);
  } else {
    sent_ = 0;
  }
}

void Requester::fail(CompletionStatus status) noexcept {
  if (failed_) {
    return;
  }
  failed_ = true;
  connection_.close(/*abandoned=*/!outstanding_.empty(), /*being_read=*/reading_);
  inbox_size_ = 0;
  chunk_remaining_ = 0;
  bool first = true;
  while (!outstanding_.empty()) {
    const auto own = outstanding_.front().failure;
    finish_front(first ? own.value_or(status) : CompletionStatus::work_request_flushed);
    first = false;
  }
  sending_ = 0;
  sent_ = 0;
}

}  // namespace danaus::transport::soft
