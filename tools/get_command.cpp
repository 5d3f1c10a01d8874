// `danaus get`: a named buffer, or a part of it, into a file.
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstdint>
#include <optional>
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

struct GetOptions {
  std::string target;
  std::string file;
  std::uint64_t offset = 0;
  /// The rest of the buffer where absent.
  std::optional<std::uint64_t> size;
  std::chrono::milliseconds timeout{30'000};
  bool json = false;
};

void declare(CLI::App& app, GetOptions& options) {
  app.add_option("REF/BUFFER", options.target, "The buffer: ID@ENDPOINT/NAME")
      ->required()
      ->type_name("");
  app.add_option("FILE", options.file, "The file to write; replaced as a whole when all is there")
      ->required()
      ->type_name("");
  add_size(app, "--offset", options.offset, "Where in the buffer to begin")->default_str("0");
  add_size(app, "--size", options.size, "How much to get; the rest of the buffer by default");
  add_duration(app, "--timeout", options.timeout, "How long each operation may take")
      ->default_str("30s");
  app.add_flag("--json", options.json, "Print the outcome as JSON");
}

/// How many bytes to get, checked against the buffer.
std::uint64_t length_within(const BufferSession& session, const GetOptions& options) {
  const std::uint64_t buffer_size = session.buffer_size();
  const std::uint64_t rest = options.offset <= buffer_size ? buffer_size - options.offset : 0;
  const std::uint64_t length = options.size.value_or(rest);
  if (!memory::within(options.offset, length, buffer_size)) {
    throw Error{
        ErrorCode::out_of_range,
        fmt::format("{} bytes at offset {} reach past the end of buffer {} with its {} bytes; "
                    "nothing was moved",
                    length, options.offset, session.target().buffer, buffer_size)};
  }
  return length;
}

/// Writes a window to the file while the next one is under way.
void receive(BufferSession& session, std::uint64_t length, OutputFile& file) {
  ProgressBar progress{length, ProgressBar::has_terminal()};
  if (session.windows() > 0) {
    session.post_get(0);
  }
  for (std::uint64_t window = 0; window < session.windows(); ++window) {
    if (window + 1 < session.windows()) {
      session.post_get(window + 1);
    }
    session.wait(window);
    const BufferSlice local = session.local(window);
    file.write(local.memory());
    progress.update(window * window_size);
  }
}

}  // namespace

ExitCode get_command(Arguments arguments) {
  CLI::App app{"Moves a worker's buffer into a file.", "danaus get"};
  GetOptions options;
  declare(app, options);
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  const messages::BufferRef target = parse_buffer_target(options.target);

  BufferSession session{"get", target, options.timeout};
  const std::uint64_t length = length_within(session, options);
  OutputFile file{options.file, length};
  session.connect(options.offset, length);
  const auto start = std::chrono::steady_clock::now();
  receive(session, length, file);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  file.commit();
  // Into a pipe or /dev/stdout go the bytes alone.
  if (file.is_regular() || options.json) {
    session.print_summary("get " + options.file, elapsed.count(), options.json);
  }
  return ExitCode::success;
}

}  // namespace danaus::tools
