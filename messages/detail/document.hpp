// Document: one part off the wire that has passed every bound, as a tree of
// msgpack objects. Any thread. The tree refers to the bytes that it was made
// from; they must outlive it.
#pragma once

#include <expected>
#include <span>
#include <utility>

#include <msgpack.hpp>

#include "messages/bytes.hpp"
#include "messages/error.hpp"

namespace danaus::messages::detail {

/// Checks, without building anything, that `bytes` hold exactly one value
/// within max_part_size, max_depth and max_values, that every declared length
/// is really there, that map keys are strings and that no ext value occurs.
/// Errors: Malformed.
[[nodiscard]] std::expected<void, Error> check_structure(std::span<const std::byte> bytes);

class Document {
 public:
  /// Errors: Malformed, also for a map that has a key twice.
  [[nodiscard]] static std::expected<Document, Error> parse(std::span<const std::byte> bytes);

  [[nodiscard]] const msgpack::object& root() const noexcept { return handle_.get(); }

 private:
  explicit Document(msgpack::object_handle handle) : handle_{std::move(handle)} {}

  msgpack::object_handle handle_;
};

}  // namespace danaus::messages::detail
