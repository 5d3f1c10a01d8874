#include "tools/table.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tools/printable.hpp"

namespace danaus::tools {

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    cell = printable(cell);
  }
  cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  if (rows_.size() == 1) {
    return "  none\n";
  }
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("  {:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace danaus::tools
