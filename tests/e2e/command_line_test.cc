// The command line against real servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CliTest, WritesAPlan) {
  Deployment deployment({});
  const std::string list = R"([{"content":"look","status":"completed"},{"content":"build","status":"pending"}])";
  const RunResult missing = deployment.Docket({"--tenant", kTenant, "write", "--session", "s", "-"}, list);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("SESSION_NOT_FOUND"));
  const RunResult written =
      deployment.Docket({"--tenant", kTenant, "write", "--session", "s", "--open-session", "-"}, list);
  EXPECT_EQ(written.exit_code, 0) << written.output;
  const auto plan = Get(deployment.todo(), "s");
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre("x:look", "build"));
  const RunResult shown = deployment.Docket({"--tenant", kTenant, "plan", "get", "s"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.output, HasSubstr("✓ look\n"));
  EXPECT_THAT(shown.output, HasSubstr("1/2 done"));
  const RunResult json = deployment.Docket({"--tenant", kTenant, "--output", "json", "plan", "get", "s"});
  todo_wire::GetPlanResponse parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.output, &parsed).ok()) << json.output;
  EXPECT_EQ(parsed.SerializeAsString(), plan->SerializeAsString());
  const RunResult merged = deployment.Docket(
      {"--tenant", kTenant, "write", "--session", "s", "--merge", "--expected-version",
       absl::StrCat(plan->plan().version()), "-"},
      absl::StrCat(R"({"todos":[{"id":")", plan->plan().items(1).item_id(), R"(","status":"in_progress"}]})"));
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_THAT(ItemsOf(Get(deployment.todo(), "s")->plan().items()), ElementsAre("x:look", ">:build"));
  const RunResult stale =
      deployment.Docket({"--tenant", kTenant, "write", "--session", "s", "--expected-version", "0", "-"}, "[]");
  EXPECT_EQ(stale.exit_code, 1);
  EXPECT_THAT(stale.output, HasSubstr("REVISION_CONFLICT"));
}

TEST(CliTest, ExitCodesTellUsageFromAbsence) {
  Deployment deployment({});
  EXPECT_EQ(deployment.Docket({"write"}).exit_code, 2);
  EXPECT_EQ(deployment.Docket({"--output", "yaml", "plan", "get", "s"}).exit_code, 2);
  EXPECT_EQ(deployment.Docket({"--help"}).exit_code, 0);
  EXPECT_EQ(deployment.Docket({"write", "--session", "s", "-"}, "[3]").exit_code, 1);
  deployment.todo_server().Kill();
  const RunResult away = deployment.Docket({"--patience", "0", "plan", "get", "s"});
  EXPECT_EQ(away.exit_code, 3) << away.output;
}

}  // namespace
}  // namespace docket::testing
