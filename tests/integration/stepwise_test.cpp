// The seed's handshake, message by message, driven from the command line between two workers.
#include <gtest/gtest.h>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

using nlohmann::json;

json ref_of(const WorkerProcess& worker) {
  return {{"id", worker.ref().id}, {"at", worker.ref().at}};
}

/// The fields that the stepwise messages share.
json pair_with(const WorkerProcess& other) {
  return {{"other", ref_of(other)}, {"self_device", "soft0"}, {"other_device", "soft0"}};
}

json with(json fields, const std::string& name, const json& value) {
  fields[name] = value;
  return fields;
}

/// The `Ok` of an injected message; a test failure and null when it is an `Err`.
json ok(const Injected& injected) {
  EXPECT_EQ(injected.status, (ExitStatus{.code = 0, .signal = {}})) << injected.reply;
  EXPECT_TRUE(injected.reply.contains("Ok")) << injected.reply;
  return injected.reply.value("Ok", json{});
}

std::string error_code(const Injected& injected) {
  EXPECT_EQ(injected.status, (ExitStatus{.code = 1, .signal = {}})) << injected.reply;
  return injected.reply.at("Err").at("code");
}

class Stepwise : public ::testing::Test {
 protected:
  WorkerProcess left_{{.identity = "left", .buffers = {"data=4096"}}};
  WorkerProcess right_{{.identity = "right", .buffers = {"data=4096"}}};
};

TEST_F(Stepwise, HandshakeConnectsAndATransferUsesThatPair) {
  EXPECT_EQ(ok(inject(left_, "InitializeQP", pair_with(right_))), true);
  EXPECT_EQ(ok(inject(right_, "InitializeQP", pair_with(left_))), true);
  EXPECT_LT(ok(inject(left_, "GetQpState", pair_with(right_))), ready_to_send);

  const json left_endpoint = ok(inject(left_, "ConnectionInfo", pair_with(right_)));
  const json right_endpoint = ok(inject(right_, "ConnectionInfo", pair_with(left_)));
  EXPECT_EQ(ok(inject(left_, "Connect", with(pair_with(right_), "endpoint", right_endpoint))),
            json{});
  EXPECT_EQ(ok(inject(right_, "Connect", with(pair_with(left_), "endpoint", left_endpoint))),
            json{});
  EXPECT_EQ(ok(inject(left_, "GetQpState", pair_with(right_))), ready_to_send);
  EXPECT_EQ(ok(inject(right_, "GetQpState", pair_with(left_))), ready_to_send);

  const json remote = ok(inject(right_, "LookupBuffer", {{"name", "data"}}));
  const json local = ok(inject(left_, "LookupBuffer", {{"name", "data"}}));
  const auto bytes = pattern(4096, 9);
  write_memory(left_.pid(), local.at("addr"), bytes);
  const json result = ok(inject(left_, "Transfer",
                                {{"op", "put"},
                                 {"local", {{"buffer", "data"}, {"offset", 0}}},
                                 {"remote", remote},
                                 {"offset", 0},
                                 {"length", 4096},
                                 {"timeout_ms", 10'000}}));
  EXPECT_EQ(result.at("bytes"), 4096);
  EXPECT_EQ(read_memory(right_.pid(), remote.at("addr"), 4096), bytes);

  // Over the very pair that was made by hand.
  const json pairs = ok(inject(left_, "GetStats", json::object())).at("queue_pairs");
  ASSERT_EQ(pairs.size(), 1U) << pairs;
  EXPECT_EQ(pairs[0].at("queue_pair").at("qp_num"), left_endpoint.at("qp_num"));
  EXPECT_EQ(pairs[0].at("queue_pair").at("peer_qp_num"), right_endpoint.at("qp_num"));
  EXPECT_GE(pairs[0].at("operations"), 1);
}

TEST_F(Stepwise, InitializeTwiceKeepsThePair) {
  EXPECT_EQ(ok(inject(left_, "InitializeQP", pair_with(right_))), true);
  const json first = ok(inject(left_, "ConnectionInfo", pair_with(right_)));
  EXPECT_EQ(ok(inject(left_, "InitializeQP", pair_with(right_))), true);
  EXPECT_EQ(ok(inject(left_, "ConnectionInfo", pair_with(right_))), first);
}

TEST_F(Stepwise, ASecondConnectIsANoOpForTheSameEndpointAndAnErrorForAnother) {
  ok(inject(left_, "InitializeQP", pair_with(right_)));
  ok(inject(right_, "InitializeQP", pair_with(left_)));
  const json endpoint = ok(inject(right_, "ConnectionInfo", pair_with(left_)));
  ok(inject(left_, "Connect", with(pair_with(right_), "endpoint", endpoint)));
  EXPECT_EQ(ok(inject(left_, "Connect", with(pair_with(right_), "endpoint", endpoint))), json{});

  json other = endpoint;
  other["qp_num"] = endpoint.at("qp_num").get<std::uint32_t>() + 1;
  EXPECT_EQ(error_code(inject(left_, "Connect", with(pair_with(right_), "endpoint", other))),
            "ConnectConflict");
  EXPECT_EQ(ok(inject(left_, "GetQpState", pair_with(right_))), ready_to_send);
}

TEST_F(Stepwise, WhatWasNeverInitializedIsNotFound) {
  EXPECT_EQ(error_code(inject(left_, "ConnectionInfo", pair_with(right_))), "NotFound");
  EXPECT_EQ(error_code(inject(left_, "GetQpState", pair_with(right_))), "NotFound");
  ok(inject(right_, "InitializeQP", pair_with(left_)));
  const json endpoint = ok(inject(right_, "ConnectionInfo", pair_with(left_)));
  EXPECT_EQ(error_code(inject(left_, "Connect", with(pair_with(right_), "endpoint", endpoint))),
            "NotFound");
}

TEST_F(Stepwise, APairMadeByHandAnswersAnIncomingConnect) {
  ok(inject(left_, "InitializeQP", pair_with(right_)));
  const json endpoint = ok(inject(left_, "ConnectionInfo", pair_with(right_)));
  const json pair = ok(inject(right_, "RequestQueuePair", pair_with(left_)));
  EXPECT_EQ(pair.at("state"), ready_to_send);
  EXPECT_EQ(pair.at("peer_qp_num"), endpoint.at("qp_num"));
}

}  // namespace
}  // namespace danaus::integration
