// TransportUnderTest: what the behaviour suite needs of a transport. A transport joins the suite
// with one file that implements this and one line in transports.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messages/values.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::testing {

/// The two ends of a connection, as if in two processes.
enum class Side { a, b };

class TransportUnderTest {
 public:
  TransportUnderTest() = default;
  TransportUnderTest(const TransportUnderTest&) = delete;
  TransportUnderTest& operator=(const TransportUnderTest&) = delete;
  virtual ~TransportUnderTest() = default;

  /// A domain of its own at each call. Must be gone before this object.
  [[nodiscard]] virtual std::unique_ptr<Domain> open_domain(Side side) = 0;

  /// An endpoint of the right form that nobody answers at.
  [[nodiscard]] virtual messages::QpInfo unreachable_endpoint() = 0;

  /// An endpoint of another transport.
  [[nodiscard]] virtual messages::QpInfo foreign_endpoint() = 0;
};

struct Transport {
  std::string name;
  std::function<std::unique_ptr<TransportUnderTest>()> make;
};

/// Every transport that the suite runs on.
[[nodiscard]] std::vector<Transport> all_transports();

}  // namespace danaus::transport::testing
