#include "tools/message_catalog.hpp"

#include <gtest/gtest.h>

#include "messages/message.hpp"

namespace danaus::tools {
namespace {

TEST(MessageCatalog, ListsEveryMessageOfBothEnumsInOrder) {
  const auto names = messages::all_message_names();
  const auto entries = message_catalog();
  ASSERT_EQ(entries.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(entries[i].name, names[i]);
  }
}

TEST(MessageCatalog, DescribesFieldsWithTheirTypes) {
  EXPECT_EQ(describe(find_message("RequestBuffer")->fields), "{addr: u64, size: u64}");
  EXPECT_EQ(describe(find_message("ListDevices")->fields), "{}");
  EXPECT_EQ(describe(find_message("Transfer")->fields),
            "{op: string, local: LocalRange, remote: RdmaBuffer, offset?: u64, length: u64, "
            "timeout_ms: u32}");
}

TEST(MessageCatalog, NamesTheReply) {
  EXPECT_EQ(find_message("GetQpState")->reply, "u32");
  EXPECT_EQ(find_message("ListBuffers")->reply, "[NamedBuffer]");
  EXPECT_EQ(find_message("ReleaseBuffer")->reply, "null");
}

TEST(MessageCatalog, ExplainsEachStructOnceAfterThoseThatItIsMadeOf) {
  const auto types = type_catalog();
  const auto position = [&](std::string_view name) {
    std::size_t found = types.size();
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i].name == name) {
        EXPECT_EQ(found, types.size()) << name << " is listed twice";
        found = i;
      }
    }
    EXPECT_LT(found, types.size()) << name << " is not listed";
    return found;
  };
  EXPECT_LT(position("ActorRef"), position("RdmaBuffer"));
  EXPECT_LT(position("SoftEndpoint"), position("QpInfo"));
  EXPECT_LT(position("QueuePairDescriptor"), position("QueuePairStats"));
  EXPECT_EQ(describe(types[position("SoftEndpoint")].fields),
            "{address: string, port: u16, unix?: string, token: hex (16 bytes)}");
}

TEST(MessageCatalog, KnowsNoOtherName) {
  EXPECT_EQ(find_message("Frobnicate"), nullptr);
}

}  // namespace
}  // namespace danaus::tools
