// The command line against real servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// Each line as a message of that type.
template <typename Message>
std::vector<Message> JsonLines(const std::string& text) {
  std::vector<Message> messages;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(std::string(line), &messages.emplace_back()).ok()) << line;
  }
  return messages;
}

TEST(CliTest, ListsPlansAndTheirVersions) {
  Deployment deployment({});
  const auto docket = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--tenant", kTenant});
    const RunResult result = deployment.Docket(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  };
  for (const char* session : {"a", "b", "c"}) {
    ASSERT_THAT(Append(deployment.log(), Opening(session)), IsOk());
    ASSERT_THAT(Write(deployment.todo(), Writing(session, "1", {"look", "build"})), IsOk());
    ASSERT_THAT(Write(deployment.todo(), Writing(session, "2", {"x:look", "build"})), IsOk());
  }
  ASSERT_THAT(Append(deployment.log(), Spawning("c", "helper")), IsOk());
  EXPECT_EQ(JsonLines<todo_wire::Plan>(docket({"--output", "json", "plan", "list", "--limit", "0"})).size(), 4U);
  const auto plans = JsonLines<todo_wire::Plan>(docket({"--output", "json", "plan", "list", "--session", "c"}));
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[1].agent_id(), "helper");
  EXPECT_EQ(plans[1].state(), todo_wire::PLAN_STATE_NEVER_WRITTEN);
  const std::string table = docket({"plan", "list", "--limit", "2"});
  EXPECT_THAT(table, HasSubstr("SESSION  AGENT"));
  EXPECT_THAT(table, HasSubstr("1/2 done"));
  EXPECT_THAT(table, HasSubstr("there are more"));
  EXPECT_THAT(docket({"plan", "list", "--state", "cleared"}), Not(HasSubstr("1/2 done")));
  const auto versions =
      JsonLines<todo_wire::PlanVersion>(docket({"--output", "json", "plan", "history", "a", "--limit", "0"}));
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_THAT(ItemsOf(versions[0].todo_written().items()), ElementsAre("x:look", "build"));
  EXPECT_TRUE(versions[0].has_recorded_at());
  EXPECT_EQ(versions[0].changes_size(), 1);
  const std::string history = docket({"plan", "history", "a"});
  EXPECT_THAT(history, HasSubstr("1/2 done\n  ✓ look\n"));
  EXPECT_THAT(history, HasSubstr("0/2 done\n  + ○ look\n  + ○ build\n"));
}

TEST(CliTest, ShowsSessionsAndEvents) {
  Deployment deployment({});
  const auto docket = [&](std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.begin(), {"--tenant", kTenant});
    const RunResult result = deployment.Docket(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    return result.output;
  };
  ASSERT_THAT(Append(deployment.log(), Opening("a")), IsOk());
  ASSERT_THAT(Append(deployment.log(), Turn("a", "t1")), IsOk());
  for (int i = 0; i < 1200; i += 100) {
    wire::AppendRequest request = AppendTo("a");
    for (int k = i; k < i + 100; ++k)
      *AddEvent(request, "main").mutable_message() = Saying("a", absl::StrCat("word ", k)).events(0).message();
    ASSERT_THAT(Append(deployment.log(), request), IsOk());
  }
  ASSERT_THAT(Append(deployment.log(), Opening("b")), IsOk());
  ASSERT_THAT(Append(deployment.log(), Closing("b")), IsOk());
  EXPECT_THAT(docket({"session", "list", "--state", "closed"}), HasSubstr("b        closed  2"));
  const auto all = JsonLines<wire::SessionSummary>(docket({"--output", "json", "session", "list"}));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].session_id(), "b");
  const auto open = JsonLines<wire::SessionSummary>(docket({"--output", "json", "session", "list", "--state", "open"}));
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].head_seq(), 1202);
  const std::string shown = docket({"session", "show", "a"});
  EXPECT_THAT(shown, HasSubstr("in turn t1"));
  EXPECT_THAT(shown, HasSubstr("events      1202"));
  const auto events = JsonLines<wire::RecordedEvent>(docket({"--output", "json", "session", "events", "a"}));
  ASSERT_EQ(events.size(), 1202U);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].seq(), static_cast<int64_t>(i) + 1);
  const auto newest = JsonLines<wire::RecordedEvent>(
      docket({"--output", "json", "session", "events", "a", "--newest-first", "--limit", "1200"}));
  ASSERT_EQ(newest.size(), 1200U);
  EXPECT_EQ(newest[0].seq(), 1202);
  EXPECT_EQ(newest[1199].seq(), 3);
  EXPECT_THAT(docket({"session", "events", "a", "--type", "turn_started"}), HasSubstr("turn_started  t1 (user)"));
  EXPECT_THAT(docket({"session", "events", "a", "--type", "nonsense"}, 1), HasSubstr("INVALID_REQUEST"));
  EXPECT_THAT(docket({"session", "show", "nowhere"}, 1), HasSubstr("SESSION_NOT_FOUND"));
}

}  // namespace
}  // namespace docket::testing
