#include "tools/suggestion.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace danaus::tools {
namespace {

/// Longer input is no typing error, and the distance takes time in the product of the lengths.
constexpr std::size_t longest_name = 64;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substitution =
          diagonal + (lower(left[i]) == lower(right[j]) ? std::size_t{0} : std::size_t{1});
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitution});
    }
  }
  return row[right.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> candidates) {
  if (typed.size() > longest_name) {
    return {};
  }
  std::string_view best;
  std::size_t best_distance = std::string_view::npos;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(typed, candidate);
    const std::size_t near_enough = std::max<std::size_t>(2, candidate.size() / 3);
    if (distance < best_distance && distance <= near_enough && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> candidates) {
  const std::string_view name = nearest(typed, candidates);
  return name.empty() ? std::string{} : fmt::format("; did you mean \"{}\"?", name);
}

}  // namespace danaus::tools
