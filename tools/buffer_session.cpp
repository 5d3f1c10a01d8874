#include "tools/buffer_session.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "messages/bytes.hpp"
#include "messages/codec.hpp"
#include "tools/json_output.hpp"
#include "tools/printable.hpp"
#include "tools/progress_bar.hpp"
#include "tools/quantity.hpp"

namespace danaus::tools {
namespace {

RemoteBuffer look_up(Worker& worker, const messages::BufferRef& target,
                     std::chrono::milliseconds timeout) {
  const messages::Message lookup = messages::ServiceMessage{messages::LookupBuffer{target.buffer}};
  messages::ReplyBody reply = worker.request(target.owner, lookup, timeout);
  if (!reply) {
    throw std::move(reply).error();
  }
  auto buffer = messages::decode<messages::RdmaBuffer>(*reply);
  if (!buffer) {
    throw std::move(buffer).error();
  }
  return RemoteBuffer{*std::move(buffer)};
}

}  // namespace

WorkerConfig passive_worker_config(std::string_view command) {
  WorkerConfig config;
  config.identity = fmt::format("{}-{:016x}", command, messages::random_u64());
  return config;
}

BufferSession::BufferSession(std::string_view command, messages::BufferRef target,
                             std::chrono::milliseconds timeout)
    : target_{std::move(target)},
      timeout_{timeout},
      worker_{passive_worker_config(command)},
      remote_{look_up(worker_, target_, timeout_)} {}

void BufferSession::connect(std::uint64_t offset, std::uint64_t length) {
  offset_ = offset;
  length_ = length;
  staging_ = worker_.allocate_buffer(std::clamp<std::uint64_t>(length, 1, 2 * window_size));
  queue_pair_ = worker_.queue_pair(remote_, timeout_);
}

std::uint64_t BufferSession::windows() const noexcept {
  return length_ / window_size + (length_ % window_size == 0 ? 0 : 1);
}

std::uint64_t BufferSession::length_of(std::uint64_t window) const noexcept {
  return std::min(window_size, length_ - window * window_size);
}

BufferSlice BufferSession::local(std::uint64_t window) const {
  return staging_->slice((window % 2) * window_size, length_of(window));
}

RemoteBuffer BufferSession::remote(std::uint64_t window) const {
  return remote_.slice(offset_ + window * window_size, length_of(window));
}

void BufferSession::post_put(std::uint64_t window) {
  operations_[window % 2] = queue_pair_->post_put(local(window), remote(window));
}

void BufferSession::post_get(std::uint64_t window) {
  operations_[window % 2] = queue_pair_->post_get(local(window), remote(window));
}

void BufferSession::wait(std::uint64_t window) {
  queue_pair_->wait(operations_[window % 2], timeout_);
}

void BufferSession::print_summary(std::string_view what, double seconds, bool json) const {
  const messages::QueuePairDescriptor pair = queue_pair_->describe();
  const double speed = gbytes_per_second(length_, seconds);
  if (json) {
    print_line(to_line({{"bytes", length_},
                        {"seconds", seconds},
                        {"gbytes_per_second", speed},
                        {"transport", pair.transport},
                        {"path", queue_pair_->path()},
                        {"device", pair.other_device}}));
    return;
  }
  print_line(fmt::format("{}: {} in {:.3f} s, {:.2f} GB/s ({} over {})", printable(what),
                         format_size(length_), seconds, speed, printable(pair.transport),
                         printable(queue_pair_->path())));
}

}  // namespace danaus::tools
