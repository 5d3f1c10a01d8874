#include "tools/json_output.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"

namespace danaus::tools {

std::string to_line(const nlohmann::json& value) {
  constexpr int one_line = -1;
  constexpr bool ensure_ascii = true;
  return value.dump(one_line, ' ', ensure_ascii, nlohmann::json::error_handler_t::replace);
}

nlohmann::json decode_to_json(std::span<const std::byte> encoded) {
  auto value = messages::to_json(encoded);
  if (!value) {
    throw std::move(value).error();
  }
  return *std::move(value);
}

}  // namespace danaus::tools
