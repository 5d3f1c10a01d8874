#include "tools/buffer_option.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "messages/actor_ref.hpp"
#include "tools/exit_code.hpp"
#include "tools/quantity.hpp"

namespace danaus::tools {
namespace {

BufferOption parse_buffer_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UsageError{fmt::format("--buffer \"{}\": write NAME=SIZE, e.g. weights=64MiB", text)};
  }
  BufferOption option{.name = text.substr(0, equals), .size = 0};
  // The same letters as identities: no '/', which ends a reference, and nothing to quote.
  if (!messages::is_valid_identity(option.name)) {
    throw UsageError{
        fmt::format("--buffer \"{}\": a buffer's name has 1 to {} letters, digits, '.', '_' or '-'",
                    text, messages::max_identity_length)};
  }
  const auto size = parse_size(std::string_view{text}.substr(equals + 1));
  if (!size) {
    throw UsageError{fmt::format("--buffer {}: {}", option.name, size.error())};
  }
  if (*size == 0) {
    throw UsageError{fmt::format("--buffer {}: a buffer has at least 1 byte", option.name)};
  }
  option.size = *size;
  return option;
}

}  // namespace

std::vector<BufferOption> parse_buffer_options(const std::vector<std::string>& texts) {
  std::vector<BufferOption> options;
  for (const std::string& text : texts) {
    BufferOption option = parse_buffer_option(text);
    if (std::ranges::find(options, option.name, &BufferOption::name) != options.end()) {
      throw UsageError{fmt::format("--buffer {} is given twice", option.name)};
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace danaus::tools
