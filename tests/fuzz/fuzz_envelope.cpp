// Headers and reply bodies: whatever the bytes are, they are refused or understood; what was
// understood means the same after another journey.
#include <cstddef>
#include <cstdint>
#include <span>

#include <nlohmann/json.hpp>

#include "messages/envelope.hpp"
#include "messages/json.hpp"
#include "tests/fuzz/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace messages = danaus::messages;
  using danaus::fuzz::check;
  const auto bytes = std::as_bytes(std::span{data, size});
  if (const auto header = messages::decode_header(bytes)) {
    const auto again = messages::decode_header(messages::encode_header(*header));
    check(again && *again == *header, "a header survives its journey");
    static_cast<void>(messages::to_json(*header).dump());
  }
  if (const auto reply = messages::decode_reply(bytes)) {
    const auto encoded = messages::encode_reply(*reply);
    const auto again = messages::decode_reply(encoded);
    check(again && messages::encode_reply(*again) == encoded, "a reply survives its journey");
    static_cast<void>(messages::to_json(*reply));
  }
  if (const auto json = messages::to_json(bytes)) {
    static_cast<void>(json->size());
  }
  return 0;
}
