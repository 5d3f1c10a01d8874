#include "transport/soft/mapping_check.hpp"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace danaus::transport::soft {
namespace {

/// A line of /proc/self/maps (proc_pid_maps(5)): "start-end perms offset dev inode path".
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool writable = false;
};

std::optional<Mapping> parse_mapping(std::string_view line) {
  Mapping mapping;
  const char* const end = line.data() + line.size();
  const auto start = std::from_chars(line.data(), end, mapping.start, 16);
  if (start.ec != std::errc{} || start.ptr == end || *start.ptr != '-') {
    return std::nullopt;
  }
  const auto stop = std::from_chars(start.ptr + 1, end, mapping.end, 16);
  if (stop.ec != std::errc{} || end - stop.ptr < 3) {
    return std::nullopt;
  }
  mapping.readable = stop.ptr[1] == 'r';
  mapping.writable = stop.ptr[2] == 'w';
  return mapping;
}

Error refusal(const memory::AddressRange& range, std::uint64_t where, std::string_view why,
              std::string_view remedy) {
  return Error{ErrorCode::registration_failed,
               fmt::format("cannot register {} bytes at {:#x}: {:#x} is {}; {}", range.size(),
                           range.address(), where, why, remedy)};
}

}  // namespace

std::expected<void, Error> check_mapped(const memory::AddressRange& range, bool writable) {
  std::ifstream maps{"/proc/self/maps"};
  if (!maps) {
    return std::unexpected{
        Error{ErrorCode::io_failed,
              fmt::format("cannot check that {} bytes at {:#x} are mapped: /proc/self/maps: {}; "
                          "mount /proc",
                          range.size(), range.address(),
                          std::error_code{errno, std::generic_category()}.message())}};
  }
  const std::uint64_t last = range.address() + (range.size() - 1);
  // The first address that is not known to be mapped yet. Lines come in ascending order.
  std::uint64_t cursor = range.address();
  std::string line;
  while (std::getline(maps, line)) {
    const auto mapping = parse_mapping(line);
    if (!mapping || mapping->end <= cursor) {
      continue;
    }
    if (mapping->start > cursor) {
      break;
    }
    if (!mapping->readable) {
      return std::unexpected{
          refusal(range, cursor, "mapped without read permission", "map it readable first")};
    }
    if (writable && !mapping->writable) {
      return std::unexpected{refusal(range, cursor, "mapped read-only",
                                     "map it writable, or register it without write access")};
    }
    if (mapping->end > last) {
      return {};
    }
    cursor = mapping->end;
  }
  return std::unexpected{
      refusal(range, cursor, "not mapped", "check address and size, and keep the memory mapped")};
}

bool is_mapped(std::uint64_t address, bool writable) noexcept {
  try {
    const auto byte = memory::AddressRange::make(address, 1);
    if (!byte) {
      return false;
    }
    const auto mapped = check_mapped(*byte, writable);
    return mapped || mapped.error().code() != ErrorCode::registration_failed;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

}  // namespace danaus::transport::soft
