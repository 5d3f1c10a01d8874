#include "manager/buffer_table.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace danaus::manager {

std::expected<std::uint64_t, Error> BufferTable::reserve(const std::string& name) {
  if (buffers_.size() >= max_buffers) {
    return std::unexpected{Error{
        ErrorCode::resource_exhausted,
        fmt::format("{} buffers are registered, the most at once; release some", max_buffers)}};
  }
  if (!name.empty()) {
    // A buffer reference splits at its last '/'.
    if (name.size() > max_buffer_name_length || name.find('/') != std::string::npos) {
      return std::unexpected{
          Error{ErrorCode::invalid_argument,
                fmt::format("\"{}\" cannot be a buffer's name: at most {} bytes, without '/'",
                            name.substr(0, max_buffer_name_length), max_buffer_name_length)}};
    }
    if (!names_.try_emplace(name, std::nullopt).second) {
      return std::unexpected{
          Error{ErrorCode::invalid_argument,
                fmt::format("a buffer named \"{}\" is offered already; release that one or choose "
                            "another name",
                            name),
                {{"buffer", name}}}};
    }
  }
  return next_mr_id_++;
}

void BufferTable::cancel(const std::string& name) {
  if (!name.empty()) {
    names_.erase(name);
  }
}

void BufferTable::insert(RegisteredBuffer buffer) {
  const std::uint64_t mr_id = buffer.registration.buffer.mr_id;
  if (!buffer.terms.name.empty()) {
    names_.insert_or_assign(buffer.terms.name, mr_id);
  }
  buffers_.emplace(mr_id, std::move(buffer));
}

const RegisteredBuffer* BufferTable::find(std::uint64_t mr_id) const {
  const auto found = buffers_.find(mr_id);
  return found == buffers_.end() ? nullptr : &found->second;
}

const RegisteredBuffer* BufferTable::find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() || !found->second ? nullptr : find(*found->second);
}

const RegisteredBuffer* BufferTable::offering(const memory::AddressRange& range) const {
  for (const auto& [name, mr_id] : names_) {
    const RegisteredBuffer* const buffer = mr_id ? find(*mr_id) : nullptr;
    if (buffer != nullptr && buffer->range.contains(range.address(), range.size())) {
      return buffer;
    }
  }
  return nullptr;
}

std::vector<messages::NamedBuffer> BufferTable::offered() const {
  std::vector<messages::NamedBuffer> all;
  for (const auto& [name, mr_id] : names_) {
    if (const RegisteredBuffer* const buffer = mr_id ? find(*mr_id) : nullptr) {
      all.push_back({name, buffer->registration.buffer});
    }
  }
  return all;
}

std::vector<RegisteredBuffer> BufferTable::remove(std::uint64_t mr_id) {
  std::vector<RegisteredBuffer> removed;
  const auto found = buffers_.find(mr_id);
  if (found == buffers_.end()) {
    return removed;
  }
  cancel(found->second.terms.name);
  removed.push_back(std::move(found->second));
  buffers_.erase(found);
  for (auto other = buffers_.begin(); other != buffers_.end();) {
    if (other->second.terms.within == mr_id) {
      removed.push_back(std::move(other->second));
      other = buffers_.erase(other);
    } else {
      ++other;
    }
  }
  return removed;
}

std::vector<RegisteredBuffer> BufferTable::take_all() {
  std::vector<RegisteredBuffer> all;
  all.reserve(buffers_.size());
  for (auto& [mr_id, buffer] : buffers_) {
    all.push_back(std::move(buffer));
  }
  buffers_.clear();
  names_.clear();
  return all;
}

}  // namespace danaus::manager
