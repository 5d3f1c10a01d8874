#include "mailbox/socket_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace danaus::mailbox {
namespace {

constexpr std::string_view scheme = "ipc://";

}  // namespace

SocketFile::SocketFile(const std::string& endpoint) {
  // "ipc://@NAME" is an abstract name, "ipc://*" a file that libzmq looks after.
  if (!endpoint.starts_with(scheme) || endpoint.starts_with("ipc://@") || endpoint == "ipc://*") {
    return;
  }
  const std::string path = endpoint.substr(scheme.size());
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    path_ = path;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_{std::exchange(other.path_, {})}, device_{other.device_}, inode_{other.inode_} {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

SocketFile::~SocketFile() {
  remove();
}

void SocketFile::remove() noexcept {
  if (path_.empty()) {
    return;
  }
  struct stat status{};
  if (::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  path_.clear();
}

}  // namespace danaus::mailbox
