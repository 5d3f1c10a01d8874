// What messages there are and what each is made of, for people: `danaus inject --list` and its
// hints. Any thread. Relies on the field lists of messages/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace danaus::tools {

/// A field of a message or of a value within one.
struct FieldEntry {
  std::string_view name;
  /// "u64", "string", "hex (16 bytes)", "[AlternateRegistration]", …
  std::string type;
  /// Whether it must be given.
  bool required;
};

struct MessageEntry {
  std::string_view name;
  std::vector<FieldEntry> fields;
  /// The type of its `Ok` reply.
  std::string reply;
};

/// A struct that fields of messages or replies are made of.
struct TypeEntry {
  std::string_view name;
  std::vector<FieldEntry> fields;
};

/// Every message, in the order of `messages::all_message_names()`.
[[nodiscard]] std::span<const MessageEntry> message_catalog();

/// Every struct that a message or a reply refers to, each after those that it is made of.
[[nodiscard]] std::span<const TypeEntry> type_catalog();

/// The entry of one message; null where there is none of that name.
[[nodiscard]] const MessageEntry* find_message(std::string_view name);

/// "{addr: u64, size: u64}"; fields that may be left out have a `?`.
[[nodiscard]] std::string describe(std::span<const FieldEntry> fields);

}  // namespace danaus::tools
