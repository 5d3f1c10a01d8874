#include "mailbox/admission.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace danaus::mailbox {
namespace {

TEST(Admission, AdmitsNoMoreThanItsBoundInAll) {
  const auto admission = std::make_shared<Admission>(2, 2);
  const auto first = admission->admit("a", 1);
  const auto second = admission->admit("b", 2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(admission->admit("c", 3));
}

TEST(Admission, AdmitsNoMoreThanItsBoundPerClient) {
  const auto admission = std::make_shared<Admission>(10, 1);
  const auto first = admission->admit("a", 1);
  EXPECT_TRUE(first);
  EXPECT_FALSE(admission->admit("a", 1));
  EXPECT_TRUE(admission->admit("b", 2));
}

TEST(Admission, AdmitsAgainWhenATicketHasBeenGivenBack) {
  const auto admission = std::make_shared<Admission>(1, 1);
  auto first = admission->admit("a", 1);
  EXPECT_FALSE(admission->admit("a", 1));
  first.reset();
  EXPECT_TRUE(admission->admit("a", 1));
}

TEST(Admission, SaysWhenTheLastTicketIsGivenBack) {
  const auto admission = std::make_shared<Admission>(4, 4);
  int calls = 0;
  admission->on_idle([&] { ++calls; });
  auto first = admission->admit("a", 1);
  auto second = admission->admit("a", 1);
  first.reset();
  EXPECT_EQ(calls, 0);
  second.reset();
  EXPECT_EQ(calls, 1);
}

TEST(Admission, TellsATicketThatAnotherConnectionTookItsRoutingId) {
  const auto admission = std::make_shared<Admission>(4, 4);
  const auto before = admission->admit("a", 1);
  EXPECT_TRUE(before->is_same_connection());
  const auto after = admission->admit("a", 2);
  EXPECT_FALSE(before->is_same_connection());
  EXPECT_TRUE(after->is_same_connection());
}

TEST(Admission, ATicketMayOutliveIt) {
  auto admission = std::make_shared<Admission>(1, 1);
  auto ticket = admission->admit("a", 1);
  const std::weak_ptr<Admission> watched = admission;
  admission.reset();
  EXPECT_FALSE(watched.expired());
  ticket.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace danaus::mailbox
