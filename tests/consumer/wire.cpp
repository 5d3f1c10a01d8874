// Speaks the wire format without the rest of the library.
#include <cstdio>

#include "messages/codec.hpp"
#include "messages/envelope.hpp"

int main() {
  namespace messages = danaus::messages;
  const messages::Message sent = messages::ServiceMessage{messages::LookupBuffer{"weights"}};
  const auto received = messages::decode_message(messages::encode_message(sent));
  const auto refused = messages::decode_header({});
  if (!received || refused) {
    return 1;
  }
  std::printf("wire: %.*s\n", static_cast<int>(messages::message_name(*received).size()),
              messages::message_name(*received).data());
  try {
    throw danaus::Error{refused.error().error};
  } catch (const danaus::Error& error) {
    return error.code() == danaus::ErrorCode::malformed ? 0 : 1;
  }
}
