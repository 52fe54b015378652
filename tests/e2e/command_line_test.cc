// The command line against real servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const RunResult stale =
      deployment.Docket({"--tenant", kTenant, "write", "--session", "s", "--expected-version", "0", "-"}, "[]");
  EXPECT_EQ(stale.exit_code, 1);
  EXPECT_THAT(stale.output, HasSubstr("REVISION_CONFLICT"));
}

}  // namespace
}  // namespace docket::testing
