#include "messages/detail/json_source.hpp"

namespace danaus::messages::detail {

using nlohmann::json;

std::optional<bool> JsonSource::as_bool() const {
  return value_->is_boolean() ? std::optional{value_->get<bool>()} : std::nullopt;
}

std::optional<std::uint64_t> JsonSource::as_unsigned() const {
  // A JSON value that was built in C++ from an int is signed even where it is
  // positive.
  if (value_->is_number_unsigned() ||
      (value_->is_number_integer() && value_->get<std::int64_t>() >= 0)) {
    return value_->get<std::uint64_t>();
  }
  return std::nullopt;
}

std::optional<double> JsonSource::as_double() const {
  return value_->is_number() ? std::optional{value_->get<double>()} : std::nullopt;
}

std::optional<std::string_view> JsonSource::as_string() const {
  return value_->is_string()
             ? std::optional{std::string_view{value_->get_ref<const std::string&>()}}
             : std::nullopt;
}

std::optional<Bytes> JsonSource::as_bytes() const {
  const auto text = as_string();
  return text ? from_hex(*text) : std::nullopt;
}

std::optional<JsonSource> JsonSource::find(std::string_view name) const {
  const auto entry = value_->find(name);
  return entry == value_->end() ? std::nullopt : std::optional{JsonSource{*entry}};
}

std::string JsonSource::describe() const {
  switch (value_->type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "the integer " + value_->dump();
    case json::value_t::number_float:
      return "the float " + value_->dump();
    case json::value_t::string:
      return "a string of " + std::to_string(value_->get_ref<const std::string&>().size()) +
             " characters";
    case json::value_t::array:
      return "an array";
    case json::value_t::object:
      return "an object";
    case json::value_t::binary:
    case json::value_t::discarded:
      break;
  }
  return "something that is not JSON";
}

}  // namespace danaus::messages::detail
