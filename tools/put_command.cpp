// `danaus put`: a file into a named buffer.
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "memory/address_range.hpp"
#include "tools/buffer_session.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/file_io.hpp"
#include "tools/progress_bar.hpp"

namespace danaus::tools {
namespace {

struct PutOptions {
  std::string file;
  std::string target;
  std::uint64_t offset = 0;
  std::chrono::milliseconds timeout{30'000};
  bool json = false;
};

void declare(CLI::App& app, PutOptions& options) {
  app.add_option("FILE", options.file, "The file to read")->required()->type_name("");
  app.add_option("REF/BUFFER", options.target, "The buffer: ID@ENDPOINT/NAME")
      ->required()
      ->type_name("");
  add_size(app, "--offset", options.offset, "Where in the buffer to begin")->default_str("0");
  add_duration(app, "--timeout", options.timeout, "How long each operation may take")
      ->default_str("30s");
  app.add_flag("--json", options.json, "Print the outcome as JSON");
}

void require_room(const InputFile& file, const BufferSession& session, std::uint64_t offset) {
  if (!memory::within(offset, file.size(), session.buffer_size())) {
    throw Error{
        ErrorCode::size_mismatch,
        fmt::format("{} has {} bytes, which do not fit at offset {} of buffer {} with its {} "
                    "bytes; nothing was moved",
                    file.path(), file.size(), offset, session.target().buffer,
                    session.buffer_size())};
  }
}

/// Reads a window from the file while the one before it is under way.
void send(const InputFile& file, BufferSession& session) {
  ProgressBar progress{file.size(), ProgressBar::has_terminal()};
  for (std::uint64_t window = 0; window < session.windows(); ++window) {
    const BufferSlice local = session.local(window);
    file.read(window * window_size, local.memory());
    if (window > 0) {
      session.wait(window - 1);
    }
    session.post_put(window);
    progress.update(window * window_size);
  }
  if (session.windows() > 0) {
    session.wait(session.windows() - 1);
  }
}

}  // namespace

ExitCode put_command(Arguments arguments) {
  CLI::App app{"Moves a file into a worker's buffer.", "danaus put"};
  PutOptions options;
  declare(app, options);
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  const messages::BufferRef target = parse_buffer_target(options.target);
  const InputFile file{options.file};

  BufferSession session{"put", target, options.timeout};
  require_room(file, session, options.offset);
  session.connect(options.offset, file.size());
  const auto start = std::chrono::steady_clock::now();
  send(file, session);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  session.print_summary("put " + options.file, elapsed.count(), options.json);
  return ExitCode::success;
}

}  // namespace danaus::tools
