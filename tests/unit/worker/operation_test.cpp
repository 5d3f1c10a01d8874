#include "worker/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace danaus::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::Opcode;

class MakeOperationTest : public ::testing::Test {
 protected:
  MakeOperationTest() {
    keys_.lkeys = {{"soft0", 1}, {"soft1", 2}};
    remote_.owner = {"b", ""};
    remote_.device_name = "soft0";
    remote_.addr = 1000;
    remote_.rkey = 10;
    remote_.size = 8;
    remote_.alternates = {{.device_name = "soft1", .transport = "soft", .addr = 2000, .rkey = 20}};
  }

  std::array<std::byte, 8> memory_{};
  BufferKeys keys_;
  messages::RdmaBuffer remote_;
};

TEST(SizeRule, MovesAllOfTheSource) {
  EXPECT_EQ(bytes_to_move(Opcode::rdma_write, 3, 5), 3U);
  EXPECT_EQ(bytes_to_move(Opcode::rdma_read, 5, 3), 3U);
  EXPECT_EQ(bytes_to_move(Opcode::rdma_write, 5, 5), 5U);
  EXPECT_EQ(bytes_to_move(Opcode::rdma_read, 0, 0), 0U);
}

TEST(SizeRule, RefusesASmallerDestinationAndNamesBothSizes) {
  for (const auto& refused :
       {bytes_to_move(Opcode::rdma_write, 51, 37), bytes_to_move(Opcode::rdma_read, 37, 51)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::size_mismatch);
    EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("51"), HasSubstr("37")));
  }
}

TEST_F(MakeOperationTest, TakesTheKeysOfTheTwoDevices) {
  const auto operation =
      make_operation(Opcode::rdma_write, memory_, keys_, "soft0", remote_, "soft1");
  ASSERT_TRUE(operation);
  EXPECT_EQ(operation->opcode, Opcode::rdma_write);
  EXPECT_EQ(operation->local_address, reinterpret_cast<std::uintptr_t>(memory_.data()));
  EXPECT_EQ(operation->lkey, 1U);
  EXPECT_EQ(operation->remote_address, 2000U);
  EXPECT_EQ(operation->rkey, 20U);
  EXPECT_EQ(operation->length, 8U);
}

TEST_F(MakeOperationTest, NamesTheDeviceThatABufferIsNotRegisteredWith) {
  for (const auto& refused :
       {make_operation(Opcode::rdma_write, memory_, keys_, "mlx5_0", remote_, "soft0"),
        make_operation(Opcode::rdma_write, memory_, keys_, "soft0", remote_, "mlx5_0")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::transport_mismatch);
    EXPECT_THAT(refused.error().message(), HasSubstr("mlx5_0"));
  }
}

}  // namespace
}  // namespace danaus::worker
