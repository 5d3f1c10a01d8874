#include "messages/codec.hpp"

#include "messages/detail/decoder.hpp"
#include "messages/detail/document.hpp"
#include "messages/detail/encoder.hpp"
#include "messages/detail/msgpack_source.hpp"

namespace danaus::messages {
namespace {

template <class T>
constexpr std::string_view root_name() {
  if constexpr (DescribedMessage<T>) {
    return T::name;
  } else if constexpr (std::same_as<T, Header>) {
    return "header";
  } else {
    return "";
  }
}

/// The one name and its value in {"Name": value}.
std::pair<std::string_view, detail::MsgpackSource> single_entry(const msgpack::object& root) {
  if (root.type != msgpack::type::MAP || root.via.map.size != 1) {
    throw Error{ErrorCode::malformed,
                "a message is a map with one entry, its name; got " +
                    detail::MsgpackSource{root}.describe() +
                    (root.type == msgpack::type::MAP
                         ? " with " + std::to_string(root.via.map.size) + " entries"
                         : "")};
  }
  const msgpack::object_kv& entry = *root.via.map.ptr;
  return {std::string_view{entry.key.via.str.ptr, entry.key.via.str.size},
          detail::MsgpackSource{entry.val}};
}

}  // namespace

template <class T>
Bytes encode(const T& value) {
  detail::ByteSink sink;
  detail::encode_value(sink, value);
  return std::move(sink).take();
}

template <class T>
std::expected<T, Error> decode(std::span<const std::byte> bytes) {
  const auto document = detail::Document::parse(bytes);
  if (!document) {
    return std::unexpected{document.error()};
  }
  try {
    return detail::decode_value<T>(detail::MsgpackSource{document->root()},
                                   detail::Path{root_name<T>()});
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

Bytes encode_message(const Message& message) {
  detail::ByteSink sink;
  detail::Packer{sink}.pack_map(1);
  detail::encode_string(sink, message_name(message));
  std::visit(
      [&sink](const auto& of_one_enum) {
        std::visit([&sink](const auto& body) { detail::encode_fields(sink, body); }, of_one_enum);
      },
      message);
  return std::move(sink).take();
}

std::expected<Message, Error> decode_message(std::span<const std::byte> bytes) {
  const auto document = detail::Document::parse(bytes);
  if (!document) {
    return std::unexpected{document.error()};
  }
  try {
    const auto [name, fields] = single_entry(document->root());
    return detail::decode_named(name, fields);
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

// Every type that a message or a reply is made of.
#define DANAUS_WIRE_TYPE(...)                             \
  template Bytes encode<__VA_ARGS__>(const __VA_ARGS__&); \
  template std::expected<__VA_ARGS__, Error> decode<__VA_ARGS__>(std::span<const std::byte>)

DANAUS_WIRE_TYPE(Unit);
DANAUS_WIRE_TYPE(bool);
DANAUS_WIRE_TYPE(std::uint16_t);
DANAUS_WIRE_TYPE(std::uint32_t);
DANAUS_WIRE_TYPE(std::uint64_t);
DANAUS_WIRE_TYPE(double);
DANAUS_WIRE_TYPE(std::string);
DANAUS_WIRE_TYPE(Bytes);
DANAUS_WIRE_TYPE(Header);
DANAUS_WIRE_TYPE(ActorRef);
DANAUS_WIRE_TYPE(AlternateRegistration);
DANAUS_WIRE_TYPE(RdmaBuffer);
DANAUS_WIRE_TYPE(SoftEndpoint);
DANAUS_WIRE_TYPE(QpInfo);
DANAUS_WIRE_TYPE(QueuePairDescriptor);
DANAUS_WIRE_TYPE(DeviceInfo);
DANAUS_WIRE_TYPE(NamedBuffer);
DANAUS_WIRE_TYPE(LocalRange);
DANAUS_WIRE_TYPE(TransferResult);
DANAUS_WIRE_TYPE(AtomicResult);
DANAUS_WIRE_TYPE(ConnectPeerResult);
DANAUS_WIRE_TYPE(QueuePairStats);
DANAUS_WIRE_TYPE(Stats);
DANAUS_WIRE_TYPE(std::vector<RdmaBuffer>);
DANAUS_WIRE_TYPE(std::vector<DeviceInfo>);
DANAUS_WIRE_TYPE(std::vector<NamedBuffer>);
DANAUS_WIRE_TYPE(std::vector<QueuePairStats>);
DANAUS_WIRE_TYPE(std::vector<std::string>);
DANAUS_WIRE_TYPE(std::map<std::string, std::string>);

#undef DANAUS_WIRE_TYPE

}  // namespace danaus::messages
