#include "transport/soft/soft_domain.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "memory/address_range.hpp"
#include "messages/bytes.hpp"
#include "transport/soft/completion_channel.hpp"
#include "transport/soft/mapping_check.hpp"
#include "transport/soft/queue_pair_core.hpp"
#include "transport/soft/soft_memory_region.hpp"
#include "transport/soft/soft_queue_pair.hpp"

namespace danaus::transport::soft {
namespace {

/// What one queue pair may ask for; real devices stop at 2^14 to 2^15.
constexpr std::uint32_t max_work_requests_limit = 1U << 15U;

constexpr std::uint32_t psn_mask = 0xFFFFFF;

}  // namespace

std::expected<std::unique_ptr<MemoryRegion>, Error> SoftDomain::register_memory(
    std::uint64_t address, std::uint64_t size, AccessFlags access) {
  const auto range = memory::AddressRange::make(address, size);
  if (!range) {
    return std::unexpected{range.error()};
  }
  const bool writable = has(access, AccessFlags::local_write) ||
                        has(access, AccessFlags::remote_write) ||
                        has(access, AccessFlags::remote_atomic);
  if (auto mapped = check_mapped(*range, writable); !mapped) {
    return std::unexpected{std::move(mapped).error()};
  }
  return std::make_unique<SoftMemoryRegion>(regions_, regions_->add(*range, access));
}

std::expected<std::unique_ptr<QueuePair>, Error> SoftDomain::create_queue_pair(
    const QueuePairConfig& config) {
  if (config.max_send_wr == 0 || config.max_send_wr > max_work_requests_limit ||
      config.max_recv_wr > max_work_requests_limit) {
    return std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("cannot create a soft queue pair with {} send work requests and {} "
                          "receives: 1 to {}, and up to as many receives, are possible; ask for "
                          "fewer",
                          config.max_send_wr, config.max_recv_wr, max_work_requests_limit)}};
  }
  auto channel = CompletionChannel::make();
  if (!channel) {
    return std::unexpected{std::move(channel).error()};
  }
  const std::uint32_t number = engine_->queue_pairs.reserve();
  const messages::QpInfo endpoint{
      .qp_num = number,
      .lid = 0,
      .gid = std::nullopt,
      .psn = static_cast<std::uint32_t>(messages::random_u64()) & psn_mask,
      .mtu = std::nullopt,
      .max_rd_atomic = std::nullopt,
      .soft = messages::SoftEndpoint{.address = engine_->advertised_address,
                                     .port = engine_->port,
                                     .unix_name = engine_->unix_name,
                                     .token = messages::random_bytes<16>()}};
  auto core =
      std::make_shared<QueuePairCore>(endpoint, regions_, config, *std::move(channel), engine_);
  engine_->queue_pairs.bind(number, core);
  return std::make_unique<SoftQueuePair>(std::move(core), engine_);
}

}  // namespace danaus::transport::soft
