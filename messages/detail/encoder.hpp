// The typed encoder: any struct of the wire to MessagePack, through its
// `fields()`. Any thread. Integers and lengths take their shortest form, floats
// are always 64 bits, fields come in declaration order: one value has one
// encoding.
#pragma once

#include <bit>
#include <span>

#include <msgpack.hpp>

#include "messages/detail/types.hpp"

namespace danaus::messages::detail {

/// What msgpack::packer writes to.
class ByteSink {
 public:
  void write(const char* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span{data, size});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] Bytes take() && { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

using Packer = msgpack::packer<ByteSink>;

inline void encode_string(ByteSink& sink, std::string_view text) {
  Packer{sink}.pack_str(static_cast<std::uint32_t>(text.size()));
  sink.write(text.data(), text.size());
}

inline void encode_bytes(ByteSink& sink, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  Packer{sink}.pack_bin(size).pack_bin_body(reinterpret_cast<const char*>(bytes.data()), size);
}

/// By hand: msgpack::packer turns 2.0 into the integer 2, and a field keeps one
/// type.
inline void encode_double(ByteSink& sink, double value) {
  constexpr std::size_t width = sizeof(std::uint64_t);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::array<char, 1 + width> encoded{static_cast<char>(0xCB)};
  for (std::size_t i = 0; i < width; ++i) {
    encoded[1 + i] = static_cast<char>((bits >> (8U * (width - 1 - i))) & 0xFFU);
  }
  sink.write(encoded.data(), encoded.size());
}

template <class T>
void encode_value(ByteSink& sink, const T& value);

template <class T, class Value>
[[nodiscard]] bool is_written(const Field<T, Value>& field, const T& owner) {
  if constexpr (is_optional<Value>) {
    return field.required || (owner.*(field.member)).has_value();
  } else {
    return true;
  }
}

template <Described T>
void encode_fields(ByteSink& sink, const T& value) {
  const auto encode_field = [&]<class Value>(const Field<T, Value>& field) {
    if (is_written(field, value)) {
      encode_string(sink, field.name);
      encode_value(sink, value.*(field.member));
    }
  };
  std::apply(
      [&](const auto&... field) {
        Packer{sink}.pack_map((0U + ... + (is_written(field, value) ? 1U : 0U)));
        (encode_field(field), ...);
      },
      T::fields());
}

template <class T>
void encode_value(ByteSink& sink, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    value ? Packer{sink}.pack_true() : Packer{sink}.pack_false();
  } else if constexpr (WireUnsigned<T>) {
    Packer{sink}.pack_uint64(value);
  } else if constexpr (std::same_as<T, double>) {
    encode_double(sink, value);
  } else if constexpr (std::same_as<T, std::string>) {
    encode_string(sink, value);
  } else if constexpr (std::same_as<T, Kind>) {
    encode_string(sink, to_string(value));
  } else if constexpr (std::same_as<T, Bytes> || is_fixed_bytes<T>) {
    encode_bytes(sink, value);
  } else if constexpr (is_optional<T>) {
    if (value) {
      encode_value(sink, *value);
    } else {
      Packer{sink}.pack_nil();
    }
  } else if constexpr (is_list<T>) {
    Packer{sink}.pack_array(static_cast<std::uint32_t>(value.size()));
    for (const auto& element : value) {
      encode_value(sink, element);
    }
  } else if constexpr (is_string_map<T>) {
    Packer{sink}.pack_map(static_cast<std::uint32_t>(value.size()));
    for (const auto& [key, entry] : value) {
      encode_string(sink, key);
      encode_value(sink, entry);
    }
  } else if constexpr (std::same_as<T, Unit>) {
    Packer{sink}.pack_nil();
  } else {
    encode_fields(sink, value);
  }
}

}  // namespace danaus::messages::detail
