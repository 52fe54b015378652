// What stands: plans over their life, through real servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/errors.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One deployment for all tests of this file, each of which has sessions of its own.
class PlanTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    deployment_ = new Deployment({.todos = 2, .policy = R"(
      default_policy { parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID max_items: 5 }
      tenants { key: "implicit" value { implicit_turns: true verification_nudge: true } }
      tenants { key: "off" value { enabled: false } }
    )"});
  }
  static void TearDownTestSuite() { delete deployment_; }

  static wire::LogService::Stub& log() { return deployment_->log(); }
  static todo_wire::TodoService::Stub& todo(int i = 0) { return deployment_->todo(i); }

  // A session with an open turn, named after the test.
  std::string OpenSession() {
    const std::string session = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_THAT(Append(log(), Opening(session)), IsOk());
    EXPECT_THAT(Append(log(), Turn(session, "turn-1")), IsOk());
    return session;
  }

  static Deployment* deployment_;
};

Deployment* PlanTest::deployment_ = nullptr;

TEST_F(PlanTest, AWriteIsThePlanThatIsRead) {
  const std::string session = OpenSession();
  const auto written = Write(todo(), Writing(session, "1", {"x:look", ">:build", "test"}));
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->version(), 3);
  EXPECT_EQ(written->changes_size(), 3);
  EXPECT_THAT(written->model_text(), HasSubstr("1"));
  const auto plan = Get(todo(), session);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().SerializeAsString(), written->plan().SerializeAsString());
  EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre("x:look", ">:build", "test"));
  EXPECT_EQ(plan->plan().state(), todo_wire::PLAN_STATE_ACTIVE);
  EXPECT_EQ(plan->plan().run_state(), todo_wire::RUN_STATE_TURN_OPEN);
  EXPECT_EQ(plan->plan().session_title(), "a title");
  EXPECT_FALSE(plan->has_stale_for());
  const auto other = Get(todo(1), session, "main", written->version());
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->plan().SerializeAsString(), written->plan().SerializeAsString()) << "another replica";
}

TEST_F(PlanTest, MergesById) {
  const std::string session = OpenSession();
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"look", "build"})), IsOk());
  const std::string id = Get(todo(), session)->plan().items(1).item_id();
  todo_wire::WriteTodosRequest merge = Writing(session, "2", {});
  merge.set_mode(todo_wire::WRITE_MODE_MERGE);
  merge.add_items()->set_id(id);
  merge.mutable_items(0)->set_status(todo_wire::TODO_STATUS_COMPLETED);
  merge.add_items()->set_content("test");
  const auto written = Write(todo(), merge);
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(ItemsOf(written->plan().items()), ElementsAre("look", "x:build", "test"));
}

TEST_F(PlanTest, ANewTurnClearsItAndAUsersWriteBetweenTurnsSurvives) {
  const std::string session = OpenSession();
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"look"})), IsOk());
  ASSERT_THAT(Append(log(), TurnEnd(session, "turn-1")), IsOk());
  auto plan = Get(todo(), session, "main", 4);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().state(), todo_wire::PLAN_STATE_ACTIVE) << "the user reads the finished list";
  EXPECT_EQ(plan->plan().run_state(), todo_wire::RUN_STATE_TURN_COMPLETED);
  ASSERT_THAT(Append(log(), Turn(session, "turn-2")), IsOk());
  plan = Get(todo(), session, "main", 5);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().state(), todo_wire::PLAN_STATE_CLEARED);
  EXPECT_THAT(plan->plan().items(), IsEmpty());
  ASSERT_THAT(Append(log(), TurnEnd(session, "turn-2")), IsOk());
  todo_wire::WriteTodosRequest user = Writing(session, "u", {"from the user"});
  EXPECT_THAT(Write(todo(), user), HasReason(docket::v1::ERROR_REASON_NO_OPEN_TURN)) << "as an agent";
  user.mutable_actor()->set_kind(todo_wire::ACTOR_KIND_USER);
  ASSERT_THAT(Write(todo(), user), IsOk());
  ASSERT_THAT(Append(log(), Turn(session, "turn-3")), IsOk());
  plan = Get(todo(), session, "main", 8);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().state(), todo_wire::PLAN_STATE_ACTIVE);
  EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre("from the user"));
}

TEST_F(PlanTest, SubAgentsHavePlansOfTheirOwn) {
  const std::string session = OpenSession();
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"delegate"})), IsOk());
  EXPECT_THAT(Write(todo(), Writing(session, "1", {"dig"}, "sub")), HasReason(docket::v1::ERROR_REASON_AGENT_UNKNOWN));
  ASSERT_THAT(Append(log(), Spawning(session, "sub")), IsOk());
  ASSERT_THAT(Append(log(), Turn(session, "turn-1", "sub")), IsOk());
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"dig", "fill"}, "sub")), IsOk()) << "call ids are an agent's own";
  EXPECT_THAT(ItemsOf(Get(todo(), session)->plan().items()), ElementsAre("delegate"));
  EXPECT_THAT(ItemsOf(Get(todo(), session, "sub")->plan().items()), ElementsAre("dig", "fill"));
  todo_wire::ListPlansRequest list;
  list.set_tenant_id(kTenant);
  list.set_session_id(session);
  todo_wire::ListPlansResponse plans;
  grpc::ClientContext context;
  ASSERT_TRUE(todo().ListPlans(&context, list, &plans).ok());
  ASSERT_EQ(plans.plans_size(), 2);
  EXPECT_EQ(plans.plans(0).agent_id(), "main");
  EXPECT_EQ(plans.plans(1).parent_agent_id(), "main");
}

TEST_F(PlanTest, AnEmptyListIsNotNeverWritten) {
  const std::string session = OpenSession();
  EXPECT_EQ(Get(todo(), session)->plan().state(), todo_wire::PLAN_STATE_NEVER_WRITTEN);
  ASSERT_THAT(Write(todo(), Writing(session, "1", {})), IsOk());
  const auto plan = Get(todo(), session);
  EXPECT_EQ(plan->plan().state(), todo_wire::PLAN_STATE_EMPTY);
  EXPECT_EQ(plan->plan().version(), 3);
}

TEST_F(PlanTest, ARejectedWriteChangesNothingAndSaysWhy) {
  const std::string session = OpenSession();
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"look"})), IsOk());
  const std::string before = Get(todo(), session)->plan().SerializeAsString();
  const auto two = Write(todo(), Writing(session, "2", {">:a", ">:b"}));
  EXPECT_THAT(two, HasReason(docket::v1::ERROR_REASON_TODO_RULE));
  ErrorMetadata metadata = MetadataOf(two.status());
  EXPECT_EQ(metadata["rule"], "parallel_in_progress");
  EXPECT_EQ(metadata["index"], "1");
  EXPECT_FALSE(metadata["allowed"].empty());
  const auto empty = Write(todo(), Writing(session, "3", {"a", "  "}));
  EXPECT_THAT(empty, HasReason(docket::v1::ERROR_REASON_INVALID_TODO));
  EXPECT_EQ(MetadataOf(empty.status())["index"], "1");
  const auto many = Write(todo(), Writing(session, "4", {"a", "b", "c", "d", "e", "f"}));
  EXPECT_THAT(many, HasReason(docket::v1::ERROR_REASON_TODO_RULE));
  EXPECT_EQ(MetadataOf(many.status())["rule"], "max_items");
  EXPECT_EQ(Get(todo(), session)->plan().SerializeAsString(), before);
  const auto events = ReadAll(log(), session);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 6u) << "one record for each refusal";
  EXPECT_EQ(events->at(3).event().todo_rejected().reason(), docket::v1::ERROR_REASON_TODO_RULE);
  EXPECT_EQ(events->at(3).event().todo_rejected().call_id(), "2");
  EXPECT_THAT(events->at(3).event().todo_rejected().raw_input(), HasSubstr("\"a\""));
}

TEST_F(PlanTest, ACrashedHarnessIsSuperseded) {
  const std::string session = OpenSession();
  const auto refused = Append(log(), Turn(session, "turn-2"));
  ASSERT_THAT(refused, HasReason(docket::v1::ERROR_REASON_TURN_OPEN));
  const std::string open = MetadataOf(refused.status())["turn_id"];
  EXPECT_EQ(open, "turn-1");
  ASSERT_THAT(Append(log(), Turn(session, "turn-2", "main", open)), IsOk());
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"again"})), IsOk());
  EXPECT_EQ(Get(todo(), session)->plan().turn().turn_id(), "turn-2");
}

TEST_F(PlanTest, ARepeatedCallGetsTheFirstAnswer) {
  const std::string session = OpenSession();
  const auto first = Write(todo(), Writing(session, "1", {"look", "build"}));
  ASSERT_THAT(first, IsOk());
  auto again = Write(todo(), Writing(session, "1", {"look", "build"}));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->deduplicated());
  EXPECT_EQ(again->version(), first->version());
  EXPECT_EQ(again->model_text(), first->model_text());
  EXPECT_EQ(again->changes_size(), first->changes_size());
  ASSERT_THAT(Write(todo(), Writing(session, "2", {"x:look", "build"})), IsOk());
  again = Write(todo(1), Writing(session, "1", {"look", "build"}));
  ASSERT_THAT(again, IsOk()) << "after another write, at another replica";
  EXPECT_EQ(again->version(), first->version());
  EXPECT_EQ(again->changes_size(), first->changes_size());
  EXPECT_THAT(ItemsOf(again->plan().items()), ElementsAre("x:look", "build")) << "the plan as it is now";
  EXPECT_THAT(Write(todo(), Writing(session, "1", {"other"})), HasReason(docket::v1::ERROR_REASON_CALL_ID_REUSED));
  ASSERT_THAT(Append(log(), Closing(session)), IsOk());
  EXPECT_THAT(Write(todo(), Writing(session, "3", {"late"})), HasReason(docket::v1::ERROR_REASON_SESSION_CLOSED));
  again = Write(todo(), Writing(session, "1", {"look", "build"}));
  ASSERT_THAT(again, IsOk()) << "a repeat is not a new write";
  EXPECT_TRUE(again->deduplicated());
  EXPECT_EQ(ReadAll(log(), session)->size(), 5u);
}

TEST_F(PlanTest, OpensAMissingSessionOnlyWhenAsked) {
  const std::string session = "OpensAMissingSessionOnlyWhenAsked";
  todo_wire::WriteTodosRequest write = Writing(session, "1", {"a", "b", "c"});
  write.set_tenant_id("implicit");
  EXPECT_THAT(Write(todo(), write), HasReason(docket::v1::ERROR_REASON_SESSION_NOT_FOUND));
  write.mutable_open_session()->set_title("opened by a write");
  const auto written = Write(todo(), write);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->plan().session_title(), "opened by a write");
  EXPECT_EQ(written->plan().turn().origin(), docket::v1::TURN_ORIGIN_IMPLICIT);
  EXPECT_EQ(written->plan().run_state(), todo_wire::RUN_STATE_UNKNOWN);
  const auto again = Write(todo(1), write);
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->deduplicated());
  EXPECT_EQ(ReadAll(log(), session, "implicit")->size(), 3u) << "opened, started, written";
  write = Writing(session, "2", {"x:a", "x:b", "x:c"});
  write.set_tenant_id("implicit");
  const auto done = Write(todo(), write);
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(done->model_text(), HasSubstr("erif")) << "the nudge";
}

TEST_F(PlanTest, ASwitchedOffTenantCanRead) {
  wire::AppendRequest open = Opening("off");
  open.set_tenant_id("off");
  ASSERT_THAT(Append(log(), open), IsOk());
  wire::AppendRequest turn = Turn("off", "turn-1");
  turn.set_tenant_id("off");
  ASSERT_THAT(Append(log(), turn), IsOk());
  todo_wire::WriteTodosRequest write = Writing("off", "1", {"a"});
  write.set_tenant_id("off");
  EXPECT_THAT(Write(todo(), write), HasReason(docket::v1::ERROR_REASON_TODO_DISABLED));
  todo_wire::GetPlanRequest get;
  get.set_tenant_id("off");
  get.set_session_id("off");
  get.set_agent_id("main");
  todo_wire::GetPlanResponse plan;
  grpc::ClientContext context;
  EXPECT_TRUE(todo().GetPlan(&context, get, &plan).ok());
}

TEST_F(PlanTest, ExpectedVersionsAreKept) {
  const std::string session = OpenSession();
  todo_wire::WriteTodosRequest first = Writing(session, "1", {"a"});
  first.set_expected_version(0);
  const auto written = Write(todo(), first);
  ASSERT_THAT(written, IsOk());
  todo_wire::WriteTodosRequest stale = Writing(session, "2", {"b"});
  stale.set_expected_version(0);
  const auto refused = Write(todo(), stale);
  ASSERT_THAT(refused, HasReason(docket::v1::ERROR_REASON_REVISION_CONFLICT));
  EXPECT_EQ(MetadataOf(refused.status())["actual"], "3");
  stale.set_expected_version(written->version());
  EXPECT_THAT(Write(todo(), stale), IsOk());
}

TEST_F(PlanTest, HistoryTellsEveryVersion) {
  const std::string session = OpenSession();
  ASSERT_THAT(Write(todo(), Writing(session, "1", {"a"})), IsOk());
  ASSERT_THAT(Write(todo(), Writing(session, "2", {"x:a", "b"})), IsOk());
  ASSERT_THAT(Write(todo(), Writing(session, "3", {"b"})), IsOk());
  todo_wire::GetPlanHistoryRequest request;
  request.set_tenant_id(kTenant);
  request.set_session_id(session);
  request.set_agent_id("main");
  request.set_page_size(2);
  todo_wire::GetPlanHistoryResponse page;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(todo().GetPlanHistory(&context, request, &page).ok());
  }
  ASSERT_EQ(page.versions_size(), 2);
  EXPECT_EQ(page.versions(0).version(), 5);
  ASSERT_EQ(page.versions(0).changes_size(), 1);
  EXPECT_EQ(page.versions(0).changes(0).kind(), todo_wire::ITEM_CHANGE_KIND_REMOVED);
  EXPECT_EQ(page.versions(1).changes_size(), 2);
  EXPECT_GT(page.versions(0).recorded_at().seconds(), 0);
  request.set_page_token(page.next_page_token());
  {
    grpc::ClientContext context;
    ASSERT_TRUE(todo().GetPlanHistory(&context, request, &page).ok());
  }
  ASSERT_EQ(page.versions_size(), 1);
  EXPECT_EQ(page.versions(0).changes(0).kind(), todo_wire::ITEM_CHANGE_KIND_ADDED);
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(PlanTest, AnObservationIsAFactWhateverThePolicy) {
  const std::string session = OpenSession();
  wire::AppendRequest observed = AppendTo(session);
  auto& todo_written = *AddEvent(observed, "main").mutable_todo_written();
  for (const char* content : {"a", "b"}) {
    todo_wire::TodoItem& item = *todo_written.add_items();
    item.set_content(content);
    item.set_status(todo_wire::TODO_STATUS_IN_PROGRESS);
  }
  todo_written.mutable_actor()->set_kind(todo_wire::ACTOR_KIND_HOOK);
  ASSERT_THAT(Append(log(), observed), IsOk());
  const auto plan = Get(todo(), session, "main", 3);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre(">:a", ">:b"));
}

TEST_F(PlanTest, ListsATenantsPlansByPage) {
  for (int i = 0; i < 5; ++i) {
    todo_wire::WriteTodosRequest write = Writing(absl::StrCat("s", i), "1", {"a"});
    write.set_tenant_id("implicit");
    (*write.mutable_open_session()->mutable_labels())["parity"] = i % 2 == 0 ? "even" : "odd";
    ASSERT_THAT(Write(todo(), write), IsOk());
  }
  todo_wire::ListPlansRequest list;
  list.set_tenant_id("implicit");
  list.set_page_size(2);
  (*list.mutable_session_labels())["parity"] = "even";
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  std::vector<std::string> sessions;
  do {  // the list may lag by 2 s
    sessions.clear();
    list.clear_page_token();
    do {
      todo_wire::ListPlansResponse page;
      grpc::ClientContext context;
      ASSERT_TRUE(todo().ListPlans(&context, list, &page).ok());
      EXPECT_LE(page.plans_size(), 2);
      for (const auto& plan : page.plans()) sessions.push_back(plan.session_id());
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty());
  } while (sessions.size() < 3 && absl::Now() < deadline);
  EXPECT_THAT(sessions, ElementsAre("s4", "s2", "s0"));
}

TEST(PlanRestartTest, APlanSurvivesBothServicesAndPostgres) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "1", {"x:a", "b"})), IsOk());
  const std::string before = Get(deployment.todo(), "s")->plan().SerializeAsString();
  deployment.todo_server().Kill();
  deployment.todo_server().Start();
  auto plan = Get(deployment.todo(), "s");
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().SerializeAsString(), before);
  deployment.log_server().Kill();
  plan = Get(deployment.todo(), "s", "main", 0, kOnce);
  ASSERT_THAT(plan, IsOk()) << "what is held is served while the log is away";
  EXPECT_EQ(plan->plan().SerializeAsString(), before);
  EXPECT_THAT(Write(deployment.todo(), Writing("s", "2", {"b"}), kOnce),
              HasReason(docket::v1::ERROR_REASON_LOG_UNAVAILABLE));
  deployment.log_server().Start();
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "2", {"b"})), IsOk());
  deployment.postgres().Kill();
  ASSERT_THAT(deployment.postgres().Start(), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "3", {"c"})), IsOk());
  deployment.log_server().Kill();
  deployment.todo_server().Kill();
  deployment.log_server().Start();
  deployment.todo_server().Start();
  plan = Get(deployment.todo(), "s");
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre("c"));
}

TEST(PlanRestartTest, AChangedPolicyFileHoldsAtOnce) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "1", {"a"})), IsOk());
  WriteFile(deployment.policy_path(), "default_policy { nonsense }");
  WriteFile(deployment.policy_path(),
            "default_policy { parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID implicit_turns: true }");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  absl::Status refused;
  for (int call = 2; refused.ok() && absl::Now() < deadline; ++call) {
    refused = Write(deployment.todo(), Writing("s", absl::StrCat(call), {">:a", ">:b"})).status();
  }
  EXPECT_THAT(refused, HasReason(docket::v1::ERROR_REASON_TODO_RULE));
}

// By itself the library looks at a connection that is being made every 5 s only, while no call runs.
TEST(ReconnectTest, ClientsNoticeAtOnceThatAServerIsBack) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  deployment.log_server().Kill();
  EXPECT_THAT(Append(deployment.log(), Saying("s", "away"), kOnce), StatusIs(absl::StatusCode::kUnavailable));
  deployment.log_server().Start();
  EXPECT_THAT(Append(deployment.log(), Saying("s", "back"), {.patience = absl::Seconds(3)}), IsOk());
}

}  // namespace
}  // namespace docket::testing
