#include "tools/message_catalog.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "messages/message.hpp"

namespace danaus::tools {
namespace {

/// The name of a struct of the wire; only those that stand within messages or replies need one.
template <class T>
constexpr std::string_view struct_name;
template <>
constexpr std::string_view struct_name<messages::ActorRef> = "ActorRef";
template <>
constexpr std::string_view struct_name<messages::AlternateRegistration> = "AlternateRegistration";
template <>
constexpr std::string_view struct_name<messages::RdmaBuffer> = "RdmaBuffer";
template <>
constexpr std::string_view struct_name<messages::SoftEndpoint> = "SoftEndpoint";
template <>
constexpr std::string_view struct_name<messages::QpInfo> = "QpInfo";
template <>
constexpr std::string_view struct_name<messages::QueuePairDescriptor> = "QueuePairDescriptor";
template <>
constexpr std::string_view struct_name<messages::DeviceInfo> = "DeviceInfo";
template <>
constexpr std::string_view struct_name<messages::NamedBuffer> = "NamedBuffer";
template <>
constexpr std::string_view struct_name<messages::LocalRange> = "LocalRange";
template <>
constexpr std::string_view struct_name<messages::TransferResult> = "TransferResult";
template <>
constexpr std::string_view struct_name<messages::AtomicResult> = "AtomicResult";
template <>
constexpr std::string_view struct_name<messages::ConnectPeerResult> = "ConnectPeerResult";
template <>
constexpr std::string_view struct_name<messages::QueuePairStats> = "QueuePairStats";
template <>
constexpr std::string_view struct_name<messages::Stats> = "Stats";

template <class T>
constexpr std::string_view scalar_name;
template <>
constexpr std::string_view scalar_name<messages::Unit> = "null";
template <>
constexpr std::string_view scalar_name<bool> = "bool";
template <>
constexpr std::string_view scalar_name<std::uint16_t> = "u16";
template <>
constexpr std::string_view scalar_name<std::uint32_t> = "u32";
template <>
constexpr std::string_view scalar_name<std::uint64_t> = "u64";
template <>
constexpr std::string_view scalar_name<double> = "number";
template <>
constexpr std::string_view scalar_name<std::string> = "string";

/// How one type of the wire is written, and the structs that it refers to.
template <class T>
struct TypeOf {
  static std::string name() {
    if constexpr (messages::Described<T>) {
      static_assert(!struct_name<T>.empty(), "give the struct its name above");
      return std::string{struct_name<T>};
    } else {
      static_assert(!scalar_name<T>.empty(), "give the type its name above");
      return std::string{scalar_name<T>};
    }
  }
  static void collect(std::vector<TypeEntry>& types);
};

template <class T>
struct TypeOf<std::optional<T>> : TypeOf<T> {};

template <class T>
struct TypeOf<std::vector<T>> {
  static std::string name() { return fmt::format("[{}]", TypeOf<T>::name()); }
  static void collect(std::vector<TypeEntry>& types) { TypeOf<T>::collect(types); }
};

template <std::size_t N>
struct TypeOf<std::array<std::byte, N>> {
  static std::string name() { return fmt::format("hex ({} bytes)", N); }
  static void collect(std::vector<TypeEntry>&) {}
};

template <class T>
struct TypeOf<std::map<std::string, T>> {
  static std::string name() { return fmt::format("{{string: {}}}", TypeOf<T>::name()); }
  static void collect(std::vector<TypeEntry>& types) { TypeOf<T>::collect(types); }
};

template <class Owner, class Value>
FieldEntry entry(const messages::Field<Owner, Value>& field) {
  return {field.name, TypeOf<Value>::name(), field.required};
}

template <class T>
std::vector<FieldEntry> fields_of() {
  return std::apply([](const auto&... field) { return std::vector<FieldEntry>{entry(field)...}; },
                    T::fields());
}

template <class Owner, class Value>
void collect_field(std::vector<TypeEntry>& types, const messages::Field<Owner, Value>&) {
  TypeOf<Value>::collect(types);
}

template <class T>
void collect_fields(std::vector<TypeEntry>& types) {
  std::apply([&](const auto&... field) { (collect_field(types, field), ...); }, T::fields());
}

template <class T>
void TypeOf<T>::collect(std::vector<TypeEntry>& types) {
  if constexpr (messages::Described<T>) {
    collect_fields<T>(types);
    const auto has_this_name = [](const TypeEntry& type) { return type.name == struct_name<T>; };
    if (std::ranges::none_of(types, has_this_name)) {
      types.push_back({struct_name<T>, fields_of<T>()});
    }
  }
}

/// Calls `visit` with a pointer to each message type of both enums, in order.
template <class Visit>
void for_each_message(Visit visit) {
  const auto each = [&]<class... M>(std::variant<M...>*) {
    (visit(static_cast<M*>(nullptr)), ...);
  };
  each(static_cast<messages::ManagerMessage*>(nullptr));
  each(static_cast<messages::ServiceMessage*>(nullptr));
}

std::vector<MessageEntry> make_message_catalog() {
  std::vector<MessageEntry> entries;
  for_each_message([&]<class M>(M*) {
    entries.push_back({M::name, fields_of<M>(), TypeOf<typename M::Reply>::name()});
  });
  return entries;
}

std::vector<TypeEntry> make_type_catalog() {
  std::vector<TypeEntry> types;
  for_each_message([&]<class M>(M*) {
    collect_fields<M>(types);
    TypeOf<typename M::Reply>::collect(types);
  });
  return types;
}

}  // namespace

std::span<const MessageEntry> message_catalog() {
  static const std::vector<MessageEntry> entries = make_message_catalog();
  return entries;
}

std::span<const TypeEntry> type_catalog() {
  static const std::vector<TypeEntry> types = make_type_catalog();
  return types;
}

const MessageEntry* find_message(std::string_view name) {
  const auto entries = message_catalog();
  const auto found = std::ranges::find(entries, name, &MessageEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

std::string describe(std::span<const FieldEntry> fields) {
  std::vector<std::string> parts;
  parts.reserve(fields.size());
  for (const FieldEntry& field : fields) {
    parts.push_back(fmt::format("{}{}: {}", field.name, field.required ? "" : "?", field.type));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace danaus::tools
