#include "worker/local_buffer.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "worker/worker_core.hpp"

namespace danaus {

namespace worker {

Mapping::Mapping(std::uint64_t size) {
  if (size == 0) {
    throw Error{ErrorCode::invalid_argument,
                "cannot allocate a buffer of 0 bytes; give at least 1"};
  }
  // MAP_NORESERVE: a large buffer of which little is used takes little.
  void* const start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    throw Error{ErrorCode::resource_exhausted,
                fmt::format("cannot allocate a buffer of {} bytes: {}; ask for less, or raise the "
                            "limit on address space (ulimit -v)",
                            size, std::generic_category().message(errno))};
  }
  memory_ = {static_cast<std::byte*>(start), size};
}

Mapping::~Mapping() {
  if (!memory_.empty()) {
    ::munmap(memory_.data(), memory_.size());
  }
}

}  // namespace worker

std::expected<void, Error> Buffer::State::release() {
  const auto alive = core.lock();
  if (!alive || alive->is_down()) {
    return {};  // went with the worker
  }
  auto released = alive->release_buffer(handle.mr_id);
  // NotFound: its owner had it released by message.
  if (!released && released.error().code() != ErrorCode::not_found && !alive->is_down() &&
      mapping) {
    mapping->abandon();
  }
  return released;
}

}  // namespace danaus
