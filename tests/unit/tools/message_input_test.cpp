#include "tools/message_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/exit_code.hpp"

namespace danaus::tools {
namespace {

using messages::ManagerMessage;
using messages::Message;
using messages::ServiceMessage;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view name, std::string_view text) {
  try {
    (void)parse_message(name, text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MessageInput, MakesAMessageOfANameAndJson) {
  EXPECT_EQ(parse_message("RequestBuffer", R"({"addr": 4096, "size": 18446744073709551615})"),
            (Message{ManagerMessage{messages::RequestBuffer{4096, 18446744073709551615ULL}}}));
}

TEST(MessageInput, TakesNoTextForNoFields) {
  EXPECT_EQ(parse_message("ListDevices", ""), (Message{ServiceMessage{messages::ListDevices{}}}));
}

TEST(MessageInput, TakesAReferenceAsAStringOrAsAnObject) {
  const Message expected{ManagerMessage{
      messages::GetQpState{{.id = "b", .at = "tcp://127.0.0.1:5"}, "soft0", "soft1"}}};
  EXPECT_EQ(parse_message("GetQpState", R"({"other": "b@tcp://127.0.0.1:5",
                                            "self_device": "soft0", "other_device": "soft1"})"),
            expected);
  EXPECT_EQ(parse_message("GetQpState", R"({"other": {"id": "b", "at": "tcp://127.0.0.1:5"},
                                            "self_device": "soft0", "other_device": "soft1"})"),
            expected);
}

TEST(MessageInput, ExpandsReferencesAtAnyDepth) {
  auto value = nlohmann::json::parse(
      R"({"remote": {"owner": "a@tcp://127.0.0.1:5"}, "list": [{"other": "p"}], "id": "x@y"})");
  expand_references(value);
  EXPECT_EQ(value, nlohmann::json::parse(
                       R"({"remote": {"owner": {"id": "a", "at": "tcp://127.0.0.1:5"}},
                           "list": [{"other": {"id": "p", "at": ""}}], "id": "x@y"})"));
}

TEST(MessageInput, NamesTheFieldOfABadReference) {
  EXPECT_THAT(refusal("GetQpState", R"({"other": "b@udp://nowhere", "self_device": "",
                                        "other_device": ""})"),
              AllOf(HasSubstr("\"other\""), HasSubstr("udp://nowhere")));
}

TEST(MessageInput, ListsTheNamesForAnUnknownMessage) {
  const std::string text = refusal("RequestBufer", "{}");
  EXPECT_THAT(text, HasSubstr("did you mean \"RequestBuffer\"?"));
  for (const std::string_view name : messages::all_message_names()) {
    EXPECT_THAT(text, HasSubstr(std::string{name}));
  }
}

TEST(MessageInput, ListsTheFieldsForAnUnknownOne) {
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": 1, "size": 1, "sise": 2})"),
              AllOf(HasSubstr("no field \"sise\""), HasSubstr("did you mean \"size\"?"),
                    HasSubstr("{addr: u64, size: u64}")));
}

TEST(MessageInput, NamesAMissingField) {
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": 1})"),
              AllOf(HasSubstr("needs the field \"size\""), HasSubstr("{addr: u64, size: u64}")));
}

TEST(MessageInput, SuspectsAMistypedFieldBehindAMissingOne) {
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": 1, "sise": 2})"),
              HasSubstr("did you mean \"size\"?"));
}

TEST(MessageInput, NamesAFieldOfTheWrongType) {
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": "1", "size": 1})"), HasSubstr("addr"));
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": -1, "size": 1})"), HasSubstr("addr"));
  EXPECT_THAT(refusal("RequestBuffer", R"({"addr": 18446744073709551616, "size": 1})"),
              HasSubstr("addr"));
}

TEST(MessageInput, NamesAnUnknownFieldWithinAValue) {
  EXPECT_THAT(refusal("Transfer", R"({"op": "put", "local": {"buffer": "b", "ofset": 1},
                                      "remote": {}, "length": 1, "timeout_ms": 1})"),
              HasSubstr("ofset"));
}

TEST(MessageInput, NeedsAnObject) {
  EXPECT_THAT(refusal("RequestBuffer", "[1, 2]"), HasSubstr("JSON object, not array"));
  EXPECT_THAT(refusal("ListDevices", "7"), HasSubstr("JSON object, not number"));
}

TEST(MessageInput, TellsWhereJsonIsBroken) {
  EXPECT_THAT(refusal("RequestBuffer", "{\"addr\": 1,\n  size: 2}"),
              AllOf(HasSubstr("broken JSON"), HasSubstr("line 2"), HasSubstr("column 3")));
}

TEST(MessageInput, SurvivesDeepNesting) {
  constexpr std::size_t depth = 200'000;
  EXPECT_THAT(refusal("RequestBuffer", std::string(depth, '[')), HasSubstr("broken JSON"));
  std::string nested =
      R"({"addr": )" + std::string(depth, '[') + std::string(depth, ']') + R"(, "size": 1})";
  EXPECT_THAT(refusal("RequestBuffer", nested), HasSubstr("addr"));
}

TEST(MessageInput, ReadsNoMoreThanItsBound) {
  std::istringstream fits{std::string(10, 'x')};
  EXPECT_EQ(read_bounded(fits, 10), std::string(10, 'x'));
  std::istringstream too_long{std::string(11, 'x')};
  EXPECT_THROW((void)read_bounded(too_long, 10), UsageError);
}

}  // namespace
}  // namespace danaus::tools
