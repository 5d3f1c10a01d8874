// What a batch says of its failures.
#include "worker/batch_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace danaus::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BatchReport : public ::testing::Test {
 protected:
  BatchReport() {
    keys_.lkeys = {{"soft0", 1}};
    keys_.devices = {{"soft0", "soft"}};
  }

  /// A put of 8 bytes to each of `peers`, all of them fine so far.
  void put_to(const std::vector<std::string>& peers) {
    for (const std::string& peer : peers) {
      messages::RdmaBuffer remote;
      remote.owner = {.id = peer, .at = ""};
      remote.device_name = "soft0";
      remote.size = 8;
      plan_.add(BatchOperation::put, memory_, keys_, remote);
      outcomes_.emplace_back();
    }
  }

  void fail(std::size_t index, ErrorCode code, std::string reason) {
    outcomes_[index].outcome = std::unexpected{Error{code, std::move(reason)}};
  }

  std::array<std::byte, 8> memory_{};
  BufferKeys keys_;
  BatchPlan plan_{messages::Incarnation{}, {}};
  BatchOutcomes outcomes_;
};

TEST_F(BatchReport, SaysNothingOfSuccess) {
  put_to({"b", "c"});
  EXPECT_FALSE(report(plan_, outcomes_));
}

TEST_F(BatchReport, NamesEachFailedOperationWithItsPeerAndReason) {
  put_to({"b", "c", "d"});
  fail(0, ErrorCode::unreachable, "nobody there");
  fail(2, ErrorCode::timeout, "took too long");
  const auto error = report(plan_, outcomes_);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unreachable);
  EXPECT_THAT(
      error->message(),
      AllOf(HasSubstr("2 of 3"), HasSubstr("put 0 of 8 bytes, b: Unreachable: nobody there"),
            HasSubstr("put 2 of 8 bytes, d: Timeout: took too long"), Not(HasSubstr("c:"))));
  EXPECT_EQ(error->details().at("index"), "0");
  EXPECT_EQ(error->details().at("failed"), "2");
}

TEST_F(BatchReport, TakesACauseBeforeItsConsequences) {
  put_to(std::vector<std::string>(30, "b"));
  for (std::size_t index = 0; index < 30; ++index) {
    fail(index, index % 2 == 0 ? ErrorCode::queue_pair_reset : ErrorCode::invalid_queue_pair_state,
         "fell with another");
  }
  fail(20, ErrorCode::remote_access_error, "no such key");
  const auto error = report(plan_, outcomes_);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::remote_access_error);
  EXPECT_EQ(error->details().at("index"), "20");
  EXPECT_THAT(error->message(), HasSubstr("put 20 of 8 bytes, b: RemoteAccessError: no such key"));
}

TEST_F(BatchReport, TakesAConsequenceWhereTheCauseIsElsewhere) {
  put_to({"b"});
  fail(0, ErrorCode::queue_pair_reset, "fell with another batch's");
  ASSERT_TRUE(report(plan_, outcomes_));
  EXPECT_EQ(report(plan_, outcomes_)->code(), ErrorCode::queue_pair_reset);
}

TEST_F(BatchReport, StaysShortHoweverMuchFailed) {
  put_to(std::vector<std::string>(1000, std::string(200, 'p')));
  for (std::size_t index = 0; index < 1000; ++index) {
    fail(index, ErrorCode::timeout, std::string(5000, 'r'));
  }
  const auto error = report(plan_, outcomes_);
  ASSERT_TRUE(error);
  EXPECT_LT(error->message().size(), 8000U);
  EXPECT_THAT(error->message(), AllOf(HasSubstr("1000 of 1000"), HasSubstr("and 992 more")));
}

}  // namespace
}  // namespace danaus::worker
