// ManagerMessage: the eight messages of the RDMA manager.
// `self_device` is always a device of the manager that is asked, `other_device` one of `other`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "messages/values.hpp"

namespace danaus::messages {

/// Registers `size` bytes at `addr` of the manager's process.
struct RequestBuffer {
  static constexpr std::string_view name = "RequestBuffer";
  using Reply = RdmaBuffer;

  std::uint64_t addr = 0;
  std::uint64_t size = 0;

  static constexpr auto fields() {
    return std::tuple{required("addr", &RequestBuffer::addr),
                      required("size", &RequestBuffer::size)};
  }
  friend bool operator==(const RequestBuffer&, const RequestBuffer&) = default;
};

/// Revokes and deregisters a buffer; answered when nothing uses it any more.
struct ReleaseBuffer {
  static constexpr std::string_view name = "ReleaseBuffer";
  using Reply = Unit;

  RdmaBuffer buffer;

  static constexpr auto fields() { return std::tuple{required("buffer", &ReleaseBuffer::buffer)}; }
  friend bool operator==(const ReleaseBuffer&, const ReleaseBuffer&) = default;
};

/// Returns the connected queue pair to `other`, making it first where there is none.
struct RequestQueuePair {
  static constexpr std::string_view name = "RequestQueuePair";
  using Reply = QueuePairDescriptor;

  ActorRef other;
  std::string self_device;
  std::string other_device;

  static constexpr auto fields() {
    return std::tuple{required("other", &RequestQueuePair::other),
                      required("self_device", &RequestQueuePair::self_device),
                      required("other_device", &RequestQueuePair::other_device)};
  }
  friend bool operator==(const RequestQueuePair&, const RequestQueuePair&) = default;
};

/// Brings the queue pair for `other` to RTS with the peer's endpoint.
struct Connect {
  static constexpr std::string_view name = "Connect";
  using Reply = Unit;

  ActorRef other;
  std::string self_device;
  std::string other_device;
  QpInfo endpoint;

  static constexpr auto fields() {
    return std::tuple{
        required("other", &Connect::other), required("self_device", &Connect::self_device),
        required("other_device", &Connect::other_device), required("endpoint", &Connect::endpoint)};
  }
  friend bool operator==(const Connect&, const Connect&) = default;
};

/// Creates the queue pair for `other` where there is none; true in either case.
struct InitializeQP {
  static constexpr std::string_view name = "InitializeQP";
  using Reply = bool;

  ActorRef other;
  std::string self_device;
  std::string other_device;

  static constexpr auto fields() {
    return std::tuple{required("other", &InitializeQP::other),
                      required("self_device", &InitializeQP::self_device),
                      required("other_device", &InitializeQP::other_device)};
  }
  friend bool operator==(const InitializeQP&, const InitializeQP&) = default;
};

/// The endpoint of the manager's own queue pair for `other`.
struct ConnectionInfo {
  static constexpr std::string_view name = "ConnectionInfo";
  using Reply = QpInfo;

  ActorRef other;
  std::string self_device;
  std::string other_device;

  static constexpr auto fields() {
    return std::tuple{required("other", &ConnectionInfo::other),
                      required("self_device", &ConnectionInfo::self_device),
                      required("other_device", &ConnectionInfo::other_device)};
  }
  friend bool operator==(const ConnectionInfo&, const ConnectionInfo&) = default;
};

/// Acknowledged, changes nothing: queue pairs are shared, not checked out.
struct ReleaseQueuePair {
  static constexpr std::string_view name = "ReleaseQueuePair";
  using Reply = Unit;

  ActorRef other;
  std::string self_device;
  std::string other_device;
  QueuePairDescriptor qp;

  static constexpr auto fields() {
    return std::tuple{required("other", &ReleaseQueuePair::other),
                      required("self_device", &ReleaseQueuePair::self_device),
                      required("other_device", &ReleaseQueuePair::other_device),
                      required("qp", &ReleaseQueuePair::qp)};
  }
  friend bool operator==(const ReleaseQueuePair&, const ReleaseQueuePair&) = default;
};

/// The state of the queue pair for `other`, numbered as ibv_qp_state (RTS is 3).
struct GetQpState {
  static constexpr std::string_view name = "GetQpState";
  using Reply = std::uint32_t;

  ActorRef other;
  std::string self_device;
  std::string other_device;

  static constexpr auto fields() {
    return std::tuple{required("other", &GetQpState::other),
                      required("self_device", &GetQpState::self_device),
                      required("other_device", &GetQpState::other_device)};
  }
  friend bool operator==(const GetQpState&, const GetQpState&) = default;
};

using ManagerMessage = std::variant<RequestBuffer, ReleaseBuffer, RequestQueuePair, Connect,
                                    InitializeQP, ConnectionInfo, ReleaseQueuePair, GetQpState>;

}  // namespace danaus::messages
