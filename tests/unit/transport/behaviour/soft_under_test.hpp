// SoftUnderTest: the software device for the behaviour suite: one engine with its threads for each
// side, connected over loopback TCP.
#pragma once

#include <memory>

#include "tests/unit/transport/behaviour/transport_under_test.hpp"

namespace danaus::transport::testing {

[[nodiscard]] std::unique_ptr<TransportUnderTest> make_soft_under_test();

}  // namespace danaus::transport::testing
