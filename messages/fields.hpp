// How a struct of the wire names its fields, once, for MessagePack, JSON and error messages alike.
// Any thread. Relies on nothing.
#pragma once

#include <concepts>
#include <string_view>
#include <tuple>

namespace danaus::messages {

/// One field of a struct of the wire. A field that is not required keeps its default when absent
/// and is left out when it is an empty optional.
template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::* member;
  bool required = false;
};

template <class Owner, class Value>
[[nodiscard]] constexpr Field<Owner, Value> required(std::string_view name, Value Owner::* member) {
  return {name, member, true};
}

template <class Owner, class Value>
[[nodiscard]] constexpr Field<Owner, Value> defaulted(std::string_view name,
                                                      Value Owner::* member) {
  return {name, member, false};
}

/// A struct that lists its fields: `static constexpr auto fields()` returns a tuple of `Field`.
template <class T>
concept Described = requires { T::fields(); };

/// A message: a described struct with its name on the wire and the type of its `Ok` reply.
template <class T>
concept DescribedMessage = Described<T> && requires {
  { T::name } -> std::convertible_to<std::string_view>;
  typename T::Reply;
};

/// The reply that says only "done"; nil on the wire.
struct Unit {
  friend bool operator==(const Unit&, const Unit&) = default;
};

}  // namespace danaus::messages
