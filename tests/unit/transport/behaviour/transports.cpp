// The transports that the behaviour suite runs on.
#include <gtest/gtest.h>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"
#include "tests/unit/transport/behaviour/soft_under_test.hpp"

namespace danaus::transport::testing {

std::vector<Transport> all_transports() {
  return {{.name = "soft_tcp", .make = make_soft_over_tcp},
          {.name = "soft_copy", .make = make_soft_by_copy}};
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportBehaviour, ::testing::ValuesIn(all_transports()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace danaus::transport::testing
