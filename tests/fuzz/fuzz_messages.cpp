// The two enums, from MessagePack and from JSON: refused or understood; what was understood means
// the same after another journey, either way.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "messages/codec.hpp"
#include "messages/json.hpp"
#include "tests/fuzz/check.hpp"

namespace {

namespace messages = danaus::messages;
using danaus::fuzz::check;

void survives(const messages::Message& message) {
  const auto encoded = messages::encode_message(message);
  const auto again = messages::decode_message(encoded);
  check(again && messages::encode_message(*again) == encoded, "a message survives its journey");
}

void from_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.size() != 1) {
    return;
  }
  if (const auto message = messages::message_from_json(json.begin().key(), json.begin().value())) {
    survives(*message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  if (const auto message = messages::decode_message(bytes)) {
    survives(*message);
    const nlohmann::json json = messages::to_json(*message);
    const auto again = messages::message_from_json(json.begin().key(), json.begin().value());
    // As JSON, for what is not UTF-8 there is U+FFFD.
    check(again && messages::to_json(*again) == json, "a message survives being shown as JSON");
  }
  if (size != 0 && data[0] == '{') {
    from_json({reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
