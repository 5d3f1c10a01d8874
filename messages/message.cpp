#include "messages/message.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace danaus::messages {
namespace {

constexpr std::size_t manager_count = std::variant_size_v<ManagerMessage>;
constexpr std::size_t service_count = std::variant_size_v<ServiceMessage>;

constexpr auto names = []<std::size_t... Manager, std::size_t... Service>(
                           std::index_sequence<Manager...>, std::index_sequence<Service...>) {
  return std::array<std::string_view, manager_count + service_count>{
      std::variant_alternative_t<Manager, ManagerMessage>::name...,
      std::variant_alternative_t<Service, ServiceMessage>::name...};
}(std::make_index_sequence<manager_count>{}, std::make_index_sequence<service_count>{});

}  // namespace

std::string_view message_name(const Message& message) noexcept {
  const auto name = []<class M>(const M& /*body*/) { return M::name; };
  return std::visit([&name](const auto& of_one_enum) { return std::visit(name, of_one_enum); },
                    message);
}

std::span<const std::string_view> all_message_names() noexcept {
  return names;
}

}  // namespace danaus::messages
