#include "worker/endpoint_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_workers.hpp"

namespace danaus::worker {
namespace {

using danaus::testing::code_name;
using danaus::testing::config_of;
using danaus::testing::error_of;
using ::testing::HasSubstr;

WorkerConfig config_with(std::string bind, std::string advertise = {}, bool insecure = false) {
  WorkerConfig config = config_of("a", std::move(bind));
  config.advertise = std::move(advertise);
  config.insecure = insecure;
  return config;
}

Error plan_refusal(const WorkerConfig& config) {
  return error_of([&config] { static_cast<void>(plan_endpoints(config)); });
}

TEST(EndpointPlan, ListensForDataAtTheHostOfTheMailbox) {
  const EndpointPlan plan = plan_endpoints(config_with("tcp://127.0.0.1:*"));
  EXPECT_EQ(plan.bind, "tcp://127.0.0.1:*");
  EXPECT_EQ(plan.advertise, "");
  EXPECT_EQ(plan.data_listen, "127.0.0.1");
  EXPECT_EQ(plan.data_advertise, "127.0.0.1");
}

TEST(EndpointPlan, TurnsNamesOfHostsAndInterfacesIntoAddresses) {
  for (const std::string host : {"localhost", "lo"}) {
    const EndpointPlan plan = plan_endpoints(config_with("tcp://" + host + ":7000"));
    EXPECT_EQ(plan.bind, "tcp://127.0.0.1:7000") << host;
    EXPECT_EQ(plan.data_listen, "127.0.0.1") << host;
  }
}

TEST(EndpointPlan, KeepsTheBracketsOfIpv6ToTheEndpoint) {
  const EndpointPlan plan = plan_endpoints(config_with("tcp://[::1]:7000"));
  EXPECT_EQ(plan.bind, "tcp://[::1]:7000");
  EXPECT_EQ(plan.data_listen, "::1");
  EXPECT_EQ(plan.data_advertise, "::1");
}

TEST(EndpointPlan, AdvertisesTheDataListenerUnderTheHostOfTheAdvertisedEndpoint) {
  const EndpointPlan plan =
      plan_endpoints(config_with("tcp://*:7000", "tcp://node7.example:7000", true));
  EXPECT_EQ(plan.bind, "tcp://0.0.0.0:7000");
  EXPECT_EQ(plan.advertise, "tcp://node7.example:7000");
  EXPECT_EQ(plan.data_listen, "0.0.0.0");
  EXPECT_EQ(plan.data_advertise, "node7.example");
}

TEST(EndpointPlan, TakesAnAdvertisedPortThatIsYetToBeChosen) {
  EXPECT_EQ(plan_endpoints(config_with("tcp://127.0.0.1:*", "tcp://localhost:*")).advertise,
            "tcp://localhost:*");
}

TEST(EndpointPlan, MovesDataOverLoopbackWhereTheMailboxIsAUnixSocket) {
  const EndpointPlan plan = plan_endpoints(config_with("ipc:///tmp/a.sock"));
  EXPECT_EQ(plan.bind, "ipc:///tmp/a.sock");
  EXPECT_EQ(plan.data_listen, "127.0.0.1");
  EXPECT_EQ(plan.data_advertise, "127.0.0.1");
}

TEST(EndpointPlan, ListensNowhereForAPassiveWorker) {
  const EndpointPlan plan = plan_endpoints(config_with(""));
  EXPECT_EQ(plan.bind, "");
  EXPECT_EQ(plan.data_listen, "");
  EXPECT_EQ(plan.data_advertise, "");
}

TEST(EndpointPlan, RefusesAnAddressThatOthersReachAndNamesTheFlag) {
  for (const std::string bind : {"tcp://192.0.2.1:7000", "tcp://[2001:db8::1]:7000"}) {
    const Error error = plan_refusal(config_with(bind));
    EXPECT_EQ(code_name(error), "PermissionDenied") << bind;
    EXPECT_THAT(error.message(), HasSubstr("--insecure"));
    EXPECT_THAT(error.message(), HasSubstr(bind));
    EXPECT_NO_THROW(static_cast<void>(plan_endpoints(config_with(bind, {}, true))));
  }
}

TEST(EndpointPlan, RefusesAWildcardThatOthersReachEvenWhenItIsAdvertised) {
  EXPECT_EQ(code_name(plan_refusal(config_with("tcp://*:7000", "tcp://127.0.0.1:7000"))),
            "PermissionDenied");
}

TEST(EndpointPlan, WantsToKnowWhatPeersDialWhereItBindsAWildcard) {
  for (const std::string bind : {"tcp://*:7000", "tcp://0.0.0.0:7000", "tcp://[::]:7000"}) {
    const Error error = plan_refusal(config_with(bind, {}, true));
    EXPECT_EQ(code_name(error), "InvalidArgument") << bind;
    EXPECT_THAT(error.message(), HasSubstr("--advertise"));
  }
}

TEST(EndpointPlan, RefusesWhatIsNoEndpoint) {
  for (const std::string bind :
       {"127.0.0.1:7000", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:70000",
        "tcp://127.0.0.1:x", "tcp://:7000", "tcp://::1:7000", "ipc://", "udp://127.0.0.1:7000",
        "tcp://no such host:7000"}) {
    const Error error = plan_refusal(config_with(bind));
    EXPECT_EQ(code_name(error), "InvalidArgument") << bind;
    EXPECT_THAT(error.message(), HasSubstr(bind));
  }
}

TEST(EndpointPlan, RefusesToAdvertiseWhatCannotBeDialled) {
  for (const std::string advertise :
       {"tcp://*:7000", "tcp://0.0.0.0:7000", "node7", "tcp://node7"}) {
    EXPECT_EQ(code_name(plan_refusal(config_with("tcp://127.0.0.1:*", advertise))),
              "InvalidArgument")
        << advertise;
  }
}

TEST(EndpointPlan, RefusesAPassiveWorkerThatIsToBeDialled) {
  EXPECT_EQ(code_name(plan_refusal(config_with("", "tcp://127.0.0.1:7000"))), "InvalidArgument");
  WorkerConfig config = config_with("");
  config.data_port = 7001;
  EXPECT_EQ(code_name(plan_refusal(config)), "InvalidArgument");
}

}  // namespace
}  // namespace danaus::worker
