// Watching plans: WatchPlans, the watcher that resumes by itself, and `docket watch`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/json_util.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/plan_recorder.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/terminal.h"

namespace docket::testing {
namespace {

using client::PlanWatcher;
using client::WatchedKey;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

todo_wire::WatchPlansRequest OfTenant(const std::string& label = "") {
  todo_wire::WatchPlansRequest request;
  request.set_tenant_id(kTenant);
  request.mutable_tenant();
  if (!label.empty()) (*request.mutable_tenant()->mutable_session_labels())["team"] = label;
  return request;
}

todo_wire::WatchPlansRequest OfSession(const std::string& session) {
  todo_wire::WatchPlansRequest request;
  request.set_tenant_id(kTenant);
  request.mutable_session()->set_session_id(session);
  return request;
}

bool Shows(const PlanRecorder::State& state, const std::string& session, const std::vector<std::string>& items,
           const std::string& agent = "main") {
  const auto plan = state.plans.find({session, agent});
  return plan != state.plans.end() && ItemsOf(plan->second.items()) == items;
}

bool WaitUntil(const std::function<bool()>& reached, absl::Duration timeout = absl::Seconds(60)) {
  const absl::Time give_up = absl::Now() + timeout;
  while (!reached()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

// One stream, message by message.
class RawWatch {
 public:
  RawWatch(todo_wire::TodoService::Stub& todo, const todo_wire::WatchPlansRequest& request) {
    SetDeadline(context_, absl::Now() + absl::Minutes(2));
    reader_ = todo.WatchPlans(&context_, request);
  }

  // The next message that is no heartbeat.
  bool Next(todo_wire::WatchPlansResponse& message) {
    do {
      if (!reader_->Read(&message)) return false;
    } while (message.has_heartbeat());
    return true;
  }
  absl::Status Finish() { return FromGrpc(reader_->Finish()); }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<todo_wire::WatchPlansResponse>> reader_;
};

// One deployment for the tests that need none of their own.
class WatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { deployment_ = new Deployment({}); }
  static void TearDownTestSuite() { delete deployment_; }
  static todo_wire::TodoService::Stub& todo() { return deployment_->todo(); }
  static log::v1::LogService::Stub& log() { return deployment_->log(); }
  static std::shared_ptr<grpc::Channel> channel() { return deployment_->todo_server().channel(); }

  static absl::Status EndOf(const todo_wire::WatchPlansRequest& request) {
    RawWatch watch(todo(), request);
    todo_wire::WatchPlansResponse message;
    while (watch.Next(message)) {
    }
    return watch.Finish();
  }

  static Deployment* deployment_;
};
Deployment* WatchTest::deployment_ = nullptr;

TEST_F(WatchTest, SendsASnapshotThenEveryChange) {
  ASSERT_THAT(Append(log(), Opening("live")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("live", "1", {"a", "b"})), IsOk());
  RawWatch watch(todo(), OfSession("live"));
  todo_wire::WatchPlansResponse message;
  ASSERT_TRUE(watch.Next(message));
  ASSERT_TRUE(message.has_snapshot());
  ASSERT_THAT(message.snapshot().plans(), SizeIs(1));
  EXPECT_THAT(ItemsOf(message.snapshot().plans(0).items()), ElementsAre("a", "b"));
  const int64_t revision = message.snapshot().plans(0).revision();
  ASSERT_TRUE(watch.Next(message));
  ASSERT_TRUE(message.has_synced());
  EXPECT_GT(message.synced().position(), 0);
  EXPECT_FALSE(message.synced().has_stale_for());

  const auto written = Write(todo(), Writing("live", "2", {"x:a", "b", "c"}));
  ASSERT_THAT(written, IsOk());
  ASSERT_TRUE(watch.Next(message));
  ASSERT_TRUE(message.has_plan_changed());
  EXPECT_GT(message.plan_changed().plan().revision(), revision);
  EXPECT_EQ(message.plan_changed().plan().version(), written->version());
  EXPECT_THAT(ItemsOf(message.plan_changed().plan().items()), ElementsAre("x:a", "b", "c"));
  ASSERT_THAT(message.plan_changed().changes(), SizeIs(2));
  EXPECT_EQ(message.plan_changed().changes(0).kind(), todo_wire::ITEM_CHANGE_KIND_STATUS);
  EXPECT_EQ(message.plan_changed().changes(1).kind(), todo_wire::ITEM_CHANGE_KIND_ADDED);

  // Agents to come are part of the session.
  ASSERT_THAT(Append(log(), Spawning("live", "helper")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("live", "h", {"help"}, "helper")), IsOk());
  std::vector<std::string> helped;
  while (helped.empty() && watch.Next(message)) {
    ASSERT_TRUE(message.has_plan_changed());
    if (message.plan_changed().plan().agent_id() == "helper") helped = ItemsOf(message.plan_changed().plan().items());
  }
  EXPECT_THAT(helped, ElementsAre("help"));
}

TEST_F(WatchTest, TheLogAloneMovesPlans) {
  ASSERT_THAT(Append(log(), Opening("fed")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("fed", "1", {"a"})), IsOk());
  PlanRecorder shown;
  PlanWatcher watcher(channel(), OfSession("fed"), shown, {});
  ASSERT_TRUE(shown.WaitFor([](const auto& state) { return state.synced; }));
  ASSERT_THAT(Append(log(), Turn("fed", "t1")), IsOk());
  EXPECT_TRUE(shown.WaitFor([](const auto& state) {
    return state.plans.at({"fed", "main"}).run_state() == todo_wire::RUN_STATE_TURN_OPEN;
  }));
  ASSERT_THAT(Append(log(), TurnEnd("fed", "t1")), IsOk());
  EXPECT_TRUE(shown.WaitFor([](const auto& state) {
    return state.plans.at({"fed", "main"}).run_state() == todo_wire::RUN_STATE_TURN_COMPLETED;
  }));
  ASSERT_THAT(Append(log(), Closing("fed")), IsOk());
  EXPECT_TRUE(shown.WaitFor([](const auto& state) {
    return state.plans.at({"fed", "main"}).run_state() == todo_wire::RUN_STATE_SESSION_CLOSED;
  }));
}

TEST_F(WatchTest, WatchesSinglePlans) {
  ASSERT_THAT(Append(log(), Opening("single")), IsOk());
  ASSERT_THAT(Append(log(), Spawning("single", "helper")), IsOk());
  todo_wire::WatchPlansRequest request;
  request.set_tenant_id(kTenant);
  auto& key = *request.mutable_plans()->add_keys();
  key.set_session_id("single");
  key.set_agent_id("helper");
  PlanRecorder shown;
  PlanWatcher watcher(channel(), request, shown, {});
  ASSERT_TRUE(shown.WaitFor([](const auto& state) { return state.synced; }));
  ASSERT_THAT(Write(todo(), Writing("single", "1", {"not mine"})), IsOk());
  ASSERT_THAT(Write(todo(), Writing("single", "1", {"mine"}, "helper")), IsOk());
  EXPECT_TRUE(shown.WaitFor([](const auto& state) { return Shows(state, "single", {"mine"}, "helper"); }));
  EXPECT_THAT(shown.state().plans, SizeIs(1));
}

TEST_F(WatchTest, ATenantsWatchShowsNewSessionsWithTheLabel) {
  const auto labelled = [](const std::string& session, const std::string& team) {
    wire::AppendRequest request = AppendTo(session);
    (*AddEvent(request).mutable_session_opened()->mutable_labels())["team"] = team;
    return request;
  };
  ASSERT_THAT(Append(log(), labelled("red-1", "red")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("red-1", "1", {"a"})), IsOk());
  PlanRecorder red, all;
  PlanWatcher red_watcher(channel(), OfTenant("red"), red, {}), all_watcher(channel(), OfTenant(), all, {});
  ASSERT_TRUE(red.WaitFor([](const auto& state) { return state.synced && Shows(state, "red-1", {"a"}); }));
  ASSERT_THAT(Append(log(), labelled("blue-1", "blue")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("blue-1", "1", {"b"})), IsOk());
  ASSERT_THAT(Append(log(), labelled("red-2", "red")), IsOk());
  ASSERT_THAT(Write(todo(), Writing("red-2", "1", {"c"})), IsOk());
  EXPECT_TRUE(red.WaitFor([](const auto& state) { return Shows(state, "red-2", {"c"}); }));
  EXPECT_FALSE(red.state().plans.contains({"blue-1", "main"}));
  EXPECT_TRUE(all.WaitFor([](const auto& state) {
    return Shows(state, "red-1", {"a"}) && Shows(state, "blue-1", {"b"}) && Shows(state, "red-2", {"c"});
  }));
}

TEST_F(WatchTest, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(EndOf(OfSession("nowhere")), HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
  todo_wire::WatchPlansRequest request;
  request.set_tenant_id(kTenant);
  EXPECT_THAT(EndOf(request), HasReason(v1::ERROR_REASON_INVALID_REQUEST));  // no scope
  request.mutable_plans();
  EXPECT_THAT(EndOf(request), HasReason(v1::ERROR_REASON_INVALID_REQUEST));  // no keys
  for (int i = 0; i < 1001; ++i) {
    auto& key = *request.mutable_plans()->add_keys();
    key.set_session_id(absl::StrCat("s", i));
    key.set_agent_id("main");
  }
  EXPECT_THAT(EndOf(request), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  request = OfTenant();
  request.clear_tenant_id();
  const absl::Status nobody = EndOf(request);
  EXPECT_THAT(nobody, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("tenant_id"));
  // The watcher gives up on what cannot pass.
  PlanRecorder shown;
  PlanWatcher watcher(channel(), OfSession("nowhere"), shown, {});
  EXPECT_TRUE(shown.WaitFor([](const auto& state) { return !state.failed.ok(); }));
  EXPECT_THAT(shown.state().failed, HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
}

TEST(WatchRestartTest, GoesOnByItselfWhateverIsKilled) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "0", {"write 0"})), IsOk());
  PlanRecorder session, tenant;
  PlanWatcher of_session(deployment.todo_server().channel(), OfSession("s"), session, {});
  PlanWatcher of_tenant(deployment.todo_server().channel(), OfTenant(), tenant, {});
  int writes = 0;
  const auto expect_write = [&](const char* after) {
    SCOPED_TRACE(after);
    ++writes;
    const std::string item = absl::StrCat("write ", writes);
    ASSERT_THAT(Write(deployment.todo(), Writing("s", absl::StrCat(writes), {item})), IsOk());
    const auto reached = [&item](const PlanRecorder::State& state) { return Shows(state, "s", {item}); };
    EXPECT_TRUE(session.WaitFor(reached));
    EXPECT_TRUE(tenant.WaitFor(reached));
  };
  expect_write("the start");
  deployment.todo_server().Kill();
  EXPECT_TRUE(session.WaitFor([](const auto& state) { return state.disconnections > 0; }));
  deployment.todo_server().Start();
  expect_write("docket-todo was killed");
  deployment.log_server().Kill();
  EXPECT_TRUE(session.WaitFor([](const auto& state) { return state.is_stale; }));
  deployment.log_server().Start();
  EXPECT_TRUE(session.WaitFor([](const auto& state) { return !state.is_stale; }));
  expect_write("docket-log was killed");
  deployment.postgres().Kill();
  ASSERT_THAT(deployment.postgres().Start(), IsOk());
  expect_write("Postgres was killed");
  // A write that a killed docket-todo made durable is shown by the next.
  deployment.todo_server().Kill();
  ASSERT_THAT(Append(deployment.log(), Turn("s", "t1")), IsOk());
  deployment.todo_server().Start();
  EXPECT_TRUE(tenant.WaitFor([](const auto& state) {
    return state.plans.at({"s", "main"}).run_state() == todo_wire::RUN_STATE_TURN_OPEN;
  }));
  EXPECT_THAT(session.state().went_back, IsEmpty());
  EXPECT_THAT(tenant.state().went_back, IsEmpty());
  EXPECT_THAT(session.state().failed, IsOk());
}

TEST(WatchRestartTest, ADrainingServerSendsItsWatchersAway) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  RawWatch watch(deployment.todo(), OfSession("s"));
  todo_wire::WatchPlansResponse message;
  do {
    ASSERT_TRUE(watch.Next(message));
  } while (!message.has_synced());
  EXPECT_EQ(deployment.todo_server().Terminate(), 0);
  ASSERT_TRUE(watch.Next(message));
  EXPECT_TRUE(message.has_going_away());
  EXPECT_FALSE(watch.Next(message));
}

// `docket watch` as a process.
class WatchProcess {
 public:
  WatchProcess(Deployment& deployment, std::vector<std::string> arguments)
      : path_(deployment.folder().File(absl::StrCat("watch-", arguments.size()))) {
    arguments.insert(arguments.begin(), {ProgramPath("docket"), "--tenant", kTenant});
    auto started = Process::Start({.command = arguments, .env = deployment.Env(), .output_path = path_});
    EXPECT_THAT(started, IsOk());
    if (started.ok()) process_ = std::make_unique<Process>(*std::move(started));
  }

  std::string output() const { return ReadFile(path_); }
  bool WaitForOutput(const std::string& text) const {
    return WaitUntil([&] { return absl::StrContains(output(), text); });
  }
  Process& process() { return *process_; }

 private:
  const std::string path_;
  std::unique_ptr<Process> process_;
};

TEST(WatchCommandTest, PrintsLinesAndJsonAcrossARestart) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "1", {">:look", "build"})), IsOk());
  WatchProcess lines(deployment, {"watch", "s"}), json(deployment, {"--output", "json", "watch"});
  EXPECT_TRUE(lines.WaitForOutput("◉ look")) << lines.output();
  EXPECT_TRUE(json.WaitForOutput("synced")) << json.output();
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "2", {"x:look", ">:build"})), IsOk());
  EXPECT_TRUE(lines.WaitForOutput("✓ look")) << lines.output();
  EXPECT_TRUE(lines.WaitForOutput("1/2 done")) << lines.output();
  deployment.todo_server().Kill();
  EXPECT_TRUE(lines.WaitForOutput("not connected, trying again")) << lines.output();
  deployment.todo_server().Start();
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "3", {"x:look", "x:build"})), IsOk());
  EXPECT_TRUE(lines.WaitForOutput("2/2 done")) << lines.output();
  EXPECT_TRUE(WaitUntil([&] {
    for (const absl::string_view line : absl::StrSplit(json.output(), '\n', absl::SkipEmpty())) {
      todo_wire::WatchPlansResponse message;
      if (!absl::StartsWith(line, "{")) continue;  // what is told on standard error
      if (!google::protobuf::util::JsonStringToMessage(std::string(line), &message).ok()) continue;
      const todo_wire::Plan& plan = message.has_snapshot() && message.snapshot().plans_size() > 0
                                        ? message.snapshot().plans(0)
                                        : message.plan_changed().plan();
      if (plan.counts().completed() == 2) return true;
    }
    return false;
  })) << json.output();
  lines.process().Signal(SIGTERM);
  EXPECT_THAT(lines.process().Wait(absl::Seconds(30)), IsOk());
  const RunResult missing = deployment.Docket({"--tenant", kTenant, "watch", "nowhere"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("SESSION_NOT_FOUND"));
}

TEST(WatchCommandTest, DrawsOnATerminal) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Append(deployment.log(), Spawning("s", "helper")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "1", {">:日本語 text", "\tesc \n[31m", "x:seen"})), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "2", {"help"}, "helper")), IsOk());
  Terminal terminal(absl::StrCat("'", ProgramPath("docket"), "' --tenant ", kTenant, " watch"), deployment.Env(), 80,
                    24);
  EXPECT_TRUE(terminal.WaitForText("◉ 日本語 text")) << terminal.text();
  EXPECT_THAT(terminal.text(), HasSubstr("└ helper"));
  EXPECT_THAT(terminal.text(), HasSubstr("1/3 done"));
  EXPECT_THAT(terminal.text(), HasSubstr("✓ seen"));
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "3", {"x:日本語 text", "x:seen"})), IsOk());
  EXPECT_TRUE(terminal.WaitForText("2/2 done")) << terminal.text();
  terminal.Resize(12, 6);
  EXPECT_TRUE(terminal.WaitForText("…")) << terminal.text();
  terminal.Resize(80, 24);
  EXPECT_TRUE(terminal.WaitForText("2/2 done")) << terminal.text();
  deployment.todo_server().Kill();
  EXPECT_TRUE(terminal.WaitForText("not connected")) << terminal.text();
  EXPECT_THAT(terminal.text(), HasSubstr("2/2 done"));
  deployment.todo_server().Start();
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "4", {"again"})), IsOk());
  EXPECT_TRUE(terminal.WaitForText("○ again")) << terminal.text();
  EXPECT_THAT(terminal.text(), Not(HasSubstr("not connected")));
  terminal.Press("q");
  EXPECT_TRUE(terminal.WaitForText("ended with 0")) << terminal.text();
}

}  // namespace
}  // namespace docket::testing
