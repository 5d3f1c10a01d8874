#include "messages/detail/document.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/codec.hpp"
#include "messages/detail/text.hpp"

namespace danaus::messages::detail {
namespace {

Error malformed(std::string message) {
  return Error{ErrorCode::malformed, std::move(message)};
}

const char* characters(std::span<const std::byte> bytes) {
  // MessagePack libraries speak char; the bytes are the same.
  return reinterpret_cast<const char*>(bytes.data());
}

/// Follows msgpack::parse and stops it at the first bound that is passed.
/// Values are counted when a container declares them, so that a length of
/// 2^32-1 costs nothing.
class StructureVisitor : public msgpack::null_visitor {
 public:
  // What msgpack::parse calls, with its names.
  bool visit_nil() { return scalar(); }
  bool visit_boolean(bool /*value*/) { return scalar(); }
  bool visit_positive_integer(std::uint64_t /*value*/) { return scalar(); }
  bool visit_negative_integer(std::int64_t /*value*/) { return scalar(); }
  bool visit_float32(float /*value*/) { return scalar(); }
  bool visit_float64(double /*value*/) { return scalar(); }
  bool visit_str(const char* /*data*/, std::uint32_t /*size*/) { return true; }
  bool visit_bin(const char* /*data*/, std::uint32_t /*size*/) { return scalar(); }
  bool visit_ext(const char* /*data*/, std::uint32_t /*size*/) {
    return refuse("it holds an ext value, which this protocol does not use");
  }
  bool start_array(std::uint32_t size) { return container(size); }
  bool end_array() { return leave(); }
  bool start_map(std::uint32_t size) { return container(std::uint64_t{size} * 2); }
  bool end_map() { return leave(); }
  bool start_map_key() {
    in_key_ = true;
    return true;
  }
  bool end_map_key() {
    in_key_ = false;
    return true;
  }
  void parse_error(std::size_t /*parsed*/, std::size_t at) {
    refuse("it is not MessagePack at byte " + std::to_string(at));
  }
  void insufficient_bytes(std::size_t /*parsed*/, std::size_t /*at*/) {
    refuse("it ends in the middle of a value");
  }

  [[nodiscard]] const std::optional<std::string>& reason() const noexcept { return reason_; }

 private:
  bool refuse(std::string reason) {
    if (!reason_) {
      reason_ = std::move(reason);
    }
    return false;
  }
  bool scalar() { return !in_key_ || refuse("a map key in it is not a string"); }
  bool container(std::uint64_t values) {
    if (!scalar()) {
      return false;
    }
    if (++depth_ > max_depth) {
      return refuse("it nests deeper than " + std::to_string(max_depth) + " maps and arrays");
    }
    values_ += values;
    if (values_ > max_values) {
      return refuse("it declares more than " + std::to_string(max_values) + " values");
    }
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  bool in_key_ = false;
  std::size_t depth_ = 0;
  std::uint64_t values_ = 1;
  std::optional<std::string> reason_;
};

/// The first key that a map of the tree has twice. Recursion is bounded by
/// max_depth.
std::optional<std::string_view> duplicate_key(const msgpack::object& object) {
  if (object.type == msgpack::type::ARRAY) {
    for (const msgpack::object& element : std::span{object.via.array.ptr, object.via.array.size}) {
      if (const auto key = duplicate_key(element)) {
        return key;
      }
    }
  }
  if (object.type == msgpack::type::MAP) {
    std::vector<std::string_view> keys;
    keys.reserve(object.via.map.size);
    for (const msgpack::object_kv& entry : std::span{object.via.map.ptr, object.via.map.size}) {
      keys.emplace_back(entry.key.via.str.ptr, entry.key.via.str.size);
      if (const auto key = duplicate_key(entry.val)) {
        return key;
      }
    }
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
      return *twice;
    }
  }
  return std::nullopt;
}

}  // namespace

std::expected<void, Error> check_structure(std::span<const std::byte> bytes) {
  if (bytes.size() > max_part_size) {
    return std::unexpected{malformed("a part of " + std::to_string(bytes.size()) +
                                     " bytes was refused: at most " +
                                     std::to_string(max_part_size) + " are accepted")};
  }
  if (bytes.empty()) {
    return std::unexpected{malformed("a part was refused: it is empty")};
  }
  StructureVisitor visitor;
  std::size_t offset = 0;
  const bool parsed = msgpack::parse(characters(bytes), bytes.size(), offset, visitor);
  if (visitor.reason()) {
    return std::unexpected{malformed("a part of " + std::to_string(bytes.size()) +
                                     " bytes was refused: " + *visitor.reason())};
  }
  if (!parsed || offset != bytes.size()) {
    return std::unexpected{malformed("a part of " + std::to_string(bytes.size()) +
                                     " bytes was refused: its value ends at byte " +
                                     std::to_string(offset) + " and more follows")};
  }
  return {};
}

std::expected<Document, Error> Document::parse(std::span<const std::byte> bytes) {
  if (auto checked = check_structure(bytes); !checked) {
    return std::unexpected{std::move(checked.error())};
  }
  try {
    // Every length is known to be backed by bytes; the limit is a second fence.
    // Strings and binary stay where they are.
    const msgpack::unpack_limit limit{max_values,    max_values, max_part_size,
                                      max_part_size, 0,          max_depth};
    std::size_t offset = 0;
    Document document{msgpack::unpack(
        characters(bytes), bytes.size(), offset,
        [](msgpack::type::object_type, std::size_t, void*) { return true; }, nullptr, limit)};
    if (const auto key = duplicate_key(document.root())) {
      return std::unexpected{
          malformed("a part was refused: a map in it has the key " + quoted(*key) + " twice")};
    }
    return document;
  } catch (const msgpack::unpack_error& error) {
    return std::unexpected{malformed(std::string{"a part was refused: "} + error.what())};
  }
}

}  // namespace danaus::messages::detail
