#ifndef DOCKET_TESTS_TESTING_STATUS_MATCHERS_H_
#define DOCKET_TESTS_TESTING_STATUS_MATCHERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/status_macros.h"

// Matchers for absl::Status and absl::StatusOr.

namespace docket::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// EXPECT_THAT(result, IsOk());
MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// EXPECT_THAT(result, StatusIs(absl::StatusCode::kNotFound));
MATCHER_P(StatusIs, code, "") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code;
}

// EXPECT_THAT(result, HasReason(v1::ERROR_REASON_TURN_OPEN));
MATCHER_P(HasReason, reason, "has reason " + docket::ReasonName(reason)) {
  *result_listener << StatusOf(arg).ToString();
  return docket::ReasonOf(StatusOf(arg)) == reason;
}

}  // namespace docket::testing

// DOCKET_ASSERT_OK_AND_ASSIGN(auto x, F()); ends the test if F() failed.
#define DOCKET_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  DOCKET_ASSERT_OK_AND_ASSIGN_INNER(DOCKET_CONCAT(docket_or_, __LINE__), lhs, expr)
#define DOCKET_ASSERT_OK_AND_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                      \
  ASSERT_TRUE(tmp.ok()) << tmp.status();                  \
  lhs = *std::move(tmp)

#endif  // DOCKET_TESTS_TESTING_STATUS_MATCHERS_H_
