// SoftUnderTest: the software device for the behaviour suite: one engine with its threads for each
// side, connected over loopback TCP or by copying within the host.
#pragma once

#include <memory>

#include "tests/unit/transport/behaviour/transport_under_test.hpp"

namespace danaus::transport::testing {

[[nodiscard]] std::unique_ptr<TransportUnderTest> make_soft_over_tcp();
[[nodiscard]] std::unique_ptr<TransportUnderTest> make_soft_by_copy();

}  // namespace danaus::transport::testing
