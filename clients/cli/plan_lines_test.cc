#include "clients/cli/plan_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/cli/terminal_text.h"
#include "google/protobuf/text_format.h"

namespace docket::cli {
namespace {

using ::testing::ElementsAre;

const absl::Time kNow = absl::FromUnixSeconds(1000);

todo::v1::Plan PlanOf(const std::string& text) {
  todo::v1::Plan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &plan)) << text;
  return plan;
}

std::vector<std::string> TextOf(const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(PlainText(line));
  return texts;
}

todo::v1::Plan MainPlan() {
  return PlanOf(R"(session_id: "s" agent_id: "main" session_title: "Ship it" run_state: RUN_STATE_TURN_OPEN
    state: PLAN_STATE_ACTIVE counts { pending: 1 in_progress: 1 completed: 1 cancelled: 1 }
    items { content: "look" status: TODO_STATUS_COMPLETED } items { content: "skip" status: TODO_STATUS_CANCELLED }
    items { content: "build" active_form: "building" status: TODO_STATUS_IN_PROGRESS }
    items { content: "t\033[2Jest" status: TODO_STATUS_PENDING }
    last_written_at { seconds: 996 } changed_at { seconds: 996 } created_at { seconds: 1 })");
}

TEST(SessionLinesTest, ShowsEveryItem) {
  EXPECT_THAT(TextOf(SessionLines(BySession({MainPlan()}).front(), kNow, Detail::kFull)),
              ElementsAre("Ship it  s", "  main  ━━━━━━━━━━────────── 1/4 done, 1 cancelled · working · written 4s ago",
                          "    ✓ look", "    ✗ skip", "    ◉ building", "    ○ t\uFFFD[2Jest"));
}

TEST(SessionLinesTest, ShowsWhatIsInProgress) {
  const auto lines = TextOf(SessionLines(BySession({MainPlan()}).front(), kNow, Detail::kCurrent));
  EXPECT_THAT(std::vector<std::string>(lines.begin() + 2, lines.end()), ElementsAre("    ◉ building"));
}

TEST(SessionLinesTest, TellsStatesApart) {
  const auto line = [](const std::string& text) {
    return PlainText(
        SessionLines(BySession({PlanOf("session_id: 's' agent_id: 'main' " + text)}).front(), kNow, Detail::kFull)[1]);
  };
  EXPECT_EQ(line("state: PLAN_STATE_NEVER_WRITTEN"), "  main  no plan");
  EXPECT_EQ(line("state: PLAN_STATE_EMPTY run_state: RUN_STATE_TURN_FAILED"), "  main  empty plan · turn failed");
  EXPECT_EQ(line("state: PLAN_STATE_CLEARED counts { completed: 1 }"),
            "  main  ━━━━━━━━━━━━━━━━━━━━ 1/1 done · of an earlier turn");
  EXPECT_EQ(line("state: PLAN_STATE_EMPTY run_state: RUN_STATE_TURN_OPEN last_written_at { seconds: 100 }"),
            "  main  empty plan · working · idle, written 15m ago");
}

TEST(BySessionTest, PutsAgentsBehindTheirParents) {
  const auto sessions = BySession({
      PlanOf("session_id: 's' agent_id: 'late' parent_agent_id: 'main' created_at { seconds: 5 }"),
      PlanOf("session_id: 's' agent_id: 'child' parent_agent_id: 'early' created_at { seconds: 9 }"),
      PlanOf("session_id: 's' agent_id: 'early' parent_agent_id: 'main' created_at { seconds: 3 }"),
      PlanOf("session_id: 's' agent_id: 'orphan' parent_agent_id: 'gone' created_at { seconds: 7 }"),
      PlanOf("session_id: 's' agent_id: 'x' parent_agent_id: 'y' created_at { seconds: 20 }"),
      PlanOf("session_id: 's' agent_id: 'y' parent_agent_id: 'x' created_at { seconds: 21 }"),
      PlanOf("session_id: 's' agent_id: 'main' created_at { seconds: 8 }"),
  });
  ASSERT_EQ(sessions.size(), 1u);
  std::vector<std::string> agents;
  for (const todo::v1::Plan& plan : sessions[0].plans) agents.push_back(plan.agent_id());
  EXPECT_THAT(agents, ElementsAre("main", "early", "child", "late", "orphan", "x", "y"));
  const auto lines = TextOf(SessionLines(sessions[0], kNow, Detail::kFull));
  EXPECT_EQ(lines[2].find("└"), 4u);
  EXPECT_EQ(lines[3].find("└"), 6u) << "deeper than its parent";
}

TEST(BySessionTest, PutsTheLatestActivityFirst) {
  const auto sessions = BySession({PlanOf("session_id: 'old' agent_id: 'main' changed_at { seconds: 1 }"),
                                   PlanOf("session_id: 'new' agent_id: 'main' changed_at { seconds: 2 }")});
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].session_id, "new");
}

TEST(CutLineTest, FitsAnyWidth) {
  const Line line = {{"  "}, {"日本語"}, {" and more"}};
  for (int columns = 0; columns < 20; ++columns) {
    const std::string cut = PlainText(CutLine(line, columns));
    EXPECT_LE(TextWidth(cut), columns);
    EXPECT_EQ(cut == PlainText(line), columns >= 17) << columns;
  }
  EXPECT_EQ(PlainText(CutLine(line, 8)), "  日本…") << "what follows is missing";
}

TEST(AgeTextTest, UsesTheLargestUnit) {
  EXPECT_EQ(AgeText(absl::ZeroDuration()), "now");
  EXPECT_EQ(AgeText(absl::Seconds(119)), "119s");
  EXPECT_EQ(AgeText(absl::Minutes(119)), "119m");
  EXPECT_EQ(AgeText(absl::Hours(47)), "47h");
  EXPECT_EQ(AgeText(absl::Hours(49)), "2d");
}

}  // namespace
}  // namespace docket::cli
