#include "tools/message_input.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/actor_ref.hpp"
#include "messages/json.hpp"
#include "tools/exit_code.hpp"
#include "tools/message_catalog.hpp"
#include "tools/suggestion.hpp"

namespace danaus::tools {
namespace {

using nlohmann::json;

/// The library's text without its "[json.exception.parse_error.101] ".
std::string_view without_tag(std::string_view what) {
  const std::size_t end = what.find("] ");
  return what.starts_with("[json.") && end != std::string_view::npos ? what.substr(end + 2) : what;
}

const MessageEntry& message_entry(std::string_view name) {
  if (const MessageEntry* entry = find_message(name)) {
    return *entry;
  }
  const auto names = messages::all_message_names();
  throw UsageError{fmt::format("there is no message \"{}\"{} (messages: {})", name,
                               did_you_mean(name, names), fmt::join(names, ", "))};
}

void check_field_names(const MessageEntry& message, const json& fields) {
  std::vector<std::string_view> known;
  known.reserve(message.fields.size());
  for (const FieldEntry& field : message.fields) {
    known.push_back(field.name);
  }
  // Unknown names first: behind a missing field there is often a mistyped one.
  for (const auto& [key, value] : fields.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      throw UsageError{fmt::format("{} has no field \"{}\"{}; its fields are {}", message.name, key,
                                   did_you_mean(key, known), describe(message.fields))};
    }
  }
  for (const FieldEntry& field : message.fields) {
    if (field.required && !fields.contains(field.name)) {
      throw UsageError{fmt::format("{} needs the field \"{}\"; its fields are {}", message.name,
                                   field.name, describe(message.fields))};
    }
  }
}

}  // namespace

std::string read_bounded(std::istream& input, std::size_t limit) {
  std::string text(limit + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (text.size() > limit) {
    throw UsageError{fmt::format(
        "the JSON on standard input is longer than {} bytes, the most that is read", limit)};
  }
  return text;
}

json parse_json(std::string_view text) {
  if (text.size() > max_json_size) {
    throw UsageError{
        fmt::format("the JSON is {} bytes long; at most {} are read", text.size(), max_json_size)};
  }
  try {
    return json::parse(text);
  } catch (const json::exception& problem) {
    throw UsageError{fmt::format("broken JSON: {}", without_tag(problem.what()))};
  }
}

void expand_references(json& value) {
  // With a list of its own in place of recursion: the text may nest as deep as it is long.
  std::vector<json*> pending{&value};
  while (!pending.empty()) {
    json& current = *pending.back();
    pending.pop_back();
    if (!current.is_structured()) {
      continue;
    }
    for (auto& [key, child] : current.items()) {
      if (current.is_object() && (key == "other" || key == "owner") && child.is_string()) {
        auto ref = messages::parse_actor_ref(child.get_ref<const std::string&>());
        if (!ref) {
          throw UsageError{fmt::format("field \"{}\": {}", key, ref.error().message())};
        }
        child = json{{"id", ref->id}, {"at", ref->at}};
      } else {
        pending.push_back(&child);
      }
    }
  }
}

messages::Message parse_message(std::string_view name, std::string_view text) {
  const MessageEntry& entry = message_entry(name);
  json fields = text.empty() ? json::object() : parse_json(text);
  if (!fields.is_object()) {
    throw UsageError{
        fmt::format("the fields of {} must be a JSON object, not {}; its fields are {}", name,
                    fields.type_name(), describe(entry.fields))};
  }
  check_field_names(entry, fields);
  expand_references(fields);
  auto message = messages::message_from_json(name, fields);
  if (!message) {
    throw UsageError{message.error().message()};
  }
  return *std::move(message);
}

}  // namespace danaus::tools
