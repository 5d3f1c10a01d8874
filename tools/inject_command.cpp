// `danaus inject`: one message, typed by hand, to one manager.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <variant>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "danaus/client.hpp"
#include "messages/actor_ref.hpp"
#include "messages/bytes.hpp"
#include "messages/json.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/message_catalog.hpp"
#include "tools/message_input.hpp"

namespace danaus::tools {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds default_timeout{5'000};

struct InjectOptions {
  std::string target;
  std::string message;
  std::string fields;
  std::optional<milliseconds> timeout;
  std::string identity;
  std::string incarnation;
  bool cast = false;
  bool list = false;
};

void declare(CLI::App& app, InjectOptions& options) {
  app.add_option("REF", options.target, "The manager: ID@ENDPOINT")->type_name("");
  app.add_option("MESSAGE", options.message, "The message's name")->type_name("");
  app.add_option("JSON", options.fields, "Its fields as a JSON object; - reads standard input")
      ->type_name("");
  add_duration(
      app, "--timeout", options.timeout,
      "How long to wait for the reply; a Transfer or an Atomic is waited for as long as it "
      "may take")
      ->default_str("5s");
  app.add_option("--identity", options.identity, "Who to speak as");
  app.add_option("--incarnation", options.incarnation,
                 "Which life of it, 32 hexadecimal digits (default: a new one); what belongs to a "
                 "handshake, as PeerReady to its ConnectPeer, must come from one life");
  app.add_flag("--cast", options.cast, "Ask for no reply");
  app.add_flag("--list", options.list, "List the messages with their fields and exit");
}

std::string catalog_text() {
  std::string text = "Messages (fields with ? may be left out):\n";
  for (const MessageEntry& message : message_catalog()) {
    text += fmt::format("  {} {} -> {}\n", message.name, describe(message.fields), message.reply);
  }
  text += "\nWhere:\n";
  for (const TypeEntry& type : type_catalog()) {
    text += fmt::format("  {} = {}\n", type.name, describe(type.fields));
  }
  text += "\nAn ActorRef under \"other\" or \"owner\" may be written \"ID@ENDPOINT\".";
  return text;
}

/// What names its own time: its reply is worth waiting for somewhat longer.
std::uint32_t own_time_of(const messages::ServiceMessage& message) {
  if (const auto* transfer = std::get_if<messages::Transfer>(&message)) {
    return transfer->timeout_ms;
  }
  const auto* atomic = std::get_if<messages::Atomic>(&message);
  return atomic != nullptr ? atomic->timeout_ms : 0;
}

milliseconds timeout_of(const InjectOptions& options, const messages::Message& message) {
  if (options.timeout) {
    return *options.timeout;
  }
  const auto* service = std::get_if<messages::ServiceMessage>(&message);
  return default_timeout + milliseconds{service != nullptr ? own_time_of(*service) : 0};
}

std::string fields_of(const InjectOptions& options) {
  if (options.fields != "-") {
    return options.fields;
  }
  std::string text = read_bounded(std::cin);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError{
        "standard input is empty or cannot be read; write the fields as a JSON object there, {} "
        "for none"};
  }
  return text;
}

std::optional<messages::Incarnation> incarnation_of(const InjectOptions& options) {
  if (options.incarnation.empty()) {
    return std::nullopt;
  }
  const auto bytes = messages::from_hex(options.incarnation);
  messages::Incarnation incarnation;
  if (!bytes || bytes->size() != incarnation.size()) {
    throw UsageError{fmt::format("--incarnation \"{}\": write {} hexadecimal digits",
                                 options.incarnation, 2 * incarnation.size())};
  }
  std::ranges::copy(*bytes, incarnation.begin());
  return incarnation;
}

}  // namespace

ExitCode inject_command(Arguments arguments) {
  CLI::App app{"Sends a message to a manager and prints its reply as one JSON line.",
               "danaus inject"};
  InjectOptions options;
  declare(app, options);
  if (const auto exit = parse(app, arguments)) {
    return *exit;
  }
  if (options.list) {
    print_line(catalog_text());
    return ExitCode::success;
  }
  if (options.target.empty() || options.message.empty()) {
    throw UsageError{"write REF and MESSAGE; 'danaus inject --list' lists the messages"};
  }
  if (!options.identity.empty() && !messages::is_valid_identity(options.identity)) {
    throw UsageError{
        fmt::format("--identity \"{}\": write 1 to {} letters, digits, '.', '_' or '-'",
                    options.identity, messages::max_identity_length)};
  }
  const messages::ActorRef target = parse_target(options.target);
  const messages::Message message = parse_message(options.message, fields_of(options));

  Client client{{.identity = options.identity, .incarnation = incarnation_of(options)}};
  if (options.cast) {
    client.cast(target, message);
    return ExitCode::success;
  }
  bool delivered = false;
  const messages::ReplyBody reply =
      client.request(target, message, timeout_of(options, message), &delivered);
  if (!reply && !delivered) {
    report("inject", reply.error());
    const bool was_sent = reply.error().code() != ErrorCode::invalid_argument;
    return was_sent ? ExitCode::unreachable : ExitCode::usage;
  }
  print_line(to_line(messages::to_json(reply)));
  return reply ? ExitCode::success : ExitCode::failed;
}

}  // namespace danaus::tools
