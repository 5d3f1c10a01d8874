#include "tools/command_line.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/quantity.hpp"
#include "tools/suggestion.hpp"

namespace danaus::tools {
namespace {

/// The option of `app` that the first stray argument was probably meant to be.
std::string hint_for_extras(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> candidates{names.begin(), names.end()};
  for (const std::string& argument : arguments) {
    const std::string_view name = std::string_view{argument}.substr(0, argument.find('='));
    if (name.starts_with("--") && std::ranges::find(names, name) == names.end()) {
      return did_you_mean(name, candidates);
    }
  }
  return {};
}

template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Value& value,
                        const std::string& description, const std::string& type, Parse parse) {
  const auto take = [&value, name, parse](const std::string& text) {
    auto parsed = parse(text);
    if (!parsed) {
      throw CLI::ValidationError{name, parsed.error()};
    }
    value = *parsed;
  };
  return app.add_option_function<std::string>(name, take, description)->type_name(type);
}

void require_dialable(const messages::ActorRef& ref, const std::string& text,
                      std::string_view form) {
  if (ref.at.empty()) {
    throw UsageError{fmt::format(
        "\"{}\" names nobody who can be dialled: write {}, as 'danaus worker' prints it", text,
        form)};
  }
}

}  // namespace

std::optional<ExitCode> parse(CLI::App& app, Arguments arguments) {
  const std::vector<std::string> in_order{arguments.begin(), arguments.end()};
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.allow_config_extras(CLI::config_extras_mode::error);
  try {
    // CLI11 takes its arguments last first.
    app.parse(std::vector<std::string>{in_order.rbegin(), in_order.rend()});
  } catch (const CLI::CallForHelp&) {
    print_line(app.help());
    return ExitCode::success;
  } catch (const CLI::ExtrasError& problem) {
    throw UsageError{problem.what() + hint_for_extras(app, in_order)};
  } catch (const CLI::ParseError& problem) {
    throw UsageError{problem.what()};
  }
  return std::nullopt;
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& value,
                      const std::string& description) {
  return add_parsed(app, name, value, description, "SIZE", parse_size);
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                      const std::string& description) {
  return add_parsed(app, name, value, description, "SIZE", parse_size);
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                          const std::string& description) {
  return add_parsed(app, name, value, description, "DURATION", parse_duration);
}

CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::milliseconds>& value,
                          const std::string& description) {
  return add_parsed(app, name, value, description, "DURATION", parse_duration);
}

messages::ActorRef parse_target(const std::string& text) {
  auto ref = messages::parse_actor_ref(text);
  if (!ref) {
    throw UsageError{ref.error().message()};
  }
  require_dialable(*ref, text, "ID@ENDPOINT");
  return *std::move(ref);
}

messages::BufferRef parse_buffer_target(const std::string& text) {
  auto ref = messages::parse_buffer_ref(text);
  if (!ref) {
    throw UsageError{ref.error().message()};
  }
  require_dialable(ref->owner, text, "ID@ENDPOINT/BUFFER");
  return *std::move(ref);
}

}  // namespace danaus::tools
