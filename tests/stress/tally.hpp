// Tally: what a run did, what was done to it, and the first thing that was wrong. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "danaus/error.hpp"

namespace danaus::stress {

class Tally {
 public:
  void did(const std::string& kind, std::uint64_t count = 1) { add(operations_, kind, count); }
  void injected(const std::string& fault) { add(faults_, fault, 1); }
  void saw(const Error& error) { add(errors_, std::string{to_string(error.code())}, 1); }
  void compared(std::uint64_t bytes) { add(compared_, "bytes", bytes); }

  /// The first one stays; all threads end soon after.
  void wrong(std::string what) {
    const std::lock_guard lock{mutex_};
    if (!wrong_) {
      wrong_ = std::move(what);
    }
  }
  [[nodiscard]] std::optional<std::string> first_wrong() const {
    const std::lock_guard lock{mutex_};
    return wrong_;
  }

  /// Several lines.
  [[nodiscard]] std::string summary() const {
    const std::lock_guard lock{mutex_};
    return "operations:" + list(operations_) + "\nfaults:    " + list(faults_) +
           "\nerrors:    " + list(errors_) + "\ncompared:  " + list(compared_) + "\n";
  }

 private:
  using Counts = std::map<std::string, std::uint64_t>;

  void add(Counts& counts, const std::string& name, std::uint64_t count) {
    const std::lock_guard lock{mutex_};
    counts[name] += count;
  }

  static std::string list(const Counts& counts) {
    std::string text;
    for (const auto& [name, count] : counts) {
      text += " " + name + "=" + std::to_string(count);
    }
    return text;
  }

  mutable std::mutex mutex_;
  Counts operations_;
  Counts faults_;
  Counts errors_;
  Counts compared_;
  std::optional<std::string> wrong_;
};

}  // namespace danaus::stress
