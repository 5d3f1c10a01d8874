// messages/SPEC.md says what the code does: every message, field, type, error code and limit.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "messages/codec.hpp"
#include "messages/detail/types.hpp"
#include "messages/message.hpp"

namespace danaus::messages {
namespace {

const std::string& spec() {
  static const std::string text = [] {
    std::ifstream file{DANAUS_MESSAGES_DIR "/SPEC.md"};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  }();
  return text;
}

/// The section under the heading "### `name`", up to the next heading.
std::string section(std::string_view name) {
  const auto start = spec().find("\n### `" + std::string{name} + "`");
  if (start == std::string::npos) {
    return "";
  }
  return spec().substr(start + 1, spec().find("\n#", start + 1) - start - 1);
}

/// Each field has a row: | `name` | type | required or optional | meaning |
template <Described T>
void expect_fields_in(const std::string& text, std::string_view owner) {
  const auto expect_row = [&]<class Value>(const Field<T, Value>& field) {
    const std::string row = "| `" + std::string{field.name} + "` | ";
    const auto at = text.find(row);
    ASSERT_NE(at, std::string::npos) << owner << "." << field.name << " has no row";
    const auto line = text.substr(at, text.find('\n', at) - at);
    if constexpr (!Described<Value> && !detail::is_optional<Value> && !detail::is_list<Value>) {
      const auto type = std::string{detail::type_name<Value>()};
      EXPECT_EQ(line.find(type), row.size()) << owner << "." << field.name << " is " << type;
    }
    EXPECT_EQ(line.find("| optional |") == std::string::npos, field.required)
        << owner << "." << field.name;
  };
  std::apply([&](const auto&... field) { (expect_row(field), ...); }, T::fields());
}

template <class... M>
void expect_messages(const std::variant<M...>* /*type*/) {
  (
      [] {
        const auto text = section(M::name);
        ASSERT_NE(text, "") << M::name << " has no section";
        EXPECT_NE(text.find("Reply: "), std::string::npos) << M::name;
        expect_fields_in<M>(text, M::name);
      }(),
      ...);
}

TEST(Spec, DescribesEveryMessageAndField) {
  expect_messages(static_cast<ManagerMessage*>(nullptr));
  expect_messages(static_cast<ServiceMessage*>(nullptr));
}

template <class T>
void expect_value(std::string_view name) {
  const auto text = section(name);
  ASSERT_NE(text, "") << name << " has no section";
  expect_fields_in<T>(text, name);
}

TEST(Spec, DescribesEveryValueAndTheHeader) {
  expect_value<Header>("header");
  expect_value<Addressee>("to");
  expect_value<Sender>("from");
  expect_value<ActorRef>("ActorRef");
  expect_value<RdmaBuffer>("RdmaBuffer");
  expect_value<AlternateRegistration>("AlternateRegistration");
  expect_value<QpInfo>("QpInfo");
  expect_value<SoftEndpoint>("SoftEndpoint");
  expect_value<QueuePairDescriptor>("QueuePairDescriptor");
  expect_value<DeviceInfo>("DeviceInfo");
  expect_value<NamedBuffer>("NamedBuffer");
  expect_value<LocalRange>("LocalRange");
  expect_value<TransferResult>("TransferResult");
  expect_value<AtomicResult>("AtomicResult");
  expect_value<ConnectPeerResult>("ConnectPeerResult");
  expect_value<Stats>("Stats");
  expect_value<QueuePairStats>("QueuePairStats");
}

TEST(Spec, ListsEveryErrorCode) {
  for (const ErrorCode code : all_error_codes()) {
    const auto row = "\n| `" + std::string{to_string(code)} + "` | ";
    EXPECT_NE(spec().find(row), std::string::npos) << to_string(code);
  }
}

TEST(Spec, StatesTheLimits) {
  for (const std::size_t limit : {max_part_size, max_depth, max_values, max_identity_length}) {
    EXPECT_NE(spec().find("| " + std::to_string(limit) + " |"), std::string::npos) << limit;
  }
}

}  // namespace
}  // namespace danaus::messages
