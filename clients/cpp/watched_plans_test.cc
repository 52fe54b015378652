#include "clients/cpp/watched_plans.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace docket::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using todo::v1::WatchPlansResponse;

todo::v1::Plan Plan(const std::string& session, int64_t revision, const std::string& agent = "main") {
  todo::v1::Plan plan;
  plan.set_session_id(session);
  plan.set_agent_id(agent);
  plan.set_revision(revision);
  return plan;
}

WatchPlansResponse Snapshot(const std::vector<todo::v1::Plan>& plans) {
  WatchPlansResponse message;
  message.mutable_snapshot()->mutable_plans()->Add(plans.begin(), plans.end());
  return message;
}

WatchPlansResponse Synced() {
  WatchPlansResponse message;
  message.mutable_synced();
  return message;
}

WatchPlansResponse Changed(const todo::v1::Plan& plan, bool erased = false) {
  WatchPlansResponse message;
  *message.mutable_plan_changed()->mutable_plan() = plan;
  message.mutable_plan_changed()->set_erased(erased);
  return message;
}

int64_t RevisionOf(const WatchedPlans& plans, const std::string& session) {
  const auto found = plans.plans().find({session, "main"});
  return found == plans.plans().end() ? 0 : found->second.revision();
}

TEST(WatchedPlansTest, ShowsASnapshotOnceItIsComplete) {
  WatchedPlans plans;
  EXPECT_THAT(plans.Apply(Snapshot({Plan("a", 3)})), IsEmpty());
  EXPECT_THAT(plans.plans(), IsEmpty());
  EXPECT_FALSE(plans.synced());
  plans.Apply(Snapshot({Plan("b", 4)}));
  EXPECT_THAT(plans.Apply(Synced()), ElementsAre(WatchedKey{"a", "main"}, WatchedKey{"b", "main"}));
  EXPECT_TRUE(plans.synced());
}

TEST(WatchedPlansTest, NeverShowsALowerRevision) {
  WatchedPlans plans;
  plans.Apply(Snapshot({Plan("a", 3)}));
  plans.Apply(Synced());
  plans.Apply(Changed(Plan("a", 7)));
  EXPECT_THAT(plans.Apply(Changed(Plan("a", 5))), IsEmpty());
  plans.BeginStream();
  plans.Apply(Snapshot({Plan("a", 6), Plan("b", 1)}));
  EXPECT_THAT(plans.Apply(Synced()), ElementsAre(WatchedKey{"b", "main"})) << "a replica that is behind";
  EXPECT_EQ(RevisionOf(plans, "a"), 7);
  plans.Apply(Changed(Plan("a", 8)));
  EXPECT_EQ(RevisionOf(plans, "a"), 8);
}

TEST(WatchedPlansTest, ForgetsWhatANewSnapshotDoesNotHave) {
  WatchedPlans plans;
  plans.Apply(Snapshot({Plan("a", 3), Plan("b", 3)}));
  plans.Apply(Synced());
  plans.BeginStream();
  plans.Apply(Snapshot({Plan("b", 3)}));
  EXPECT_EQ(RevisionOf(plans, "a"), 3) << "until it is complete";
  plans.Apply(Synced());
  EXPECT_EQ(RevisionOf(plans, "a"), 0);
}

TEST(WatchedPlansTest, AnAbandonedSnapshotIsNotMixedWithTheNext) {
  WatchedPlans plans;
  plans.Apply(Snapshot({Plan("old", 3)}));
  plans.BeginStream();
  plans.Apply(Snapshot({Plan("new", 3)}));
  plans.Apply(Synced());
  EXPECT_EQ(RevisionOf(plans, "old"), 0);
}

TEST(WatchedPlansTest, AResetAllowsLowerRevisions) {
  WatchedPlans plans;
  plans.Apply(Snapshot({Plan("a", 9)}));
  plans.Apply(Synced());
  WatchPlansResponse reset;
  reset.mutable_reset();
  plans.Apply(reset);
  EXPECT_EQ(RevisionOf(plans, "a"), 9) << "shown until there is better";
  plans.Apply(Snapshot({Plan("a", 2)}));
  plans.Apply(Synced());
  EXPECT_EQ(RevisionOf(plans, "a"), 2);
}

TEST(WatchedPlansTest, AnErasedPlanDoesNotComeBack) {
  WatchedPlans plans;
  plans.Apply(Snapshot({Plan("a", 9)}));
  plans.Apply(Synced());
  EXPECT_THAT(plans.Apply(Changed(Plan("a", 10), true)), ElementsAre(WatchedKey{"a", "main"}));
  plans.BeginStream();
  plans.Apply(Snapshot({Plan("a", 9)}));
  plans.Apply(Synced());
  EXPECT_EQ(RevisionOf(plans, "a"), 0);
}

TEST(WatchedPlansTest, TellsHowLongTheLogIsAway) {
  WatchedPlans plans;
  WatchPlansResponse beat;
  beat.mutable_heartbeat()->mutable_stale_for()->set_seconds(7);
  plans.Apply(beat);
  EXPECT_EQ(plans.stale_for(), absl::Seconds(7));
  beat.mutable_heartbeat()->clear_stale_for();
  plans.Apply(beat);
  EXPECT_EQ(plans.stale_for(), std::nullopt);
}

}  // namespace
}  // namespace docket::client
