#include "tests/stress/byte_model.hpp"

#include <algorithm>

namespace danaus::stress {

bool ByteModel::Cell::allows(std::byte value) const noexcept {
  return count == anything ||
         std::find(values.begin(), values.begin() + count, value) != values.begin() + count;
}

void ByteModel::Cell::also(std::byte value) noexcept {
  if (allows(value)) {
    return;
  }
  if (count == values.size()) {
    count = anything;
  } else {
    values[count++] = value;
  }
}

void ByteModel::becomes(std::size_t offset, std::span<const std::byte> bytes) {
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    cells_[offset + index] = Cell{{bytes[index]}, 1};
  }
}

void ByteModel::may_become(std::size_t offset, std::span<const std::byte> bytes) {
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    cells_[offset + index].also(bytes[index]);
  }
}

void ByteModel::may_become(std::size_t offset, const ByteModel& source, std::size_t source_offset,
                           std::size_t length) {
  for (std::size_t index = 0; index < length; ++index) {
    Cell& cell = cells_[offset + index];
    const Cell& from = source.cells_[source_offset + index];
    if (from.count == anything) {
      cell.count = anything;
    }
    for (std::size_t value = 0; value < from.count; ++value) {
      cell.also(from.values[value]);
    }
  }
}

void ByteModel::may_be_anything(std::size_t offset, std::size_t length) {
  for (Cell& cell : std::span{cells_}.subspan(offset, length)) {
    cell.count = anything;
  }
}

std::optional<std::size_t> ByteModel::first_mismatch(std::size_t offset,
                                                     std::span<const std::byte> bytes) const {
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (!cells_[offset + index].allows(bytes[index])) {
      return index;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> ByteModel::certain(std::size_t offset,
                                                         std::size_t length) const {
  std::vector<std::byte> bytes;
  for (const Cell& cell : std::span{cells_}.subspan(offset, length)) {
    if (cell.count != 1) {
      return std::nullopt;
    }
    bytes.push_back(cell.values.front());
  }
  return bytes;
}

std::vector<unsigned> ByteModel::allowed(std::size_t offset) const {
  std::vector<unsigned> values;
  for (std::size_t index = 0; index < cells_[offset].count; ++index) {
    values.push_back(std::to_integer<unsigned>(cells_[offset].values[index]));
  }
  return values;
}

}  // namespace danaus::stress
