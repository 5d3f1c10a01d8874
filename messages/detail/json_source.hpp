// JsonSource: a JSON value as the decoder (decoder.hpp) reads it.
// Any thread. Refers to the JSON that it was made from. People write it, so it
// is strict: an unknown field is a typing error, and a float is no integer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "messages/bytes.hpp"
#include "messages/error_code.hpp"

namespace danaus::messages::detail {

class JsonSource {
 public:
  static constexpr ErrorCode error_code = ErrorCode::invalid_argument;
  static constexpr bool refuses_unknown_fields = true;
  static constexpr std::string_view bytes_of_any_length = "a string of hexadecimal digits";
  [[nodiscard]] static std::string bytes_of(std::size_t count) {
    return "a string of " + std::to_string(count * 2) + " hexadecimal digits";
  }

  explicit JsonSource(const nlohmann::json& value) : value_{&value} {}

  [[nodiscard]] bool is_nil() const { return value_->is_null(); }
  [[nodiscard]] bool is_map() const { return value_->is_object(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }

  [[nodiscard]] std::optional<bool> as_bool() const;
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;
  [[nodiscard]] std::optional<double> as_double() const;
  [[nodiscard]] std::optional<std::string_view> as_string() const;
  [[nodiscard]] std::optional<Bytes> as_bytes() const;

  [[nodiscard]] std::size_t size() const { return value_->size(); }
  [[nodiscard]] std::optional<JsonSource> find(std::string_view name) const;

  /// `visit(name, value)` for each entry of an object.
  template <class Visitor>
  void for_each_entry(Visitor visit) const {
    for (const auto& [key, entry] : value_->get_ref<const nlohmann::json::object_t&>()) {
      visit(std::string_view{key}, JsonSource{entry});
    }
  }
  /// `visit(value)` for each element of an array.
  template <class Visitor>
  void for_each_element(Visitor visit) const {
    for (const nlohmann::json& element : *value_) {
      visit(JsonSource{element});
    }
  }

  /// What the value is, with its article: "a string".
  [[nodiscard]] std::string describe() const;

 private:
  const nlohmann::json* value_;
};

}  // namespace danaus::messages::detail
