#include "messages/envelope.hpp"

#include <array>
#include <map>
#include <utility>

#include "messages/codec.hpp"
#include "messages/detail/decoder.hpp"
#include "messages/detail/document.hpp"
#include "messages/detail/encoder.hpp"
#include "messages/detail/msgpack_source.hpp"

namespace danaus::messages {
namespace {

constexpr auto kind_names = std::to_array<std::pair<Kind, std::string_view>>(
    {{Kind::request, "request"}, {Kind::reply, "reply"}, {Kind::cast, "cast"}});

/// An error as it travels. `code` is text, so that a later version's code can be read.
struct WireError {
  std::string code;
  std::string message;
  Error::Details details;

  static constexpr auto fields() {
    return std::tuple{required("code", &WireError::code), required("message", &WireError::message),
                      defaulted("details", &WireError::details)};
  }
};

/// What can be read of a header without trusting the rest of it.
RefusedHeader salvage(const detail::MsgpackSource& header) {
  RefusedHeader refused{Error{ErrorCode::malformed, ""}, std::nullopt, std::nullopt, {}};
  if (!header.is_map()) {
    return refused;
  }
  if (const auto id = header.find("id")) {
    refused.id = id->as_unsigned();
  }
  if (const auto kind = header.find("kind")) {
    if (const auto name = kind->as_string()) {
      refused.kind = kind_from_string(*name);
    }
  }
  if (const auto from = header.find("from"); from && from->is_map()) {
    if (const auto identity = from->find("id")) {
      refused.from = identity->as_string().value_or("");
    }
  }
  return refused;
}

/// Comes first: a later version may shape everything else differently.
void check_version(const detail::MsgpackSource& header) {
  if (!header.is_map()) {
    return;
  }
  const auto version = header.find("version");
  const auto number = version ? version->as_unsigned() : std::nullopt;
  if (number && *number != protocol_version) {
    const std::string ours = std::to_string(protocol_version);
    throw Error{
        ErrorCode::unsupported_version,
        "header.version: " + std::to_string(*number) + " is not spoken here; send version " + ours,
        {{"supported", ours}}};
  }
}

void check_sender(const Header& header) {
  if (!is_valid_identity(header.from.id)) {
    throw Error{ErrorCode::malformed, "header.from.id: " + detail::quoted(header.from.id) +
                                          " is not an identity, which is 1 to 200 of A-Z a-z 0-9 . "
                                          "_ -"};
  }
}

Error to_error(WireError wire) {
  if (const auto code = error_code_from_string(wire.code)) {
    return Error{*code, std::move(wire.message), std::move(wire.details)};
  }
  wire.details.insert_or_assign("code", wire.code);
  return Error{ErrorCode::internal, std::move(wire.message), std::move(wire.details)};
}

Bytes encode_error_as_it_is(const Error& error) {
  detail::ByteSink sink;
  detail::Packer{sink}.pack_map(1);
  detail::encode_string(sink, "Err");
  detail::encode_value(
      sink, WireError{std::string{to_string(error.code())}, error.message(), error.details()});
  return std::move(sink).take();
}

/// An error always arrives: a text too long for a part is cut, details that do not fit stay behind.
Bytes encode_error(const Error& error) {
  constexpr std::size_t max_message_length = std::size_t{16} << 10U;
  Bytes part = encode_error_as_it_is(
      Error{error.code(), error.message().substr(0, max_message_length), error.details()});
  if (!detail::check_structure(part)) {
    part =
        encode_error_as_it_is(Error{error.code(), error.message().substr(0, max_message_length)});
  }
  return part;
}

/// The bytes of the value in {"Ok": value}, as they came. The part holds nothing behind them.
Bytes value_bytes(std::span<const std::byte> part) {
  constexpr auto first_of_map16 = std::byte{0xDE};
  constexpr auto first_of_map32 = std::byte{0xDF};
  const auto* data = reinterpret_cast<const char*>(part.data());
  std::size_t offset = part.front() == first_of_map32 ? 5 : part.front() == first_of_map16 ? 3 : 1;
  msgpack::null_visitor key;
  msgpack::parse(data, part.size(), offset, key);
  const auto value = part.subspan(offset);
  return Bytes{value.begin(), value.end()};
}

ReplyBody to_reply(const detail::MsgpackSource& reply, std::span<const std::byte> part) {
  if (reply.is_map() && reply.size() == 1) {
    if (reply.find("Ok")) {
      return value_bytes(part);
    }
    if (const auto error = reply.find("Err")) {
      return std::unexpected{
          to_error(detail::decode_value<WireError>(*error, detail::Path{"Err"}))};
    }
  }
  throw Error{ErrorCode::malformed,
              "a reply is a map with one entry, Ok or Err; got " + reply.describe()};
}

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  return kind_names[static_cast<std::size_t>(kind)].second;
}

std::optional<Kind> kind_from_string(std::string_view name) noexcept {
  for (const auto& [kind, text] : kind_names) {
    if (text == name) {
      return kind;
    }
  }
  return std::nullopt;
}

Bytes encode_header(const Header& header) {
  return encode(header);
}

std::expected<Header, RefusedHeader> decode_header(std::span<const std::byte> bytes) {
  const auto document = detail::Document::parse(bytes);
  if (!document) {
    return std::unexpected{RefusedHeader{document.error(), std::nullopt, std::nullopt, {}}};
  }
  const detail::MsgpackSource source{document->root()};
  try {
    check_version(source);
    auto header = detail::decode_value<Header>(source, detail::Path{"header"});
    check_sender(header);
    return header;
  } catch (const Error& error) {
    RefusedHeader refused = salvage(source);
    refused.error = error;
    return std::unexpected{std::move(refused)};
  }
}

Bytes encode_reply(const ReplyBody& reply) {
  if (!reply) {
    return encode_error(reply.error());
  }
  detail::ByteSink sink;
  detail::Packer{sink}.pack_map(1);
  detail::encode_string(sink, "Ok");
  sink.write(reinterpret_cast<const char*>(reply->data()), reply->size());
  Bytes part = std::move(sink).take();
  // What the other side would refuse is refused here, where it can still be said.
  if (const auto checked = detail::check_structure(part); !checked) {
    return encode_error(Error{ErrorCode::resource_exhausted,
                              "the reply cannot be sent: " + checked.error().message()});
  }
  return part;
}

std::expected<ReplyBody, Error> decode_reply(std::span<const std::byte> bytes) {
  const auto document = detail::Document::parse(bytes);
  if (!document) {
    return std::unexpected{document.error()};
  }
  try {
    return to_reply(detail::MsgpackSource{document->root()}, bytes);
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

}  // namespace danaus::messages
