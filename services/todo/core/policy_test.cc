#include "services/todo/core/policy.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  const auto set = PolicySet::Parse(text);
  EXPECT_FALSE(set.ok()) << text;
  EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(set.status().message());
}

TEST(PolicyTest, FillsInTheDefaults) {
  v1::TodoPolicy values;
  values.set_parallel_in_progress(v1::PARALLEL_IN_PROGRESS_FORBID);
  const Policy policy = *Policy::Make(values);
  EXPECT_EQ(policy.name(), "default");
  EXPECT_FALSE(policy.allow_parallel());
  EXPECT_TRUE(policy.clear_on_turn_start());
  EXPECT_FALSE(policy.clear_when_all_completed());
  EXPECT_TRUE(policy.allow_cancelled());
  EXPECT_FALSE(policy.implicit_turns());
  EXPECT_FALSE(policy.verification_nudge());
  EXPECT_TRUE(policy.enabled());
  EXPECT_EQ(policy.max_items(), 256);
  EXPECT_EQ(policy.max_content_bytes(), 4096);
  EXPECT_EQ(policy.digest().size(), 32u);
}

TEST(PolicyTest, DigestTellsValuesApart) {
  EXPECT_EQ(MakePolicy().digest(), MakePolicy("max_items: 256").digest()) << "a default that is said is no other";
  EXPECT_NE(MakePolicy().digest(), MakePolicy("max_items: 255").digest());
  EXPECT_NE(MakePolicy().digest(), MakePolicy("name: 'x'").digest());
}

TEST(PolicyTest, RequiresParallelInProgress) {
  EXPECT_THAT(std::string(Policy::Make({}).status().message()), HasSubstr("parallel_in_progress is required"));
}

TEST(PolicySetTest, OverridesInheritFieldByField) {
  const auto set = PolicySet::Parse(R"(
    default_policy {
      name: "house"
      parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID
      max_items: 10
      allow_cancelled: false
    }
    tenants { key: "a" value { max_items: 20 } }
    tenants { key: "b" value { name: "strict" allow_cancelled: true parallel_in_progress: PARALLEL_IN_PROGRESS_ALLOW } }
  )");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->ForTenant("other").name(), "house");
  EXPECT_EQ(&set->ForTenant("other"), &set->default_policy());
  const Policy& a = set->ForTenant("a");
  EXPECT_EQ(a.name(), "a");
  EXPECT_EQ(a.max_items(), 20);
  EXPECT_FALSE(a.allow_parallel());
  EXPECT_FALSE(a.allow_cancelled());
  const Policy& b = set->ForTenant("b");
  EXPECT_EQ(b.name(), "strict");
  EXPECT_EQ(b.max_items(), 10);
  EXPECT_TRUE(b.allow_parallel());
  EXPECT_TRUE(b.allow_cancelled());
}

TEST(PolicySetTest, NamesTheLineOfAnError) {
  EXPECT_THAT(ErrorOf("default_policy {\n  max_itms: 3\n}"),
              AllOf(StartsWith("line 2, column"), HasSubstr("max_itms")));
  // The parser reports an unknown value where the next word stands.
  EXPECT_THAT(ErrorOf("default_policy {\n  parallel_in_progress: MAYBE }"),
              AllOf(StartsWith("line 2, column"), HasSubstr("MAYBE")));
  EXPECT_THAT(ErrorOf("default_policy {\n"), StartsWith("line "));
  EXPECT_THAT(ErrorOf("default_policy {\n  enabled: 7\n}"), StartsWith("line 2"));
  const std::string good = "default_policy { parallel_in_progress: PARALLEL_IN_PROGRESS_ALLOW }\n";
  EXPECT_THAT(ErrorOf("default_policy {\n parallel_in_progress: PARALLEL_IN_PROGRESS_ALLOW\n\n max_items: 1001 }"),
              AllOf(StartsWith("line 4, column 2: "), HasSubstr("max_items is 1001, it must be 1 to 1000")));
  EXPECT_THAT(ErrorOf(good + "tenants {\n  key: 'a'\n  value {\n    max_content_bytes: 0\n  }\n}"),
              AllOf(StartsWith("line 5, column 5: "), HasSubstr("tenant \"a\""), HasSubstr("1 to 65536")));
  EXPECT_THAT(ErrorOf(good + "tenants { key: 'a' value {} }\ntenants { key: 'a' value {} }"),
              AllOf(StartsWith("line 3"), HasSubstr("two overrides")));
  EXPECT_THAT(ErrorOf(good + "tenants { key: '' value {} }"), AllOf(StartsWith("line 2"), HasSubstr("id is missing")));
}

TEST(PolicySetTest, RequiresADefault) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("default_policy is required"));
  EXPECT_THAT(ErrorOf("\n\ndefault_policy { enabled: true }"),
              AllOf(StartsWith("line 3"), HasSubstr("parallel_in_progress is required")));
}

}  // namespace
}  // namespace docket::todo
