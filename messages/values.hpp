// The values that messages carry: buffers, queue-pair endpoints, devices, statistics.
// Any thread. Plain data; what comes off the wire is checked by the decoder for form only, by the
// manager for meaning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "messages/actor_ref.hpp"
#include "messages/bytes.hpp"
#include "messages/fields.hpp"

namespace danaus::messages {

/// The same memory, registered with a further device of its owner.
struct AlternateRegistration {
  std::string device_name;
  std::string transport;
  std::uint64_t addr = 0;
  std::uint64_t rkey = 0;

  static constexpr auto fields() {
    return std::tuple{required("device_name", &AlternateRegistration::device_name),
                      required("transport", &AlternateRegistration::transport),
                      required("addr", &AlternateRegistration::addr),
                      required("rkey", &AlternateRegistration::rkey)};
  }
  friend bool operator==(const AlternateRegistration&, const AlternateRegistration&) = default;
};

/// A registered buffer, as its owner hands it out: all that a peer needs to put to it or get from
/// it. `addr` is the address in the space of `rkey` (equal to the virtual address for host memory),
/// `size` is in bytes.
struct RdmaBuffer {
  ActorRef owner;
  std::uint64_t mr_id = 0;
  std::uint64_t addr = 0;
  std::uint64_t size = 0;
  std::uint64_t rkey = 0;
  std::uint64_t lkey = 0;
  std::string device_name;
  /// The transport of `device_name`.
  std::string transport = "soft";
  Incarnation incarnation{};
  std::vector<AlternateRegistration> alternates;

  static constexpr auto fields() {
    return std::tuple{required("owner", &RdmaBuffer::owner),
                      required("mr_id", &RdmaBuffer::mr_id),
                      required("addr", &RdmaBuffer::addr),
                      required("size", &RdmaBuffer::size),
                      required("rkey", &RdmaBuffer::rkey),
                      required("lkey", &RdmaBuffer::lkey),
                      required("device_name", &RdmaBuffer::device_name),
                      defaulted("transport", &RdmaBuffer::transport),
                      required("incarnation", &RdmaBuffer::incarnation),
                      defaulted("alternates", &RdmaBuffer::alternates)};
  }
  friend bool operator==(const RdmaBuffer&, const RdmaBuffer&) = default;
};

/// Where a queue pair of the software device takes requests.
struct SoftEndpoint {
  /// Host name or address of the data listener; empty when nobody can dial it.
  std::string address;
  std::uint16_t port = 0;
  /// Name of the AF_UNIX listener for copies within one host; empty where there is none.
  std::string unix_name;
  /// Secret that a requester must present; drawn at random for each queue pair.
  FixedBytes<16> token{};

  static constexpr auto fields() {
    return std::tuple{
        required("address", &SoftEndpoint::address), required("port", &SoftEndpoint::port),
        defaulted("unix", &SoftEndpoint::unix_name), required("token", &SoftEndpoint::token)};
  }
  friend bool operator==(const SoftEndpoint&, const SoftEndpoint&) = default;
};

/// What a peer must know of a queue pair to connect to it.
struct QpInfo {
  std::uint32_t qp_num = 0;
  std::uint16_t lid = 0;
  std::optional<FixedBytes<16>> gid;
  /// Initial packet sequence number, 24 bits.
  std::uint32_t psn = 0;
  /// Path MTU in bytes.
  std::optional<std::uint32_t> mtu;
  std::optional<std::uint32_t> max_rd_atomic;
  std::optional<SoftEndpoint> soft;

  static constexpr auto fields() {
    return std::tuple{
        required("qp_num", &QpInfo::qp_num), required("lid", &QpInfo::lid),
        defaulted("gid", &QpInfo::gid),      required("psn", &QpInfo::psn),
        defaulted("mtu", &QpInfo::mtu),      defaulted("max_rd_atomic", &QpInfo::max_rd_atomic),
        defaulted("soft", &QpInfo::soft)};
  }
  friend bool operator==(const QpInfo&, const QpInfo&) = default;
};

/// A queue pair as others may see it: no pointer, no secret. `state` is numbered as ibv_qp_state.
struct QueuePairDescriptor {
  std::string transport;
  std::string self_device;
  ActorRef other;
  std::string other_device;
  std::uint32_t qp_num = 0;
  std::uint32_t peer_qp_num = 0;
  std::uint32_t state = 0;
  /// The life of `other` that this queue pair is connected to, once that is known.
  std::optional<Incarnation> incarnation;

  static constexpr auto fields() {
    return std::tuple{required("transport", &QueuePairDescriptor::transport),
                      required("self_device", &QueuePairDescriptor::self_device),
                      required("other", &QueuePairDescriptor::other),
                      required("other_device", &QueuePairDescriptor::other_device),
                      required("qp_num", &QueuePairDescriptor::qp_num),
                      required("peer_qp_num", &QueuePairDescriptor::peer_qp_num),
                      required("state", &QueuePairDescriptor::state),
                      defaulted("incarnation", &QueuePairDescriptor::incarnation)};
  }
  friend bool operator==(const QueuePairDescriptor&, const QueuePairDescriptor&) = default;
};

/// A device of a worker, usable or not.
struct DeviceInfo {
  std::string name;
  /// "soft" or "verbs".
  std::string transport;
  std::uint32_t port = 1;
  bool usable = false;
  /// Why it is not usable; empty when it is.
  std::string reason;
  /// Facts for people to read, e.g. {"data_address", "127.0.0.1:41237"}.
  std::map<std::string, std::string> attributes;

  static constexpr auto fields() {
    return std::tuple{
        required("name", &DeviceInfo::name),     required("transport", &DeviceInfo::transport),
        required("port", &DeviceInfo::port),     required("usable", &DeviceInfo::usable),
        required("reason", &DeviceInfo::reason), defaulted("attributes", &DeviceInfo::attributes)};
  }
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// A buffer that a worker offers by name.
struct NamedBuffer {
  std::string name;
  RdmaBuffer buffer;

  static constexpr auto fields() {
    return std::tuple{required("name", &NamedBuffer::name),
                      required("buffer", &NamedBuffer::buffer)};
  }
  friend bool operator==(const NamedBuffer&, const NamedBuffer&) = default;
};

/// The local end of a Transfer: a named buffer of the manager that is asked.
struct LocalRange {
  std::string buffer;
  /// In bytes from the buffer's start.
  std::uint64_t offset = 0;

  static constexpr auto fields() {
    return std::tuple{required("buffer", &LocalRange::buffer),
                      defaulted("offset", &LocalRange::offset)};
  }
  friend bool operator==(const LocalRange&, const LocalRange&) = default;
};

/// What a Transfer did.
struct TransferResult {
  std::uint64_t bytes = 0;
  double seconds = 0;
  /// "soft" or "verbs".
  std::string transport;
  /// How the bytes went, e.g. "tcp".
  std::string path;

  static constexpr auto fields() {
    return std::tuple{
        required("bytes", &TransferResult::bytes), required("seconds", &TransferResult::seconds),
        required("transport", &TransferResult::transport), required("path", &TransferResult::path)};
  }
  friend bool operator==(const TransferResult&, const TransferResult&) = default;
};

/// What an Atomic found.
struct AtomicResult {
  /// What was there before it.
  std::uint64_t value = 0;
  /// "soft" or "verbs".
  std::string transport;
  /// How it went, e.g. "tcp".
  std::string path;

  static constexpr auto fields() {
    return std::tuple{required("value", &AtomicResult::value),
                      required("transport", &AtomicResult::transport),
                      required("path", &AtomicResult::path)};
  }
  friend bool operator==(const AtomicResult&, const AtomicResult&) = default;
};

/// The passive side's answer to ConnectPeer.
struct ConnectPeerResult {
  QpInfo endpoint;
  std::uint32_t state = 0;
  Incarnation incarnation{};

  static constexpr auto fields() {
    return std::tuple{required("endpoint", &ConnectPeerResult::endpoint),
                      required("state", &ConnectPeerResult::state),
                      required("incarnation", &ConnectPeerResult::incarnation)};
  }
  friend bool operator==(const ConnectPeerResult&, const ConnectPeerResult&) = default;
};

/// A queue pair as GetStats shows it.
struct QueuePairStats {
  QueuePairDescriptor queue_pair;
  std::string path;
  /// Where its handshake stands: "stepwise", "connecting", "awaiting_ready" or "ready".
  std::string phase;
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;

  static constexpr auto fields() {
    return std::tuple{required("queue_pair", &QueuePairStats::queue_pair),
                      required("path", &QueuePairStats::path),
                      required("phase", &QueuePairStats::phase),
                      defaulted("operations", &QueuePairStats::operations),
                      defaulted("bytes", &QueuePairStats::bytes)};
  }
  friend bool operator==(const QueuePairStats&, const QueuePairStats&) = default;
};

/// A worker's account of itself.
struct Stats {
  ActorRef self;
  Incarnation incarnation{};
  std::string version;
  double uptime_seconds = 0;
  std::uint64_t buffers = 0;
  std::vector<QueuePairStats> queue_pairs;
  /// Counted since start, e.g. "mailbox.malformed_frames".
  std::map<std::string, std::uint64_t> counters;

  static constexpr auto fields() {
    return std::tuple{
        required("self", &Stats::self),         required("incarnation", &Stats::incarnation),
        required("version", &Stats::version),   required("uptime_seconds", &Stats::uptime_seconds),
        required("buffers", &Stats::buffers),   defaulted("queue_pairs", &Stats::queue_pairs),
        defaulted("counters", &Stats::counters)};
  }
  friend bool operator==(const Stats&, const Stats&) = default;
};

}  // namespace danaus::messages
