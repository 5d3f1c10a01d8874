#include "messages/detail/msgpack_source.hpp"

#include <algorithm>

namespace danaus::messages::detail {

std::optional<double> MsgpackSource::as_double() const {
  switch (object_->type) {
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return object_->via.f64;
    case msgpack::type::POSITIVE_INTEGER:
      return static_cast<double>(object_->via.u64);
    case msgpack::type::NEGATIVE_INTEGER:
      return static_cast<double>(object_->via.i64);
    case msgpack::type::NIL:
    case msgpack::type::BOOLEAN:
    case msgpack::type::STR:
    case msgpack::type::BIN:
    case msgpack::type::ARRAY:
    case msgpack::type::MAP:
    case msgpack::type::EXT:
      break;
  }
  return std::nullopt;
}

std::optional<Bytes> MsgpackSource::as_bytes() const {
  if (object_->type != msgpack::type::BIN) {
    return std::nullopt;
  }
  const auto bytes = std::as_bytes(std::span{object_->via.bin.ptr, object_->via.bin.size});
  return Bytes{bytes.begin(), bytes.end()};
}

std::optional<MsgpackSource> MsgpackSource::find(std::string_view name) const {
  const std::span entries{object_->via.map.ptr, object_->via.map.size};
  const auto entry = std::ranges::find_if(entries, [&](const msgpack::object_kv& candidate) {
    return std::string_view{candidate.key.via.str.ptr, candidate.key.via.str.size} == name;
  });
  return entry == entries.end() ? std::nullopt : std::optional{MsgpackSource{entry->val}};
}

std::string MsgpackSource::describe() const {
  switch (object_->type) {
    case msgpack::type::NIL:
      return "nil";
    case msgpack::type::BOOLEAN:
      return "a boolean";
    case msgpack::type::POSITIVE_INTEGER:
      return "an unsigned integer";
    case msgpack::type::NEGATIVE_INTEGER:
      return "a negative integer";
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return "a float";
    case msgpack::type::STR:
      return "a string";
    case msgpack::type::BIN:
      return "binary of " + std::to_string(object_->via.bin.size) + " bytes";
    case msgpack::type::ARRAY:
      return "an array";
    case msgpack::type::MAP:
      return "a map";
    case msgpack::type::EXT:
      return "an ext value";
  }
  return "an unknown value";
}

}  // namespace danaus::messages::detail
