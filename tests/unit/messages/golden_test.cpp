// The recorded bytes of version 1 (messages/golden/vectors.json), made by another library.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "support.hpp"

namespace danaus::messages {
namespace {

using nlohmann::json;
using test::hex;

const json& golden() {
  static const json vectors =
      json::parse(std::ifstream{DANAUS_MESSAGES_DIR "/golden/vectors.json"});
  return vectors;
}

std::string label(const json& vector) {
  return vector.at("kind").get<std::string>() + ": " + vector.at("name").get<std::string>();
}

/// What a part decodes to, as JSON, and its bytes when encoded again.
struct Reading {
  json meaning;
  Bytes encoded;
};

std::expected<Reading, Error> read(const std::string& kind, std::span<const std::byte> bytes) {
  if (kind == "header") {
    const auto header = decode_header(bytes);
    if (!header) {
      return std::unexpected{header.error().error};
    }
    return Reading{to_json(*header), encode_header(*header)};
  }
  if (kind == "message") {
    const auto message = decode_message(bytes);
    if (!message) {
      return std::unexpected{message.error()};
    }
    return Reading{to_json(*message), encode_message(*message)};
  }
  const auto reply = decode_reply(bytes);
  if (!reply) {
    return std::unexpected{reply.error()};
  }
  return Reading{to_json(*reply), encode_reply(*reply)};
}

/// Calls `visit.operator()<M>()` for the message type called `name`.
template <class Variant, class Visitor, std::size_t... Index>
void visit_type(std::string_view name, Visitor visit, std::index_sequence<Index...> /*all*/) {
  const auto attempt = [&]<class M>() {
    if (M::name == name) {
      visit.template operator()<M>();
    }
  };
  (attempt.template operator()<std::variant_alternative_t<Index, Variant>>(), ...);
}

template <class Visitor>
void visit_message_type(std::string_view name, Visitor visit) {
  visit_type<ManagerMessage>(name, visit,
                             std::make_index_sequence<std::variant_size_v<ManagerMessage>>{});
  visit_type<ServiceMessage>(name, visit,
                             std::make_index_sequence<std::variant_size_v<ServiceMessage>>{});
}

TEST(GoldenVectors, DecodeToTheirMeaningAndEncodeToTheSameBytes) {
  ASSERT_GT(golden().at("vectors").size(), 50U);
  for (const json& vector : golden().at("vectors")) {
    const auto reading = read(vector.at("kind"), hex(vector.at("hex").get<std::string>()));
    ASSERT_TRUE(reading) << label(vector) << ": " << reading.error().message();
    EXPECT_EQ(reading->meaning, vector.at("json")) << label(vector);
    EXPECT_EQ(to_hex(reading->encoded), vector.at("hex").get<std::string>()) << label(vector);
  }
}

TEST(GoldenVectors, MessagesCanBeWrittenInJson) {
  for (const json& vector : golden().at("vectors")) {
    if (vector.at("kind") == "message") {
      const auto entry = vector.at("json").begin();
      const auto message = message_from_json(entry.key(), entry.value());
      ASSERT_TRUE(message) << label(vector) << ": " << message.error().message();
      EXPECT_EQ(to_hex(encode_message(*message)), vector.at("hex").get<std::string>())
          << label(vector);
    }
  }
}

TEST(GoldenVectors, RepliesHaveTheTypeThatTheirMessagePromises) {
  for (const json& vector : golden().at("vectors")) {
    if (!vector.contains("to")) {
      continue;
    }
    int visited = 0;
    visit_message_type(vector.at("to").get<std::string>(), [&]<class M>() {
      ++visited;
      const auto reply = decode_reply(hex(vector.at("hex").get<std::string>()));
      ASSERT_TRUE(reply && reply->has_value()) << label(vector);
      const auto value = decode<typename M::Reply>(reply->value());
      ASSERT_TRUE(value) << label(vector) << ": " << value.error().message();
      EXPECT_EQ(encode(*value), reply->value()) << label(vector);
    });
    EXPECT_EQ(visited, 1) << label(vector);
  }
}

TEST(GoldenVectors, CoverEveryMessageAndItsReply) {
  std::set<std::string> messages;
  std::set<std::string> replies;
  for (const json& vector : golden().at("vectors")) {
    if (vector.at("kind") == "message") {
      messages.insert(vector.at("json").begin().key());
    } else if (vector.contains("to")) {
      replies.insert(vector.at("to").get<std::string>());
    }
  }
  for (const std::string_view name : all_message_names()) {
    EXPECT_TRUE(messages.contains(std::string{name})) << name;
    EXPECT_TRUE(replies.contains(std::string{name})) << name;
  }
}

TEST(GoldenVectors, WhatVersion1AcceptsStaysAccepted) {
  ASSERT_FALSE(golden().at("accepted").empty());
  for (const json& vector : golden().at("accepted")) {
    const auto reading = read(vector.at("kind"), hex(vector.at("hex").get<std::string>()));
    ASSERT_TRUE(reading) << label(vector) << ": " << reading.error().message();
    EXPECT_EQ(reading->meaning, vector.at("json")) << label(vector);
    EXPECT_EQ(to_hex(reading->encoded), vector.at("canonical").get<std::string>()) << label(vector);
  }
}

TEST(GoldenVectors, WhatIsRefusedHasItsErrorCode) {
  ASSERT_FALSE(golden().at("refused").empty());
  for (const json& vector : golden().at("refused")) {
    const auto reading = read(vector.at("kind"), hex(vector.at("hex").get<std::string>()));
    ASSERT_FALSE(reading) << label(vector);
    EXPECT_EQ(to_string(reading.error().code()), vector.at("error").get<std::string>())
        << label(vector);
    EXPECT_FALSE(reading.error().message().empty()) << label(vector);
  }
}

TEST(GoldenVectors, EveryTruncationIsMalformed) {
  for (const json& vector : golden().at("vectors")) {
    const Bytes bytes = hex(vector.at("hex").get<std::string>());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto reading = read(vector.at("kind"), std::span{bytes}.first(size));
      ASSERT_FALSE(reading) << label(vector) << " cut to " << size;
      ASSERT_EQ(reading.error().code(), ErrorCode::malformed) << label(vector);
    }
  }
}

}  // namespace
}  // namespace danaus::messages
