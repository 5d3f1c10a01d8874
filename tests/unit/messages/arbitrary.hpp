// rapidcheck generators for any struct of the wire, through its `fields()`.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "messages/detail/types.hpp"

namespace danaus::messages::test {

/// A value drawn in the running property (within rc::check).
template <class T>
T any() {
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return *rc::gen::arbitrary<T>();
  } else if constexpr (detail::is_fixed_bytes<T>) {
    T value{};
    for (std::byte& byte : value) {
      byte = std::byte{any<std::uint8_t>()};
    }
    return value;
  } else if constexpr (detail::is_optional<T>) {
    return any<bool>() ? T{any<typename T::value_type>()} : T{};
  } else if constexpr (detail::is_list<T>) {
    T values(*rc::gen::inRange<std::size_t>(0, 4));
    for (auto& value : values) {
      value = any<typename T::value_type>();
    }
    return values;
  } else if constexpr (detail::is_string_map<T>) {
    T values;
    for (auto left = *rc::gen::inRange(0, 4); left > 0; --left) {
      values.emplace(any<std::string>(), any<typename T::mapped_type>());
    }
    return values;
  } else if constexpr (std::same_as<T, Unit>) {
    return T{};
  } else {
    T value{};
    std::apply(
        [&value](const auto&... field) {
          ((value.*(field.member) = any<std::remove_cvref_t<decltype(value.*(field.member))>>()),
           ...);
        },
        T::fields());
    return value;
  }
}

}  // namespace danaus::messages::test
