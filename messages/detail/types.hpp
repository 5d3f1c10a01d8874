// Which C++ types the wire is made of, and their names in error messages and
// the written spec. Any thread. Relies on fields.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "messages/bytes.hpp"
#include "messages/envelope.hpp"
#include "messages/fields.hpp"

namespace danaus::messages::detail {

template <class T>
concept WireUnsigned = std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> ||
                       std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_fixed_bytes = false;
template <std::size_t N>
inline constexpr bool is_fixed_bytes<FixedBytes<N>> = true;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = !std::same_as<T, std::byte>;

template <class T>
inline constexpr bool is_string_map = false;
template <class T>
inline constexpr bool is_string_map<std::map<std::string, T>> = true;

/// How messages/SPEC.md calls the type.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() {
  if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::same_as<T, std::uint8_t>) {
    return "u8";
  } else if constexpr (std::same_as<T, std::uint16_t>) {
    return "u16";
  } else if constexpr (std::same_as<T, std::uint32_t>) {
    return "u32";
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    return "u64";
  } else if constexpr (std::same_as<T, double>) {
    return "f64";
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, Kind>) {
    return "string";
  } else if constexpr (std::same_as<T, Bytes> || is_fixed_bytes<T>) {
    return "bin";
  } else if constexpr (is_optional<T>) {
    return type_name<typename T::value_type>();
  } else if constexpr (is_list<T>) {
    return "list";
  } else {
    static_assert(Described<T> || is_string_map<T>);
    return "map";
  }
}

/// The fields that `T` takes, for people: "addr (u64), size (u64)", those that
/// may be absent with a question mark.
template <Described T>
[[nodiscard]] std::string field_list() {
  std::string text;
  const auto add = [&text]<class Owner, class Value>(const Field<Owner, Value>& field) {
    text.append(text.empty() ? "" : ", ").append(field.name);
    text.append(field.required ? "" : "?").append(" (").append(type_name<Value>()).append(")");
  };
  std::apply([&add](const auto&... field) { (add(field), ...); }, T::fields());
  return text.empty() ? "none" : text;
}

}  // namespace danaus::messages::detail
