// The ways that the software device has for bytes, as a parameter of tests that hold on each.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/harness/worker_process.hpp"

namespace danaus::integration {

struct Path {
  /// As `danaus worker --soft-path` takes it, and as QueuePair::path says it.
  std::string name;
  SoftPath config = SoftPath::tcp;
};

/// Everything that a test instantiated with these says, it says of each.
[[nodiscard]] inline std::vector<Path> all_paths() {
  return {{.name = "tcp", .config = SoftPath::tcp}, {.name = "copy", .config = SoftPath::copy}};
}

/// A worker of this process that moves bytes by `path`.
[[nodiscard]] inline WorkerConfig embedded(std::string identity, const Path& path,
                                           std::string bind = {}) {
  WorkerConfig config;
  config.identity = std::move(identity);
  config.bind = std::move(bind);
  config.soft_path = path.config;
  return config;
}

/// A worker process that moves bytes by `path`.
[[nodiscard]] inline WorkerOptions options_of(std::string identity, const Path& path,
                                              std::vector<std::string> buffers,
                                              std::string bind = "tcp://127.0.0.1:*") {
  return {.identity = std::move(identity),
          .bind = std::move(bind),
          .buffers = std::move(buffers),
          .arguments = {"--soft-path", path.name}};
}

/// GoogleTest's printer.
inline void PrintTo(const Path& path, std::ostream* stream) {  // NOLINT(*-identifier-naming)
  *stream << path.name;
}

[[nodiscard]] inline std::string name_of(const ::testing::TestParamInfo<Path>& test) {
  return test.param.name;
}

}  // namespace danaus::integration
