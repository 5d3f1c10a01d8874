// Preloaded into a worker by the supervision tests: from the moment that the file named by
// DANAUS_TEST_TRIGGER exists, the libzmq call named by DANAUS_TEST_CALL fails as it never does in
// life, so that the error escapes from the mailbox's loop. Without a trigger it passes everything
// on. Any thread. Relies on dlsym(3) with RTLD_NEXT.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace {

constexpr int events_option = 15;  // ZMQ_EVENTS, zmq.h

bool triggered(std::string_view call) {
  const char* trigger = std::getenv("DANAUS_TEST_TRIGGER");
  const char* chosen = std::getenv("DANAUS_TEST_CALL");
  return trigger != nullptr && chosen != nullptr && call == chosen && access(trigger, F_OK) == 0;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): libzmq's names and signatures

extern "C" int zmq_getsockopt(void* socket, int option, void* value, std::size_t* length) {
  if (option == events_option && triggered("zmq_getsockopt")) {
    errno = EFAULT;
    return -1;
  }
  static const auto real = next<int (*)(void*, int, void*, std::size_t*)>("zmq_getsockopt");
  return real(socket, option, value, length);
}

extern "C" int zmq_msg_recv(void* message, void* socket, int flags) {
  if (triggered("zmq_msg_recv")) {
    errno = EFAULT;
    return -1;
  }
  static const auto real = next<int (*)(void*, void*, int)>("zmq_msg_recv");
  return real(message, socket, flags);
}

// NOLINTEND(readability-identifier-naming)
