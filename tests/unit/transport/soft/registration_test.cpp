// Registering memory: what is refused, and what the refusal says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include "soft_fixture.hpp"

namespace danaus::transport::soft::testing {
namespace {

using ::testing::HasSubstr;

class SoftRegistration : public ::testing::Test {
 protected:
  std::expected<std::unique_ptr<MemoryRegion>, Error> register_at(
      std::uint64_t address, std::uint64_t size, AccessFlags access = full_access) {
    return domain_->register_memory(address, size, access);
  }

  RunningEngine engine_{RunningEngine::passive()};
  std::unique_ptr<Domain> domain_{engine_.open()};
};

TEST_F(SoftRegistration, RefusesAnEmptyRangeAndOneThatWraps) {
  const Pages pages{4096};
  const auto empty = register_at(pages.address(), 0);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code(), ErrorCode::invalid_argument);
  const auto wrapping = register_at(pages.address(), ~std::uint64_t{0});
  ASSERT_FALSE(wrapping);
  EXPECT_EQ(wrapping.error().code(), ErrorCode::invalid_argument);
}

TEST_F(SoftRegistration, RefusesARangeWithAHoleAndNamesBoth) {
  const Pages pages{3 * 4096};
  pages.unmap(4096, 4096);
  const auto region = register_at(pages.address(), pages.size());
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::registration_failed);
  EXPECT_THAT(region.error().message(), HasSubstr(fmt::format("{:#x}", pages.address())));
  EXPECT_THAT(region.error().message(), HasSubstr(fmt::format("{:#x}", pages.address() + 4096)));
  EXPECT_TRUE(register_at(pages.address(), 4096));
  EXPECT_FALSE(register_at(pages.address() + 4096, 1));
}

TEST_F(SoftRegistration, RefusesWriteAccessToReadOnlyMemory) {
  const Pages pages{4096, PROT_READ};
  const auto writable = register_at(pages.address(), 4096);
  ASSERT_FALSE(writable);
  EXPECT_EQ(writable.error().code(), ErrorCode::registration_failed);
  EXPECT_THAT(writable.error().message(), HasSubstr("read-only"));
  EXPECT_TRUE(register_at(pages.address(), 4096, AccessFlags::remote_read));
}

TEST_F(SoftRegistration, RefusesMemoryThatCannotBeRead) {
  const Pages pages{4096, PROT_NONE};
  EXPECT_FALSE(register_at(pages.address(), 4096, AccessFlags::remote_read));
}

TEST_F(SoftRegistration, RefusesTheVeryEndOfTheAddressSpace) {
  const auto region = register_at(~std::uint64_t{0} - 4095, 4096);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::registration_failed);
}

TEST_F(SoftRegistration, TakesASparseRangeOfFiveGibibytes) {
  const Pages pages{std::size_t{5} << 30U};
  const auto region = register_at(pages.address(), pages.size());
  ASSERT_TRUE(region);
  EXPECT_EQ((*region)->size(), pages.size());
  EXPECT_EQ((*region)->remote_address(), pages.address());
}

TEST_F(SoftRegistration, KeysAreNeverTheSameTwice) {
  const Pages pages{4096};
  const auto one = must(register_at(pages.address(), 4096));
  const auto two = must(register_at(pages.address(), 4096));
  EXPECT_NE(one->rkey(), two->rkey());
  EXPECT_NE(one->lkey(), two->lkey());
  EXPECT_NE(one->rkey(), one->lkey());
}

}  // namespace
}  // namespace danaus::transport::soft::testing
