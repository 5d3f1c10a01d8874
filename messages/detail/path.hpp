// Where in a value the decoder stands, for its error messages:
// "RequestBuffer.addr". Any thread. A chain on the stack; a path must not
// outlive its parent. Nothing is allocated before an error asks for the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "messages/detail/text.hpp"

namespace danaus::messages::detail {

class Path {
 public:
  /// `root` names the whole; it may be empty for a value that has no name.
  explicit Path(std::string_view root) : name_{root} {}

  [[nodiscard]] Path field(std::string_view name) const { return Path{this, name, std::nullopt}; }
  [[nodiscard]] Path element(std::size_t index) const { return Path{this, {}, index}; }

  [[nodiscard]] std::string text() const {
    const std::string path = render();
    return path.empty() ? "the value" : path;
  }

 private:
  Path(const Path* parent, std::string_view name, std::optional<std::size_t> index)
      : parent_{parent}, name_{name}, index_{index} {}

  [[nodiscard]] std::string render() const {
    if (parent_ == nullptr) {
      return std::string{name_};
    }
    std::string path = parent_->render();
    if (index_) {
      return path + '[' + std::to_string(*index_) + ']';
    }
    if (!path.empty()) {
      path += '.';
    }
    return path + printable(name_);
  }

  const Path* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
};

}  // namespace danaus::messages::detail
