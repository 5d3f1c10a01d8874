// DeviceWork: runs a call that may block on the `device-work` threads and resumes the coroutine
// that awaits it on `mailbox`, so that tables change there alone.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "manager/signal.hpp"

namespace danaus::manager {

class DeviceWork {
 public:
  /// Both outlive this object.
  DeviceWork(asio::io_context& mailbox, asio::io_context& device_work)
      : mailbox_{mailbox}, device_work_{device_work} {}

  /// Awaits `work()`, which runs on `device-work`; an exception of its comes out here. When nobody
  /// awaits any more, the result is destroyed where it arises.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work>> run(Work work) {
    using Result = std::invoke_result_t<Work>;
    auto job = std::make_shared<Job<Result>>(mailbox_);
    asio::post(device_work_, [job, &mailbox = mailbox_, work = std::move(work)]() mutable {
      try {
        job->result.emplace(work());
      } catch (...) {
        job->exception = std::current_exception();
      }
      asio::post(mailbox, [job = std::move(job)] {
        job->finished = true;
        job->done.notify();
      });
    });
    while (!job->finished) {
      co_await job->done.wait_until(no_deadline);
    }
    if (job->exception) {
      std::rethrow_exception(job->exception);
    }
    co_return *std::move(job->result);
  }

  /// Lets go of an object whose destructor may block.
  template <class Object>
  void destroy(Object object) {
    asio::post(device_work_, [object = std::move(object)]() mutable {
      const Object last = std::move(object);
      static_cast<void>(last);
    });
  }

 private:
  /// Shared between the thread that works and the coroutine that waits: either may end first.
  template <class Result>
  struct Job {
    explicit Job(asio::io_context& mailbox)
        : done{mailbox}, keeps_mailbox_running{mailbox.get_executor()} {}
    Signal done;
    asio::executor_work_guard<asio::io_context::executor_type> keeps_mailbox_running;
    bool finished = false;
    std::optional<Result> result;
    std::exception_ptr exception;
  };

  asio::io_context& mailbox_;
  asio::io_context& device_work_;
};

}  // namespace danaus::manager
