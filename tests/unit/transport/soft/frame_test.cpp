// The frames of a data connection: round trips, and everything that must be refused.
#include "transport/soft/frame.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

namespace danaus::transport::soft {
namespace {

Hello some_hello() {
  return {.destination_queue_pair = 0x123456,
          .source_queue_pair = 0xFFFFFF,
          .token = messages::random_bytes<16>()};
}

template <class Frame, class Decode>
bool refuses(Frame frame, Decode decode) {
  const auto bytes = encode(frame);
  return !decode(std::span<const std::byte, sizeof(Frame)>{bytes});
}

TEST(SoftFrame, AHelloSurvivesItsJourney) {
  const Hello hello = some_hello();
  const auto bytes = encode(hello);
  const auto decoded = decode_hello(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->destination_queue_pair, hello.destination_queue_pair);
  EXPECT_EQ(decoded->source_queue_pair, hello.source_queue_pair);
  EXPECT_EQ(decoded->token, hello.token);
}

TEST(SoftFrame, AHelloBeginsWithItsNameInPlainText) {
  const auto bytes = encode(some_hello());
  EXPECT_EQ(std::memcmp(bytes.data(), "DANAUSD1", 8), 0);
}

TEST(SoftFrame, RefusesAHelloOfAnotherProtocolOrVersion) {
  Hello magic = some_hello();
  magic.magic ^= 1U;
  EXPECT_TRUE(refuses(magic, decode_hello));
  Hello version = some_hello();
  version.version = data_protocol_version + 1;
  EXPECT_TRUE(refuses(version, decode_hello));
  Hello reserved = some_hello();
  reserved.reserved = 1;
  EXPECT_TRUE(refuses(reserved, decode_hello));
}

TEST(SoftFrame, RefusesAHelloWithImpossibleQueuePairNumbers) {
  Hello none = some_hello();
  none.destination_queue_pair = 0;
  EXPECT_TRUE(refuses(none, decode_hello));
  Hello large = some_hello();
  large.source_queue_pair = max_queue_pair_number + 1;
  EXPECT_TRUE(refuses(large, decode_hello));
}

TEST(SoftFrame, RefusesRequestsLongerThanAWorkRequest) {
  RequestHeader request{.length = max_work_request_length};
  EXPECT_FALSE(refuses(request, decode_request));
  request.length = max_work_request_length + 1;
  EXPECT_TRUE(refuses(request, decode_request));
  request.length = ~std::uint64_t{0};
  EXPECT_TRUE(refuses(request, decode_request));
}

TEST(SoftFrame, RefusesRequestsWithUnknownOpcodes) {
  RequestHeader request{.opcode = static_cast<Opcode>(2)};
  EXPECT_TRUE(refuses(request, decode_request));
}

TEST(SoftFrame, RefusesRequestsThatSayMoreThanTheirOpcodeNeeds) {
  EXPECT_TRUE(refuses(RequestHeader{.flags = 1}, decode_request));
  EXPECT_TRUE(refuses(RequestHeader{.reserved = 1}, decode_request));
  EXPECT_TRUE(refuses(RequestHeader{.operands = {0, 1}}, decode_request));
}

RequestHeader some_atomic(Opcode opcode) {
  return {.opcode = opcode, .length = 8, .remote_address = 4096, .operands = {1}};
}

TEST(SoftFrame, TakesAtomicsWithTheirOperandsAndNoMore) {
  RequestHeader add = some_atomic(Opcode::atomic_fetch_and_add);
  EXPECT_FALSE(refuses(add, decode_request));
  add.operands[1] = 1;
  EXPECT_TRUE(refuses(add, decode_request)) << "a fetch-add swaps nothing";
  RequestHeader swap = some_atomic(Opcode::atomic_compare_and_swap);
  swap.operands = {~std::uint64_t{0}, ~std::uint64_t{0}};
  EXPECT_FALSE(refuses(swap, decode_request));
  swap.operands[2] = 1;
  EXPECT_TRUE(refuses(swap, decode_request));
}

TEST(SoftFrame, RefusesAtomicsOfAWrongForm) {
  for (const Opcode opcode : {Opcode::atomic_fetch_and_add, Opcode::atomic_compare_and_swap}) {
    for (const std::uint64_t length : {0U, 4U, 7U, 9U, 16U}) {
      RequestHeader request = some_atomic(opcode);
      request.length = length;
      EXPECT_TRUE(refuses(request, decode_request)) << length;
    }
    for (const std::uint64_t offset : {1U, 2U, 4U, 7U}) {
      RequestHeader request = some_atomic(opcode);
      request.remote_address += offset;
      EXPECT_TRUE(refuses(request, decode_request)) << offset;
    }
  }
}

TEST(SoftFrame, TakesAnImmediateOf32BitsInItsPlace) {
  RequestHeader request{.opcode = Opcode::rdma_write_with_immediate, .operands = {0, 0xFFFFFFFF}};
  EXPECT_FALSE(refuses(request, decode_request));
  request.operands[1] = 0x100000000;
  EXPECT_TRUE(refuses(request, decode_request));
  request.operands = {1, 1};
  EXPECT_TRUE(refuses(request, decode_request));
}

TEST(SoftFrame, RefusesResponsesThatNoResponderGives) {
  EXPECT_FALSE(refuses(Response{}, decode_response));
  EXPECT_TRUE(refuses(Response{.kind = static_cast<ResponseKind>(0)}, decode_response));
  EXPECT_TRUE(refuses(Response{.reserved = 1}, decode_response));
  EXPECT_FALSE(refuses(Response{.length = ~std::uint64_t{0}}, decode_response)) << "an atomic's";
  const auto invalid = static_cast<std::uint8_t>(CompletionStatus::remote_invalid_request);
  EXPECT_TRUE(refuses(Response{.status = invalid, .length = 1}, decode_response));
  const auto flushed = static_cast<std::uint8_t>(CompletionStatus::work_request_flushed);
  EXPECT_TRUE(refuses(Response{.status = flushed}, decode_response));
  EXPECT_TRUE(refuses(Response{.status = 200}, decode_response));
  EXPECT_TRUE(refuses(Response{.kind = ResponseKind::data}, decode_response)) << "empty data";
  EXPECT_TRUE(refuses(Response{.kind = ResponseKind::data, .length = max_chunk_length + 1},
                      decode_response));
}

RC_GTEST_PROP(SoftFrame, ARequestSurvivesItsJourney,
              (std::uint32_t sequence, bool put, std::uint64_t address, std::uint64_t rkey)) {
  const RequestHeader request{.sequence = sequence,
                              .opcode = put ? Opcode::rdma_write : Opcode::rdma_read,
                              .length = rkey % (max_work_request_length + 1),
                              .remote_address = address,
                              .rkey = rkey};
  const auto bytes = encode(request);
  const auto decoded = decode_request(bytes);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(encode(*decoded) == bytes);
}

RC_GTEST_PROP(SoftFrame, WhatIsDecodedFromAnyBytesIsWithinBounds, ()) {
  const auto bytes = *rc::gen::container<std::array<std::uint8_t, sizeof(Response)>>(
      rc::gen::arbitrary<std::uint8_t>());
  std::array<std::byte, sizeof(Response)> frame{};
  std::memcpy(frame.data(), bytes.data(), frame.size());
  if (const auto response = decode_response(frame)) {
    const bool data = response->kind == ResponseKind::data;
    RC_ASSERT(!data || (response->length != 0 && response->length <= max_chunk_length));
    RC_ASSERT(response->status == 0 || response->length == 0);
  }
}

}  // namespace
}  // namespace danaus::transport::soft
