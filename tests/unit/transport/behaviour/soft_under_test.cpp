#include "tests/unit/transport/behaviour/soft_under_test.hpp"

#include <array>

#include "tests/unit/transport/soft_host.hpp"

namespace danaus::transport::testing {
namespace {

class SoftUnderTest : public TransportUnderTest {
 public:
  explicit SoftUnderTest(soft::PathPolicy paths) : hosts_{{SoftHost{paths}, SoftHost{paths}}} {}

  [[nodiscard]] std::unique_ptr<Domain> open_domain(Side side) override {
    return hosts_.at(static_cast<std::size_t>(side)).device().open().value();
  }

  [[nodiscard]] messages::QpInfo unreachable_endpoint() override {
    messages::QpInfo info;
    info.qp_num = 1;
    // The discard port, which nobody serves.
    info.soft.emplace();
    info.soft->address = "127.0.0.1";
    info.soft->port = 9;
    info.soft->unix_name = "@danaus-00000000000000000000000000000000";
    return info;
  }

  [[nodiscard]] messages::QpInfo foreign_endpoint() override {
    messages::QpInfo info;
    info.qp_num = 1;
    info.lid = 1;
    return info;
  }

 private:
  std::array<SoftHost, 2> hosts_;
};

}  // namespace

std::unique_ptr<TransportUnderTest> make_soft_over_tcp() {
  return std::make_unique<SoftUnderTest>(soft::PathPolicy::tcp);
}

std::unique_ptr<TransportUnderTest> make_soft_by_copy() {
  return std::make_unique<SoftUnderTest>(soft::PathPolicy::copy);
}

}  // namespace danaus::transport::testing
