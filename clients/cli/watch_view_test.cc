#include "clients/cli/watch_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "clients/cli/terminal_text.h"
#include "services/common/proto_time.h"

namespace docket::cli {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1000);

WatchState StateOf(int sessions) {
  WatchState state;
  state.title = "tenant t";
  state.synced = true;
  for (int i = 0; i < sessions; ++i) {
    todo::v1::Plan& plan = state.plans.emplace_back();
    plan.set_session_id(absl::StrCat("session-", i));
    plan.set_agent_id("main");
    plan.set_state(todo::v1::PLAN_STATE_ACTIVE);
    *plan.mutable_changed_at() = ToProto(kNow - absl::Seconds(i));
    for (const char* content : {"one", "日本語日本語"}) {
      plan.add_items()->set_content(content);
      plan.mutable_items()->rbegin()->set_status(todo::v1::TODO_STATUS_PENDING);
    }
    plan.mutable_counts()->set_pending(2);
  }
  return state;
}

std::string Screen(const WatchState& state, int rows, int columns, int& scroll) {
  std::string text;
  for (const Line& line : ScreenLines(state, kNow, rows, columns, scroll))
    absl::StrAppend(&text, PlainText(line), "\n");
  return text;
}

TEST(ScreenLinesTest, FitsAnySize) {
  for (int rows = 0; rows < 30; ++rows) {
    for (int columns = 0; columns < 90; columns += 7) {
      int scroll = rows;
      const auto lines = ScreenLines(StateOf(5), kNow, rows, columns, scroll);
      EXPECT_LE(lines.size(), static_cast<size_t>(rows));
      for (const Line& line : lines) EXPECT_LE(TextWidth(PlainText(line)), columns);
    }
  }
}

TEST(ScreenLinesTest, ShowsTheLatestSessionsInFullWhileTheyFit) {
  int scroll = 0;
  const std::string all = Screen(StateOf(3), 40, 80, scroll);
  const std::string some = Screen(StateOf(3), 13, 80, scroll);
  const auto count = [](const std::string& text) {
    int n = 0;
    for (size_t at = text.find("○ one"); at != std::string::npos; at = text.find("○ one", at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(all), 3);
  EXPECT_EQ(count(some), 1);
  EXPECT_LT(some.find("○ one"), some.find("session-1")) << "the first is the one in full";
  EXPECT_THAT(some, HasSubstr("session-2"));
}

TEST(ScreenLinesTest, ScrollsToTheEndAndNoFurther) {
  int scroll = 1000;
  const std::string text = Screen(StateOf(9), 10, 80, scroll);
  EXPECT_LT(scroll, 1000);
  EXPECT_THAT(text, HasSubstr("session-8"));
  scroll = -5;
  Screen(StateOf(9), 10, 80, scroll);
  EXPECT_EQ(scroll, 0);
}

TEST(ScreenLinesTest, SaysWhatIsWrong) {
  int scroll = 0;
  WatchState state = StateOf(0);
  EXPECT_THAT(Screen(state, 10, 80, scroll), HasSubstr("no session yet"));
  state.stale_since = kNow - absl::Seconds(7);
  EXPECT_THAT(Screen(state, 10, 80, scroll), HasSubstr("docket-log is away for 7s"));
  state.disconnected = "refused\x1b[31m";
  state.disconnected_at = kNow - absl::Seconds(3);
  EXPECT_THAT(Screen(state, 10, 80, scroll), HasSubstr("not connected for 3s: refused\uFFFD[31m"));
  EXPECT_THAT(Screen(WatchState(), 10, 80, scroll), HasSubstr("connecting"));
}

TEST(ChangeLinesTest, SaysWhatChanged) {
  todo::v1::WatchPlansResponse::PlanChanged changed;
  *changed.mutable_plan() = StateOf(1).plans[0];
  todo::v1::ItemChange& change = *changed.add_changes();
  change.set_kind(todo::v1::ITEM_CHANGE_KIND_STATUS);
  change.set_content("one");
  change.set_new_status(todo::v1::TODO_STATUS_COMPLETED);
  const auto lines = ChangeLines(changed, kNow, absl::UTCTimeZone());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(PlainText(lines[0]), "00:16:40 session-0 main  active, 0/2 done");
  EXPECT_EQ(PlainText(lines[1]), "  ✓ one");
  changed.set_erased(true);
  EXPECT_EQ(PlainText(ChangeLines(changed, kNow, absl::UTCTimeZone())[0]), "00:16:40 session-0 main  erased");
}

TEST(SnapshotLinesTest, ShowsPlansInFull) {
  const auto lines = SnapshotLines(StateOf(1).plans, kNow);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(PlainText(lines[2]), "    ○ one");
}

}  // namespace
}  // namespace docket::cli
