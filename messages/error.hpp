// danaus::Error: what every failure of Danaus is reported as, in process and on the wire.
// Any thread. Relies on error_code.hpp.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>

#include "messages/error_code.hpp"

namespace danaus {

/// A failure: a code to decide on and a message to read. The message names what was tried, on what,
/// why it failed and what to do. The API throws it; inside, `std::expected<T, Error>` carries it
/// where failure is ordinary; the mailbox turns it into an `Err` reply.
class Error : public std::exception {
 public:
  /// Facts for a program to read, e.g. {"device", "soft0"}.
  using Details = std::map<std::string, std::string>;

  Error(ErrorCode code, std::string message, Details details = {})
      : code_{code}, message_{std::move(message)}, details_{std::move(details)} {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const Details& details() const noexcept { return details_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

  friend bool operator==(const Error& left, const Error& right) noexcept {
    return left.code_ == right.code_ && left.message_ == right.message_ &&
           left.details_ == right.details_;
  }

 private:
  ErrorCode code_;
  std::string message_;
  Details details_;
};

}  // namespace danaus
