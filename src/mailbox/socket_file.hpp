// SocketFile: the file of an ipc:// endpoint, removed when serving ends. libzmq removes only those
// whose names it made up itself.
// `mailbox` thread, or the one that constructs the mailbox. Relies on unlink(2).
#pragma once

#include <sys/types.h>

#include <string>

namespace danaus::mailbox {

class SocketFile {
 public:
  /// None: for TCP.
  SocketFile() = default;
  /// The file of `endpoint`, which is bound. For what has no file of ours, as `SocketFile()`.
  explicit SocketFile(const std::string& endpoint);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

  /// Removes the file, unless another process has put its own in its place. Idempotent.
  void remove() noexcept;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace danaus::mailbox
