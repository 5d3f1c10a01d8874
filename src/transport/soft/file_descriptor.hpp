// FileDescriptor: owns one descriptor of the kernel's. Any thread, one at a time.
#pragma once

#include <unistd.h>

#include <utility>

namespace danaus::transport::soft {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) noexcept : descriptor_{descriptor} {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_{std::exchange(other.descriptor_, -1)} {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

  /// Gives up ownership.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

  void reset() noexcept {
    if (descriptor_ >= 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }

 private:
  int descriptor_ = -1;
};

}  // namespace danaus::transport::soft
