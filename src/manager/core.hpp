// Core: the manager's concerns wired together, and one `handle` per message. Its coroutines keep it
// alive by a ticket. `mailbox` thread.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "mailbox/mailbox.hpp"
#include "manager/activity.hpp"
#include "manager/buffers.hpp"
#include "manager/connections.hpp"
#include "manager/connector.hpp"
#include "manager/manager.hpp"
#include "manager/passive.hpp"
#include "manager/peer_directory.hpp"
#include "manager/peer_link.hpp"
#include "manager/queue_pairs.hpp"
#include "manager/stepwise.hpp"
#include "manager/transfers.hpp"
#include "messages/message.hpp"

namespace danaus::manager {

/// Who sent a message, and until when an answer is of use.
struct Envelope {
  messages::Sender from;
  Clock::time_point deadline;
};

class Core {
 public:
  Core(ManagerConfig config, std::unique_ptr<PeerLink> peer_link, asio::io_context& device_work,
       asio::io_context& data_context, std::vector<std::unique_ptr<transport::Device>> all_devices,
       std::function<std::map<std::string, std::uint64_t>()> more_counters);

  // ---- ManagerMessage -------------------------------------------------------------------------
  template <class M>
  using Answer = asio::awaitable<std::expected<typename M::Reply, Error>>;

  Answer<messages::RequestBuffer> handle(Envelope envelope, messages::RequestBuffer message);
  Answer<messages::ReleaseBuffer> handle(Envelope envelope, messages::ReleaseBuffer message);
  Answer<messages::RequestQueuePair> handle(Envelope envelope, messages::RequestQueuePair message);
  Answer<messages::Connect> handle(Envelope envelope, messages::Connect message);
  Answer<messages::InitializeQP> handle(Envelope envelope, messages::InitializeQP message);
  Answer<messages::ConnectionInfo> handle(Envelope envelope, messages::ConnectionInfo message);
  Answer<messages::ReleaseQueuePair> handle(Envelope envelope, messages::ReleaseQueuePair message);
  Answer<messages::GetQpState> handle(Envelope envelope, messages::GetQpState message);

  // ---- ServiceMessage -------------------------------------------------------------------------
  Answer<messages::ListDevices> handle(Envelope envelope, messages::ListDevices message);
  Answer<messages::ListBuffers> handle(Envelope envelope, messages::ListBuffers message);
  Answer<messages::LookupBuffer> handle(Envelope envelope, messages::LookupBuffer message);
  Answer<messages::Transfer> handle(Envelope envelope, messages::Transfer message);
  Answer<messages::Atomic> handle(Envelope envelope, messages::Atomic message);
  Answer<messages::GetStats> handle(Envelope envelope, messages::GetStats message);
  Answer<messages::ConnectPeer> handle(Envelope envelope, messages::ConnectPeer message);
  Answer<messages::PeerReady> handle(Envelope envelope, messages::PeerReady message);
  Answer<messages::AbandonPeer> handle(Envelope envelope, messages::AbandonPeer message);
  Answer<messages::ClosePeer> handle(Envelope envelope, messages::ClosePeer message);

  /// In order: transfers, queue pairs, memory regions, domains.
  asio::awaitable<void> tear_down();

  // In the order of ownership: what comes later uses what comes earlier and goes first.
  std::unique_ptr<PeerLink> link;
  Counters counters;
  DeviceWork work;
  DeviceTable devices;
  Buffers buffers;
  Activity activity;
  Connections connections;
  PeerDirectory directory;
  Connector connector;
  Passive passive;
  Stepwise stepwise;
  QueuePairs queue_pairs;
  Transfers transfers;
  bool shutting_down = false;

 private:
  [[nodiscard]] messages::Stats stats() const;

  std::function<std::map<std::string, std::uint64_t>()> more_counters_;
  Clock::time_point started_ = Clock::now();
};

}  // namespace danaus::manager
