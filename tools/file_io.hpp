// The files that `put` reads and `get` writes.
// One thread. Relies on messages/error.hpp; every failure is an Error that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace danaus::tools {

/// A file descriptor that is closed with its owner.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) noexcept : fd_{fd} {}
  UniqueFd(UniqueFd&& other) noexcept;
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();

  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// A regular file, read window by window.
class InputFile {
 public:
  /// Throws Error: NotFound, PermissionDenied, InvalidArgument (not a regular file), IoFailed.
  explicit InputFile(std::string path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// In bytes, as it was when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `window` from `offset` on. Throws Error: IoFailed, also when the file has shrunk.
  void read(std::uint64_t offset, std::span<std::byte> window) const;

 private:
  std::string path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

/// A file that comes into being as a whole: written under a temporary name beside `path`, renamed
/// over it by `commit`. Without `commit`, also when a signal ends the process, the temporary file
/// goes and what stood at `path` stays. What exists and is not a regular file (a pipe, /dev/stdout)
/// is written to directly. One at a time in a process.
class OutputFile {
 public:
  /// Reserves `size` bytes where the file system can, so that a full disk is known before any byte
  /// moves. Throws Error: NotFound (the directory), PermissionDenied, InvalidArgument (a
  /// directory), ResourceExhausted (disk or quota full), IoFailed.
  OutputFile(const std::string& path, std::uint64_t size);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Appends. Throws Error: ResourceExhausted, IoFailed.
  void write(std::span<const std::byte> window);

  /// Throws Error as `write` does.
  void commit();

  /// False for what is written to directly.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }

 private:
  /// What the caller named, for messages; symbolic links resolved in `target_`.
  std::string path_;
  std::string target_;
  /// Empty when written directly, and after `commit`.
  std::string temporary_;
  UniqueFd fd_;
  bool regular_ = true;
};

}  // namespace danaus::tools
