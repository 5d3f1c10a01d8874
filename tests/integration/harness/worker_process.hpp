// WorkerProcess: `danaus worker` as a child process that serves; and the `danaus` command run to
// its end. One thread at a time. Relies on process.hpp and on the command built next to the test.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "danaus/danaus.hpp"
#include "messages/message.hpp"
#include "tests/integration/harness/process.hpp"
#include "tests/integration/harness/process_view.hpp"

namespace danaus::integration {

struct WorkerOptions {
  std::string identity = "worker";
  std::string bind = "tcp://127.0.0.1:*";
  /// "NAME=SIZE", as `--buffer` takes it.
  std::vector<std::string> buffers = {};
  /// Further arguments.
  std::vector<std::string> arguments = {};
  /// "NAME=VALUE".
  std::vector<std::string> environment = {};
};

class WorkerProcess {
 public:
  /// Starts it and waits until it says that it serves. Throws std::runtime_error, with what it
  /// wrote, when it does not.
  explicit WorkerProcess(const WorkerOptions& options);

  [[nodiscard]] const messages::ActorRef& ref() const noexcept { return ref_; }
  /// As the command line takes it: "identity@endpoint".
  [[nodiscard]] std::string reference() const { return messages::to_string(ref_); }
  [[nodiscard]] Process& process() noexcept { return process_; }
  [[nodiscard]] const Process& process() const noexcept { return process_; }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

  /// The handle of one of its named buffers.
  [[nodiscard]] messages::RdmaBuffer lookup(Client& client, const std::string& name) const;
  [[nodiscard]] messages::Stats stats(Client& client) const;
  /// Whether it answers.
  [[nodiscard]] bool answers(Client& client) const;

  /// SIGTERM, then how it ended.
  [[nodiscard]] std::optional<ExitStatus> terminate(Deadline deadline = Deadline{});

 private:
  Process process_;
  messages::ActorRef ref_;
};

/// Runs `danaus ARGUMENTS...` to its end.
[[nodiscard]] CommandResult run_danaus(std::vector<std::string> arguments);

/// What `danaus inject` printed and how it ended.
struct Injected {
  ExitStatus status;
  nlohmann::json reply;
};

/// `danaus inject REF MESSAGE FIELDS`, with one JSON line on standard output.
[[nodiscard]] Injected inject(const WorkerProcess& worker, const std::string& message,
                              const nlohmann::json& fields);

}  // namespace danaus::integration
