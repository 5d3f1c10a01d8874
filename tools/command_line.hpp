// What the subcommands share of their command lines: parsing with CLI11, sizes, durations,
// references. Main thread. Each subcommand has a CLI::App of its own, so that `--config` works for
// each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <CLI/App.hpp>

#include "messages/actor_ref.hpp"
#include "tools/exit_code.hpp"

namespace danaus::tools {

/// The arguments behind the subcommand's name.
using Arguments = std::span<const char* const>;

/// Parses `arguments` into what `app` was told. The exit code to end with at once, after `--help`;
/// nothing where the command goes on. Throws UsageError.
[[nodiscard]] std::optional<ExitCode> parse(CLI::App& app, Arguments arguments);

/// An option that takes a size as `parse_size` does.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& value,
                      const std::string& description);
CLI::Option* add_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                      const std::string& description);

/// An option that takes a duration as `parse_duration` does.
CLI::Option* add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                          const std::string& description);
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::milliseconds>& value,
                          const std::string& description);

/// ID@ENDPOINT of somebody who can be dialled. Throws UsageError.
[[nodiscard]] messages::ActorRef parse_target(const std::string& text);
/// ID@ENDPOINT/BUFFER of somebody who can be dialled. Throws UsageError.
[[nodiscard]] messages::BufferRef parse_buffer_target(const std::string& text);

}  // namespace danaus::tools
