// ServiceMessage: what Danaus adds to the manager's eight messages.
// `self_device` is always a device of the manager that is asked, `other_device` one of the peer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "messages/values.hpp"

namespace danaus::messages {

struct ListDevices {
  static constexpr std::string_view name = "ListDevices";
  using Reply = std::vector<DeviceInfo>;

  static constexpr auto fields() { return std::tuple{}; }
  friend bool operator==(const ListDevices&, const ListDevices&) = default;
};

/// The buffers that the worker offers by name.
struct ListBuffers {
  static constexpr std::string_view name = "ListBuffers";
  using Reply = std::vector<NamedBuffer>;

  static constexpr auto fields() { return std::tuple{}; }
  friend bool operator==(const ListBuffers&, const ListBuffers&) = default;
};

struct LookupBuffer {
  static constexpr std::string_view name = "LookupBuffer";
  using Reply = RdmaBuffer;

  /// The buffer's name, as the worker offers it.
  std::string buffer_name;

  static constexpr auto fields() {
    return std::tuple{required("name", &LookupBuffer::buffer_name)};
  }
  friend bool operator==(const LookupBuffer&, const LookupBuffer&) = default;
};

/// Moves bytes between a named buffer of the manager that is asked and a buffer of anyone.
struct Transfer {
  static constexpr std::string_view name = "Transfer";
  using Reply = TransferResult;

  /// "put" (local to remote) or "get" (remote to local).
  std::string op;
  LocalRange local;
  RdmaBuffer remote;
  /// Into the remote buffer, in bytes.
  std::uint64_t offset = 0;
  /// In bytes.
  std::uint64_t length = 0;
  std::uint32_t timeout_ms = 0;

  static constexpr auto fields() {
    return std::tuple{
        required("op", &Transfer::op),         required("local", &Transfer::local),
        required("remote", &Transfer::remote), defaulted("offset", &Transfer::offset),
        required("length", &Transfer::length), required("timeout_ms", &Transfer::timeout_ms)};
  }
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// One atomic on 8 bytes of a buffer of anyone, carried out by the manager that is asked.
struct Atomic {
  static constexpr std::string_view name = "Atomic";
  using Reply = AtomicResult;

  /// "fetch_add" (takes `add`) or "compare_swap" (takes `compare` and `swap`).
  std::string op;
  RdmaBuffer remote;
  /// Into the remote buffer, in bytes; where that leads is a multiple of 8.
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> add;
  std::optional<std::uint64_t> compare;
  std::optional<std::uint64_t> swap;
  std::uint32_t timeout_ms = 0;

  static constexpr auto fields() {
    return std::tuple{required("op", &Atomic::op),
                      required("remote", &Atomic::remote),
                      defaulted("offset", &Atomic::offset),
                      defaulted("add", &Atomic::add),
                      defaulted("compare", &Atomic::compare),
                      defaulted("swap", &Atomic::swap),
                      required("timeout_ms", &Atomic::timeout_ms)};
  }
  friend bool operator==(const Atomic&, const Atomic&) = default;
};

struct GetStats {
  static constexpr std::string_view name = "GetStats";
  using Reply = Stats;

  static constexpr auto fields() { return std::tuple{}; }
  friend bool operator==(const GetStats&, const GetStats&) = default;
};

/// The active side's whole connect: its endpoint out, the passive side's endpoint back.
struct ConnectPeer {
  static constexpr std::string_view name = "ConnectPeer";
  using Reply = ConnectPeerResult;

  std::string self_device;
  std::string other_device;
  std::string transport;
  /// Grows with each attempt of the sender.
  std::uint64_t attempt = 0;
  QpInfo endpoint;

  static constexpr auto fields() {
    return std::tuple{required("self_device", &ConnectPeer::self_device),
                      required("other_device", &ConnectPeer::other_device),
                      required("transport", &ConnectPeer::transport),
                      required("attempt", &ConnectPeer::attempt),
                      required("endpoint", &ConnectPeer::endpoint)};
  }
  friend bool operator==(const ConnectPeer&, const ConnectPeer&) = default;
};

/// Cast by the active side once it is in RTS: the passive side may now use the queue pair too.
struct PeerReady {
  static constexpr std::string_view name = "PeerReady";
  using Reply = Unit;

  std::string self_device;
  std::string other_device;
  std::uint64_t attempt = 0;

  static constexpr auto fields() {
    return std::tuple{required("self_device", &PeerReady::self_device),
                      required("other_device", &PeerReady::other_device),
                      required("attempt", &PeerReady::attempt)};
  }
  friend bool operator==(const PeerReady&, const PeerReady&) = default;
};

/// Cast by the active side when an attempt failed or timed out.
struct AbandonPeer {
  static constexpr std::string_view name = "AbandonPeer";
  using Reply = Unit;

  std::string self_device;
  std::string other_device;
  std::uint64_t attempt = 0;

  static constexpr auto fields() {
    return std::tuple{required("self_device", &AbandonPeer::self_device),
                      required("other_device", &AbandonPeer::other_device),
                      required("attempt", &AbandonPeer::attempt)};
  }
  friend bool operator==(const AbandonPeer&, const AbandonPeer&) = default;
};

/// Destroys both ends of the queue pair with `other`.
struct ClosePeer {
  static constexpr std::string_view name = "ClosePeer";
  using Reply = Unit;

  ActorRef other;
  std::string self_device;
  std::string other_device;

  static constexpr auto fields() {
    return std::tuple{required("other", &ClosePeer::other),
                      required("self_device", &ClosePeer::self_device),
                      required("other_device", &ClosePeer::other_device)};
  }
  friend bool operator==(const ClosePeer&, const ClosePeer&) = default;
};

using ServiceMessage = std::variant<ListDevices, ListBuffers, LookupBuffer, Transfer, Atomic,
                                    GetStats, ConnectPeer, PeerReady, AbandonPeer, ClosePeer>;

}  // namespace danaus::messages
