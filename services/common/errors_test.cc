#include "services/common/errors.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace docket {
namespace {

using v1::ErrorReason;

TEST(ErrorsTest, EveryReasonHasACodeAndAName) {
  const auto* reasons = v1::ErrorReason_descriptor();
  for (int i = 1; i < reasons->value_count(); ++i) {
    const auto reason = static_cast<ErrorReason>(reasons->value(i)->number());
    EXPECT_NE(CodeOf(reason), absl::StatusCode::kInternal) << reasons->value(i)->name();
    EXPECT_EQ("ERROR_REASON_" + ReasonName(reason), reasons->value(i)->name());
    EXPECT_EQ(ReasonOf(MakeError(reason, "text")), reason);
  }
}

TEST(ErrorsTest, CarriesMetadataAndFields) {
  const absl::Status status =
      FieldError(v1::ERROR_REASON_INVALID_TODO, "items[2].content", "too long", {{"rule", "max"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "items[2].content: too long");
  EXPECT_EQ(MetadataOf(status).at("path"), "items[2].content");
  EXPECT_EQ(MetadataOf(status).at("rule"), "max");
  EXPECT_EQ(MetadataOf(WithMetadata(status, "index", "2")).at("index"), "2");
}

TEST(ErrorsTest, TellsWhenToTryAgain) {
  const absl::Status status = WithRetryAfter(MakeError(v1::ERROR_REASON_QUEUE_FULL, "full"), absl::Milliseconds(1500));
  EXPECT_EQ(RetryAfterOf(status), absl::Milliseconds(1500));
  EXPECT_EQ(RetryAfterOf(absl::UnavailableError("x")), std::nullopt);
}

TEST(ErrorsTest, SaysNothingOfOtherStatuses) {
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), std::nullopt);
  EXPECT_TRUE(MetadataOf(absl::OkStatus()).empty());
}

}  // namespace
}  // namespace docket
