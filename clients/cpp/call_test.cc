#include "clients/cpp/call.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace docket::client {
namespace {

using docket::testing::StatusIs;

TEST(CallPatientlyTest, WithoutPatienceTriesOnce) {
  int tries = 0;
  const absl::Status status = CallPatiently({.patience = absl::ZeroDuration()}, [&tries](grpc::ClientContext&) {
    ++tries;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(tries, 1);
}

TEST(CallPatientlyTest, GivesUpWhenThePatienceEnds) {
  int tries = 0;
  const absl::Status status = CallPatiently({.patience = absl::Milliseconds(300)}, [&tries](grpc::ClientContext&) {
    ++tries;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GT(tries, 1);
}

}  // namespace
}  // namespace docket::client
