#include "tools/exit_code.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tools/printable.hpp"

namespace danaus::tools {

namespace {

/// The errors that mean "no answer from the peer".
constexpr std::array no_answer{ErrorCode::unreachable, ErrorCode::peer_lost, ErrorCode::timeout,
                               ErrorCode::auth_failed, ErrorCode::retry_exceeded};

}  // namespace

ExitCode exit_code_of(const Error& error) noexcept {
  return std::ranges::find(no_answer, error.code()) != no_answer.end() ? ExitCode::unreachable
                                                                       : ExitCode::failed;
}

void report(std::string_view command, const Error& error) {
  report(command, fmt::format("{} [{}]", error.message(), to_string(error.code())));
}

void report(std::string_view command, std::string_view message, bool usage) {
  const std::string line =
      fmt::format("danaus{}{}: {}\n", command.empty() ? "" : " ", command, printable(message));
  std::fputs(line.c_str(), stderr);
  if (usage) {
    const std::string hint = fmt::format("Run 'danaus{}{} --help' for the usage.\n",
                                         command.empty() ? "" : " ", command);
    std::fputs(hint.c_str(), stderr);
  }
}

void print_line(std::string_view line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  if (!written) {
    throw Error{ErrorCode::io_failed, fmt::format("cannot write to standard output: {}",
                                                  std::generic_category().message(errno))};
  }
}

}  // namespace danaus::tools
