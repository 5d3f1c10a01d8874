// The typed decoder: any struct of the wire out of any source, through its
// `fields()`. Any thread. A source (MsgpackSource, JsonSource) is one value
// that can say what it is. Throws danaus::Error inside; codec.cpp and json.cpp
// turn that into std::expected at the border.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "messages/detail/path.hpp"
#include "messages/detail/text.hpp"
#include "messages/detail/types.hpp"
#include "messages/error.hpp"
#include "messages/message.hpp"

namespace danaus::messages::detail {

template <class T, class Source>
[[nodiscard]] T decode_value(const Source& source, const Path& path);

template <class Source>
[[noreturn]] void refuse(const Path& path, const std::string& reason) {
  throw Error{Source::error_code, path.text() + ": " + reason};
}

template <class Source>
[[noreturn]] void refuse_type(const Source& source, const Path& path, std::string_view expected) {
  refuse<Source>(path, "expected " + std::string{expected} + ", got " + source.describe());
}

template <WireUnsigned T, class Source>
[[nodiscard]] T decode_unsigned(const Source& source, const Path& path) {
  const auto value = source.as_unsigned();
  if (!value) {
    refuse_type(source, path, "an unsigned integer");
  }
  if (*value > std::numeric_limits<T>::max()) {
    refuse<Source>(path, std::to_string(*value) + " is too large; a " +
                             std::string{type_name<T>()} + " is at most " +
                             std::to_string(std::numeric_limits<T>::max()));
  }
  return static_cast<T>(*value);
}

template <class Source>
[[nodiscard]] Kind decode_kind(const Source& source, const Path& path) {
  const auto name = source.as_string();
  if (!name) {
    refuse_type(source, path, "a string");
  }
  const auto kind = kind_from_string(*name);
  if (!kind) {
    refuse<Source>(path, "expected request, reply or cast, got " + quoted(*name));
  }
  return *kind;
}

template <class T, class Source>
[[nodiscard]] T decode_fixed_bytes(const Source& source, const Path& path) {
  T value{};
  const auto bytes = source.as_bytes();
  if (!bytes || bytes->size() != value.size()) {
    refuse_type(source, path, Source::bytes_of(value.size()));
  }
  std::ranges::copy(*bytes, value.begin());
  return value;
}

template <class T, class Source>
[[nodiscard]] T decode_list(const Source& source, const Path& path) {
  if (!source.is_array()) {
    refuse_type(source, path, "an array");
  }
  T values;
  values.reserve(source.size());
  source.for_each_element([&](const Source& element) {
    const Path element_path = path.element(values.size());
    values.push_back(decode_value<typename T::value_type>(element, element_path));
  });
  return values;
}

template <class T, class Source>
[[nodiscard]] T decode_string_map(const Source& source, const Path& path) {
  if (!source.is_map()) {
    refuse_type(source, path, "a map");
  }
  T values;
  source.for_each_entry([&](std::string_view key, const Source& entry) {
    const Path entry_path = path.field(key);
    values.emplace(std::string{key}, decode_value<typename T::mapped_type>(entry, entry_path));
  });
  return values;
}

/// Sets the field from its entry; notes its name in `missing` where it is
/// required and absent.
template <class T, class Value, class Source>
void decode_field(const Field<T, Value>& field, const Source& source, const Path& path, T& owner,
                  std::string& missing) {
  const std::optional<Source> entry = source.find(field.name);
  if (!entry) {
    if (field.required) {
      missing.append(missing.empty() ? "" : ", ").append(field.name);
    }
    return;
  }
  owner.*(field.member) = decode_value<Value>(*entry, path.field(field.name));
}

template <Described T, class Source>
void refuse_unknown_fields(const Source& source, const Path& path) {
  source.for_each_entry([&](std::string_view key, const Source& /*entry*/) {
    const bool known = std::apply(
        [key](const auto&... field) { return (... || (field.name == key)); }, T::fields());
    if (!known) {
      refuse<Source>(path, "there is no field " + quoted(key) + "; fields: " + field_list<T>());
    }
  });
}

template <Described T, class Source>
[[nodiscard]] T decode_fields(const Source& source, const Path& path) {
  T value{};
  if constexpr (std::tuple_size_v<decltype(T::fields())> == 0) {
    if (source.is_nil()) {
      return value;
    }
  }
  if (!source.is_map()) {
    refuse_type(source, path, "a map with the fields " + field_list<T>());
  }
  if constexpr (Source::refuses_unknown_fields) {
    refuse_unknown_fields<T>(source, path);
  }
  std::string missing;
  std::apply(
      [&](const auto&... field) { (decode_field(field, source, path, value, missing), ...); },
      T::fields());
  if (!missing.empty()) {
    refuse<Source>(path, "missing " + missing + "; fields: " + field_list<T>());
  }
  return value;
}

template <class T, class Source>
T decode_value(const Source& source, const Path& path) {
  if constexpr (std::same_as<T, bool>) {
    const auto value = source.as_bool();
    return value ? *value : (refuse_type(source, path, "a boolean"), false);
  } else if constexpr (WireUnsigned<T>) {
    return decode_unsigned<T>(source, path);
  } else if constexpr (std::same_as<T, double>) {
    const auto value = source.as_double();
    return value ? *value : (refuse_type(source, path, "a number"), 0.0);
  } else if constexpr (std::same_as<T, std::string>) {
    const auto value = source.as_string();
    return value ? std::string{*value} : (refuse_type(source, path, "a string"), std::string{});
  } else if constexpr (std::same_as<T, Bytes>) {
    auto value = source.as_bytes();
    return value ? std::move(*value)
                 : (refuse_type(source, path, Source::bytes_of_any_length), Bytes{});
  } else if constexpr (std::same_as<T, Kind>) {
    return decode_kind(source, path);
  } else if constexpr (is_fixed_bytes<T>) {
    return decode_fixed_bytes<T>(source, path);
  } else if constexpr (is_optional<T>) {
    return source.is_nil() ? T{} : T{decode_value<typename T::value_type>(source, path)};
  } else if constexpr (is_list<T>) {
    return decode_list<T>(source, path);
  } else if constexpr (is_string_map<T>) {
    return decode_string_map<T>(source, path);
  } else if constexpr (std::same_as<T, Unit>) {
    return source.is_nil() ? T{} : (refuse_type(source, path, "nil"), T{});
  } else {
    return decode_fields<T>(source, path);
  }
}

/// The alternative of `Variant` that is called `name`.
template <class Variant, class Source, std::size_t... Index>
[[nodiscard]] std::optional<Message> decode_alternative(std::string_view name, const Source& source,
                                                        std::index_sequence<Index...> /*all*/) {
  std::optional<Message> message;
  const auto attempt = [&]<class M>() {
    if (name != M::name) {
      return false;
    }
    message.emplace(Variant{decode_value<M>(source, Path{M::name})});
    return true;
  };
  static_cast<void>(
      (... || attempt.template operator()<std::variant_alternative_t<Index, Variant>>()));
  return message;
}

/// The message called `name` with the fields in `source`.
template <class Source>
[[nodiscard]] Message decode_named(std::string_view name, const Source& source) {
  constexpr std::make_index_sequence<std::variant_size_v<ManagerMessage>> manager_messages;
  constexpr std::make_index_sequence<std::variant_size_v<ServiceMessage>> service_messages;
  auto message = decode_alternative<ManagerMessage>(name, source, manager_messages);
  if (!message) {
    message = decode_alternative<ServiceMessage>(name, source, service_messages);
  }
  if (!message) {
    throw Error{ErrorCode::unknown_message, "there is no message " + quoted(name) +
                                                "; messages: " + joined(all_message_names())};
  }
  return std::move(*message);
}

}  // namespace danaus::messages::detail
