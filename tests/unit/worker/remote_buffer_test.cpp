#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/codec.hpp"
#include "test_workers.hpp"

namespace danaus {
namespace {

using testing::code_name;
using testing::error_of;

messages::RdmaBuffer full_handle() {
  messages::RdmaBuffer buffer;
  buffer.owner = {"b", "tcp://127.0.0.1:7000"};
  buffer.mr_id = 3;
  buffer.addr = 0x7f00'0000'1000;
  buffer.size = 4096;
  buffer.rkey = 0xffff'ffff'ffff'fffe;
  buffer.lkey = 7;
  buffer.device_name = "mlx5_0";
  buffer.transport = "verbs";
  buffer.incarnation.fill(std::byte{0xab});
  buffer.alternates = {
      {.device_name = "soft0", .transport = "soft", .addr = 0x7f00'0000'2000, .rkey = 9}};
  return buffer;
}

std::string encoded(const messages::RdmaBuffer& buffer) {
  return RemoteBuffer{buffer}.serialize();
}

Error refusal_of(const std::string& bytes) {
  return error_of([&bytes] { static_cast<void>(RemoteBuffer::deserialize(bytes)); });
}

TEST(RemoteBuffer, IsTheSameAfterSerialisation) {
  const RemoteBuffer handle{full_handle()};
  EXPECT_EQ(RemoteBuffer::deserialize(handle.serialize()).wire(), handle.wire());
}

TEST(RemoteBuffer, RefusesBytesThatAreNoHandle) {
  const std::string whole = encoded(full_handle());
  for (const std::string& bytes : {std::string{}, std::string{"nonsense"},
                                   whole.substr(0, whole.size() - 1), std::string(1 << 20, '\0')}) {
    EXPECT_EQ(code_name(refusal_of(bytes)), "Malformed") << bytes.size() << " bytes";
  }
}

TEST(RemoteBuffer, RefusesHandlesWhoseRangesWrap) {
  messages::RdmaBuffer wraps = full_handle();
  wraps.addr = ~std::uint64_t{0} - 100;
  EXPECT_EQ(code_name(refusal_of(encoded(wraps))), "Malformed");
  messages::RdmaBuffer alternate = full_handle();
  alternate.alternates[0].addr = ~std::uint64_t{0} - 100;
  EXPECT_EQ(code_name(refusal_of(encoded(alternate))), "Malformed");
  messages::RdmaBuffer owner = full_handle();
  owner.owner.id = "not an identity";
  EXPECT_EQ(code_name(refusal_of(encoded(owner))), "Malformed");
}

TEST(RemoteBuffer, KeepsAnEmptySliceOnItsWay) {
  const RemoteBuffer empty = RemoteBuffer{full_handle()}.slice(4096, 0);
  EXPECT_EQ(RemoteBuffer::deserialize(empty.serialize()).size(), 0U);
}

TEST(RemoteBuffer, SlicesEveryRegistration) {
  const RemoteBuffer part = RemoteBuffer{full_handle()}.slice(0x100, 0x20);
  EXPECT_EQ(part.size(), 0x20U);
  EXPECT_EQ(part.wire().addr, 0x7f00'0000'1100U);
  EXPECT_EQ(part.wire().alternates[0].addr, 0x7f00'0000'2100U);
  const RemoteBuffer again = part.slice(0x10, 0x10);
  EXPECT_EQ(again.wire().addr, 0x7f00'0000'1110U);
}

TEST(RemoteBuffer, RefusesSlicesBeyondItsEnd) {
  const RemoteBuffer handle{full_handle()};
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{4097, 0},
                                       {4096, 1},
                                       {0, 4097},
                                       {1, ~std::uint64_t{0}}}) {
    const Error error = error_of([&] { static_cast<void>(handle.slice(offset, length)); });
    EXPECT_EQ(code_name(error), "OutOfRange") << offset << ", " << length;
  }
}

}  // namespace
}  // namespace danaus
