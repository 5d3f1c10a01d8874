// A table for people: columns aligned, names from elsewhere made printable.
// One thread. Relies on printable.hpp.
#pragma once

#include <string>
#include <vector>

namespace danaus::tools {

class Table {
 public:
  explicit Table(std::vector<std::string> header);

  /// As many cells as the header has.
  void add(std::vector<std::string> cells);

  /// Each line indented by two blanks and ended by a newline; a header alone gives "  none\n".
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace danaus::tools
