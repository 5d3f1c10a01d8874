#include "tools/quantity.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace danaus::tools {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr auto size_units = std::to_array<Unit>({
    {"", 1},
    {"KiB", std::uint64_t{1} << 10U},
    {"MiB", std::uint64_t{1} << 20U},
    {"GiB", std::uint64_t{1} << 30U},
});
constexpr std::string_view size_forms = "a whole number of bytes, or one with KiB, MiB or GiB";

/// In milliseconds.
constexpr auto duration_units = std::to_array<Unit>({{"ms", 1}, {"s", 1000}});
constexpr std::string_view duration_forms = "a whole number with ms or s";

constexpr std::uint64_t max_milliseconds = std::numeric_limits<std::uint32_t>::max();

/// `number unit` with nothing between them, times the unit's factor, at most `limit`.
std::expected<std::uint64_t, std::string> parse_quantity(std::string_view text,
                                                         std::span<const Unit> units,
                                                         std::uint64_t limit, std::string_view what,
                                                         std::string_view forms) {
  const auto refuse = [&](std::string_view why) {
    return std::unexpected{fmt::format("\"{}\" is not a {}: {}; write {}", text, what, why, forms)};
  };
  std::uint64_t number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc::invalid_argument) {
    return refuse(text.starts_with('-') ? "it is negative" : "it does not start with a number");
  }
  const auto digits = static_cast<std::size_t>(rest - text.data());
  const std::string_view unit_name = text.substr(digits);
  for (const Unit& unit : units) {
    if (unit.name == unit_name) {
      if (problem == std::errc::result_out_of_range || number > limit / unit.factor) {
        return refuse("it is too large");
      }
      return number * unit.factor;
    }
  }
  if (unit_name.empty()) {
    return refuse("the unit is missing");
  }
  return refuse(fmt::format("\"{}\" is not a unit", unit_name));
}

}  // namespace

std::expected<std::uint64_t, std::string> parse_size(std::string_view text) {
  return parse_quantity(text, size_units, std::numeric_limits<std::uint64_t>::max(), "size",
                        size_forms);
}

std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text) {
  const auto count =
      parse_quantity(text, duration_units, max_milliseconds, "duration", duration_forms);
  if (!count) {
    return std::unexpected{count.error()};
  }
  if (*count == 0) {
    return std::unexpected{fmt::format("\"{}\" is too short: a duration is at least 1ms", text)};
  }
  return std::chrono::milliseconds{*count};
}

std::string format_size(std::uint64_t bytes) {
  for (auto unit = size_units.rbegin(); unit != size_units.rend(); ++unit) {
    if (unit->factor > 1 && bytes >= unit->factor) {
      const double count = static_cast<double>(bytes) / static_cast<double>(unit->factor);
      return bytes % unit->factor == 0 ? fmt::format("{} {}", bytes / unit->factor, unit->name)
                                       : fmt::format("{:.1f} {}", count, unit->name);
    }
  }
  return fmt::format("{} B", bytes);
}

}  // namespace danaus::tools
