// MsgpackSource: a checked MessagePack value as the decoder (decoder.hpp) reads
// it. Any thread. Refers to a Document, which must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <msgpack.hpp>

#include "messages/bytes.hpp"
#include "messages/error_code.hpp"

namespace danaus::messages::detail {

class MsgpackSource {
 public:
  static constexpr ErrorCode error_code = ErrorCode::malformed;
  /// A later version may add fields; this one passes over them.
  static constexpr bool refuses_unknown_fields = false;
  static constexpr std::string_view bytes_of_any_length = "binary";
  [[nodiscard]] static std::string bytes_of(std::size_t count) {
    return "binary of " + std::to_string(count) + " bytes";
  }

  explicit MsgpackSource(const msgpack::object& object) : object_{&object} {}

  [[nodiscard]] bool is_nil() const { return object_->type == msgpack::type::NIL; }
  [[nodiscard]] bool is_map() const { return object_->type == msgpack::type::MAP; }
  [[nodiscard]] bool is_array() const { return object_->type == msgpack::type::ARRAY; }

  [[nodiscard]] std::optional<bool> as_bool() const {
    return object_->type == msgpack::type::BOOLEAN ? std::optional{object_->via.boolean}
                                                   : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const {
    return object_->type == msgpack::type::POSITIVE_INTEGER ? std::optional{object_->via.u64}
                                                            : std::nullopt;
  }
  /// An integer counts too: libraries write 2.0 as 2.
  [[nodiscard]] std::optional<double> as_double() const;
  [[nodiscard]] std::optional<std::string_view> as_string() const {
    return object_->type == msgpack::type::STR
               ? std::optional{std::string_view{object_->via.str.ptr, object_->via.str.size}}
               : std::nullopt;
  }
  [[nodiscard]] std::optional<Bytes> as_bytes() const;

  [[nodiscard]] std::size_t size() const {
    return is_map() ? object_->via.map.size : is_array() ? object_->via.array.size : 0;
  }
  [[nodiscard]] std::optional<MsgpackSource> find(std::string_view name) const;

  /// `visit(name, value)` for each entry of a map.
  template <class Visitor>
  void for_each_entry(Visitor visit) const {
    for (const msgpack::object_kv& entry : std::span{object_->via.map.ptr, object_->via.map.size}) {
      visit(std::string_view{entry.key.via.str.ptr, entry.key.via.str.size},
            MsgpackSource{entry.val});
    }
  }
  /// `visit(value)` for each element of an array.
  template <class Visitor>
  void for_each_element(Visitor visit) const {
    for (const msgpack::object& element :
         std::span{object_->via.array.ptr, object_->via.array.size}) {
      visit(MsgpackSource{element});
    }
  }

  /// What the value is, with its article: "a string".
  [[nodiscard]] std::string describe() const;

 private:
  const msgpack::object* object_;
};

}  // namespace danaus::messages::detail
