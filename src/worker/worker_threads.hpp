// WorkerThreads: the threads of one worker, by the names that they carry. Started and ended by the
// thread that makes or destroys the Worker; watched by the supervisor.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <asio/io_context.hpp>

#include "supervision/supervisor.hpp"

namespace danaus::worker {

class WorkerThreads {
 public:
  explicit WorkerThreads(supervision::Supervisor& supervisor) : supervisor_{supervisor} {}
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  /// Joins without patience those that are left.
  ~WorkerThreads();

  /// Starts all of them. Throws Error: ResourceExhausted; those that were started end with the
  /// object.
  void start(asio::io_context& mailbox, asio::io_context& data, asio::io_context& device_work,
             std::span<asio::io_context* const> responders);

  /// How the mailbox thread does. `ended`: an exception ended it in good order, so another thread
  /// may take its place. `gone`: it vanished in the midst of something.
  enum class MailboxThread : std::uint8_t { running, ended, gone };
  [[nodiscard]] MailboxThread mailbox_thread() const noexcept;

  /// That their loops end is no failure any more.
  void expect_responders_to_end();

  /// Each lets its context run out; what takes longer than `patience` is stopped.
  void join_responders(std::chrono::milliseconds patience) { join(responders_, patience); }
  void join_data(std::chrono::milliseconds patience) { join(data_, patience); }
  void join_device_work(std::chrono::milliseconds patience) { join(device_work_, patience); }
  void join_mailbox(std::chrono::milliseconds patience) { join(mailbox_, patience); }

 private:
  using Group = std::vector<std::unique_ptr<supervision::WatchedThread>>;

  static void join(Group& group, std::chrono::milliseconds patience);

  supervision::Supervisor& supervisor_;
  Group mailbox_;
  Group device_work_;
  Group data_;
  Group responders_;
};

}  // namespace danaus::worker
