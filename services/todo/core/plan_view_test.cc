#include "services/todo/core/plan_view.h"

#include <string>

#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/proto_time.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

v1::Plan ViewOf(const Story& story, const std::string& policy = "", const std::string& agent = "main") {
  const auto plan = PlanView(story.Fold(), agent, MakePolicy(policy));
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(v1::Plan());
}

Story Written(v1::TodoStatus first = v1::TODO_STATUS_COMPLETED, v1::TodoStatus second = v1::TODO_STATUS_CANCELLED) {
  Story story;
  story.Open("Title", {{"team", "x"}});
  story.Start("main", "t1");
  story.WriteItems("main", {MakeItem("1", "a", first), MakeItem("2", "b", second)});
  return story;
}

TEST(PlanViewTest, NeverWrittenIsNotEmpty) {
  Story story;
  story.Open();
  v1::Plan plan = ViewOf(story);
  EXPECT_EQ(plan.state(), v1::PLAN_STATE_NEVER_WRITTEN);
  EXPECT_EQ(plan.version(), 0);
  EXPECT_EQ(plan.revision(), 1);
  EXPECT_FALSE(plan.has_last_written_at());
  EXPECT_EQ(plan.run_state(), v1::RUN_STATE_UNKNOWN);
  story.Write("main", {}, v1::ACTOR_KIND_USER);
  plan = ViewOf(story, "clear_when_all_completed: true");
  EXPECT_EQ(plan.state(), v1::PLAN_STATE_EMPTY) << "an empty list is not all completed";
  EXPECT_EQ(plan.version(), 2);
}

TEST(PlanViewTest, ShowsTheListAndItsFacts) {
  const Story story = Written(v1::TODO_STATUS_IN_PROGRESS, v1::TODO_STATUS_PENDING);
  const v1::Plan plan = ViewOf(story);
  EXPECT_EQ(plan.state(), v1::PLAN_STATE_ACTIVE);
  ASSERT_EQ(plan.items_size(), 2);
  EXPECT_EQ(plan.items(0).content(), "a");
  EXPECT_EQ(plan.counts().in_progress(), 1);
  EXPECT_EQ(plan.counts().pending(), 1);
  EXPECT_EQ(plan.version(), 3);
  EXPECT_EQ(plan.revision(), 3);
  EXPECT_EQ(plan.run_state(), v1::RUN_STATE_TURN_OPEN);
  EXPECT_EQ(plan.turn().turn_id(), "t1");
  EXPECT_EQ(plan.turn().seq(), 2);
  EXPECT_FALSE(plan.turn().has_ended_at());
  EXPECT_EQ(FromProto(plan.last_written_at()), absl::FromUnixSeconds(1'000'003));
  EXPECT_EQ(FromProto(plan.created_at()), absl::FromUnixSeconds(1'000'001));
  EXPECT_EQ(FromProto(plan.changed_at()), absl::FromUnixSeconds(1'000'003));
  EXPECT_EQ(plan.last_actor().kind(), v1::ACTOR_KIND_AGENT);
  EXPECT_EQ(plan.session_title(), "Title");
  EXPECT_EQ(plan.session_labels().at("team"), "x");
  EXPECT_EQ(plan.policy_digest(), MakePolicy().digest());
}

TEST(PlanViewTest, NextTurnClearsTurnEndDoesNot) {
  Story story = Written(v1::TODO_STATUS_PENDING);
  story.End("main", "t1");
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_ACTIVE);
  EXPECT_EQ(ViewOf(story).revision(), 4);
  story.Start("main", "t2");
  const v1::Plan cleared = ViewOf(story);
  EXPECT_EQ(cleared.state(), v1::PLAN_STATE_CLEARED);
  EXPECT_EQ(cleared.items_size(), 0);
  EXPECT_EQ(cleared.counts().pending(), 1) << "the counts tell what it was";
  EXPECT_EQ(cleared.version(), 3);
  EXPECT_EQ(ViewOf(story, "clear_on_turn_start: false").state(), v1::PLAN_STATE_ACTIVE);
  story.Write("main", {"new"});
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_ACTIVE);
}

TEST(PlanViewTest, TurnKeepsWhatTheUserWroteBefore) {
  Story story = Written(v1::TODO_STATUS_PENDING);
  story.End("main", "t1");
  story.Write("main", {"by the user"}, v1::ACTOR_KIND_USER);
  story.Start("main", "t2");
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_ACTIVE);
  story.Start("main", "t3", docket::v1::TURN_ORIGIN_USER, "t2");
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_CLEARED);
}

TEST(PlanViewTest, AllCompletedIsThePolicysChoice) {
  const Story story = Written();
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_ACTIVE);
  const v1::Plan plan = ViewOf(story, "clear_when_all_completed: true");
  EXPECT_EQ(plan.state(), v1::PLAN_STATE_ALL_COMPLETED);
  EXPECT_EQ(plan.items_size(), 0);
  EXPECT_EQ(plan.counts().completed(), 1);
  EXPECT_EQ(plan.counts().cancelled(), 1);
  EXPECT_EQ(ViewOf(Written(v1::TODO_STATUS_PENDING), "clear_when_all_completed: true").state(), v1::PLAN_STATE_ACTIVE);
}

TEST(PlanViewTest, TellsHowTheTurnEnded) {
  const std::pair<docket::v1::TurnEndReason, v1::RunState> cases[] = {
      {docket::v1::TURN_END_REASON_COMPLETED, v1::RUN_STATE_TURN_COMPLETED},
      {docket::v1::TURN_END_REASON_FAILED, v1::RUN_STATE_TURN_FAILED},
      {docket::v1::TURN_END_REASON_INTERRUPTED, v1::RUN_STATE_TURN_INTERRUPTED}};
  for (const auto& [reason, run_state] : cases) {
    Story story = Written();
    story.End("main", "t1", reason);
    EXPECT_EQ(ViewOf(story).run_state(), run_state);
    EXPECT_TRUE(ViewOf(story).turn().has_ended_at());
    story.Close();
    EXPECT_EQ(ViewOf(story).run_state(), v1::RUN_STATE_SESSION_CLOSED);
  }
}

TEST(PlanViewTest, ImplicitTurnTellsNothing) {
  Story story;
  story.Open();
  story.Start("main", "t1", docket::v1::TURN_ORIGIN_IMPLICIT);
  EXPECT_EQ(ViewOf(story).run_state(), v1::RUN_STATE_UNKNOWN);
  story.Close();
  story.Open();
  EXPECT_EQ(ViewOf(story).run_state(), v1::RUN_STATE_UNKNOWN);
}

TEST(PlanViewTest, SubAgentsHaveTheirOwnPlans) {
  Story story = Written(v1::TODO_STATUS_PENDING);
  story.Spawn("sub");
  EXPECT_EQ(ViewOf(story, "", "sub").state(), v1::PLAN_STATE_NEVER_WRITTEN);
  story.Start("sub", "t1", docket::v1::TURN_ORIGIN_SUBAGENT);
  story.Write("sub", {"own"});
  const v1::Plan plan = ViewOf(story, "", "sub");
  EXPECT_EQ(plan.items(0).content(), "own");
  EXPECT_EQ(plan.parent_agent_id(), "main");
  EXPECT_EQ(plan.spawn_call_id(), "call of sub");
  EXPECT_EQ(plan.agent_display_name(), "The sub");
  EXPECT_EQ(FromProto(plan.created_at()), absl::FromUnixSeconds(1'000'004));
  EXPECT_EQ(ViewOf(story).revision(), 3) << "a sub-agent's events are not its parent's";
  EXPECT_EQ(ViewOf(story).state(), v1::PLAN_STATE_ACTIVE) << "a sub-agent's turn does not clear its parent's list";
}

TEST(PlanViewTest, SaysWhyThereIsNoPlan) {
  Story story;
  const Policy policy = MakePolicy();
  EXPECT_FALSE(PlanView(story.Fold(), "main", policy).has_value());
  EXPECT_EQ(ReasonOf(NoPlanError(story.Fold(), "main")), docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
  story.Open();
  EXPECT_FALSE(PlanView(story.Fold(), "sub", policy).has_value());
  EXPECT_EQ(ReasonOf(NoPlanError(story.Fold(), "sub")), docket::v1::ERROR_REASON_PLAN_NOT_FOUND);
  story.Erase();
  EXPECT_FALSE(PlanView(story.Fold(), "main", policy).has_value());
  EXPECT_EQ(ReasonOf(NoPlanError(story.Fold(), "main")), docket::v1::ERROR_REASON_SESSION_ERASED);
}

}  // namespace
}  // namespace docket::todo
