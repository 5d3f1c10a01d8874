#include "messages/json.hpp"

#include <utility>

#include "messages/codec.hpp"
#include "messages/detail/decoder.hpp"
#include "messages/detail/document.hpp"
#include "messages/detail/json_source.hpp"
#include "messages/detail/msgpack_source.hpp"

namespace danaus::messages {
namespace {

using nlohmann::json;

/// JSON is UTF-8, the wire's strings need not be: what is not becomes U+FFFD.
json text_to_json(std::string_view text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

json object_to_json(const msgpack::object& object) {
  switch (object.type) {
    case msgpack::type::NIL:
      return nullptr;
    case msgpack::type::BOOLEAN:
      return object.via.boolean;
    case msgpack::type::POSITIVE_INTEGER:
      return object.via.u64;
    case msgpack::type::NEGATIVE_INTEGER:
      return object.via.i64;
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return object.via.f64;
    case msgpack::type::STR:
      return text_to_json({object.via.str.ptr, object.via.str.size});
    case msgpack::type::BIN:
      return to_hex(std::as_bytes(std::span{object.via.bin.ptr, object.via.bin.size}));
    case msgpack::type::ARRAY: {
      json array = json::array();
      for (const auto& element : std::span{object.via.array.ptr, object.via.array.size}) {
        array.push_back(object_to_json(element));
      }
      return array;
    }
    case msgpack::type::MAP: {
      json map = json::object();
      for (const auto& entry : std::span{object.via.map.ptr, object.via.map.size}) {
        const json key = text_to_json({entry.key.via.str.ptr, entry.key.via.str.size});
        map[key.get<std::string>()] = object_to_json(entry.val);
      }
      return map;
    }
    case msgpack::type::EXT:
      break;  // refused by Document::parse
  }
  return nullptr;
}

/// Of bytes that this library has encoded itself.
json own_to_json(const Bytes& encoded) {
  auto value = to_json(encoded);
  if (!value) {
    throw value.error();
  }
  return std::move(*value);
}

}  // namespace

std::expected<json, Error> to_json(std::span<const std::byte> encoded) {
  const auto document = detail::Document::parse(encoded);
  if (!document) {
    return std::unexpected{document.error()};
  }
  return object_to_json(document->root());
}

std::expected<json, Error> to_json(const Bytes& encoded) {
  return to_json(std::span<const std::byte>{encoded});
}

std::expected<Message, Error> message_from_json(std::string_view name, const json& fields) {
  try {
    return detail::decode_named(name, detail::JsonSource{fields});
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

json to_json(const Message& message) {
  return own_to_json(encode_message(message));
}

json to_json(const Header& header) {
  return own_to_json(encode_header(header));
}

json to_json(const ReplyBody& reply) {
  return own_to_json(encode_reply(reply));
}

}  // namespace danaus::messages
