// Every kind of wrong request gets its own reason, over the wire, and changes nothing.

#include "services/common/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string ValueOf(const absl::Status& status, const std::string& key) {
  const ErrorMetadata metadata = MetadataOf(status);
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

class ErrorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { deployment_ = new Deployment({}); }
  static void TearDownTestSuite() { delete deployment_; }
  static todo_wire::TodoService::Stub& todo() { return deployment_->todo(); }
  static log::v1::LogService::Stub& log() { return deployment_->log(); }

  static absl::Status AppendOnce(const wire::AppendRequest& request) { return Append(log(), request, kOnce).status(); }
  static absl::Status WriteOnce(const todo_wire::WriteTodosRequest& request) {
    return Write(todo(), request, kOnce).status();
  }
  // A session of its own for each test.
  static std::string Open(const std::string& session) {
    EXPECT_THAT(Append(log(), Opening(session)), IsOk());
    return session;
  }

  static Deployment* deployment_;
};
Deployment* ErrorsTest::deployment_ = nullptr;

TEST_F(ErrorsTest, EventsThatAreNotWellFormed) {
  const std::string s = Open("events");
  const auto refused = [](const wire::AppendRequest& request, const std::string& field,
                          v1::ErrorReason reason = v1::ERROR_REASON_INVALID_EVENT) {
    SCOPED_TRACE(field);
    const absl::Status status = AppendOnce(request);
    EXPECT_THAT(status, HasReason(reason));
    EXPECT_THAT(ValueOf(status, "path"), HasSubstr(field));
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  };
  wire::AppendRequest request = Saying(s, "x");
  request.mutable_events(0)->set_event_id("not a uuid");
  refused(request, "event_id");
  request = Saying(s, "x");
  request.mutable_events(0)->clear_message();
  refused(request, "event");
  request = Saying(s, "x");
  request.mutable_events(0)->clear_agent_id();
  refused(request, "agent_id");
  request = Saying(s, "x");
  request.mutable_events(0)->mutable_message()->set_role(wire::MESSAGE_ROLE_UNSPECIFIED);
  refused(request, "role");
  request = AppendTo(s);
  auto& written = *AddEvent(request, "main").mutable_todo_written();
  written.add_items()->set_content("no status");
  refused(request, "status", v1::ERROR_REASON_INVALID_TODO);
  request = AppendTo(s);
  AddEvent(request).mutable_session_erased();
  refused(request, "session_erased");
  EXPECT_THAT(*ReadAll(log(), s), SizeIs(1));
}

TEST_F(ErrorsTest, WhatIsTooLarge) {
  const std::string s = Open("large");
  const std::string mega(1 << 20, 'x');
  wire::AppendRequest request = AppendTo(s);
  auto& call = *AddEvent(request, "main").mutable_custom();
  call.set_type_url("type.example.com/x");
  call.set_value(mega + mega + mega);
  const absl::Status event = AppendOnce(request);
  EXPECT_THAT(event, HasReason(v1::ERROR_REASON_EVENT_TOO_LARGE));
  EXPECT_EQ(ValueOf(event, "limit_bytes"), absl::StrCat(2 << 20));

  request = AppendTo(s);
  for (int i = 0; i < 5; ++i) *request.add_events() = Saying(s, mega.substr(1000)).events(0);
  const absl::Status events = AppendOnce(request);
  EXPECT_THAT(events, HasReason(v1::ERROR_REASON_REQUEST_TOO_LARGE));
  EXPECT_EQ(ValueOf(events, "limit_bytes"), absl::StrCat(4 << 20));

  request = AppendTo(s);
  for (int i = 0; i < 1001; ++i) *request.add_events() = Saying(s, "x").events(0);
  const absl::Status many = AppendOnce(request);
  EXPECT_THAT(many, HasReason(v1::ERROR_REASON_REQUEST_TOO_LARGE));
  EXPECT_EQ(ValueOf(many, "limit_events"), "1000");

  // So large that it is not even read.
  request = AppendTo(s);
  for (int i = 0; i < 20; ++i) *request.add_events() = Saying(s, mega.substr(1000)).events(0);
  EXPECT_THAT(AppendOnce(request), StatusIs(absl::StatusCode::kResourceExhausted));

  todo_wire::WriteTodosRequest list = Writing(s, "c", {});
  for (int i = 0; i < 1001; ++i) {
    auto& item = *list.add_items();
    item.set_content(absl::StrCat("item ", i));
    item.set_status(todo_wire::TODO_STATUS_PENDING);
  }
  EXPECT_THAT(WriteOnce(list), HasReason(v1::ERROR_REASON_INVALID_TODO));
  list = Writing(s, "c", {std::string(70 << 10, 'x')});
  const absl::Status item = WriteOnce(list);
  EXPECT_THAT(item, HasReason(v1::ERROR_REASON_INVALID_TODO));
  EXPECT_EQ(ValueOf(item, "path"), "items[0].content");
  EXPECT_THAT(*ReadAll(log(), s), SizeIs(1 + 2));  // the two refusals are on record
}

TEST_F(ErrorsTest, IdsOfBothServices) {
  for (const std::string& id : {std::string(), std::string(257, 'x'), std::string("a\nb")}) {
    wire::AppendRequest request = Opening("x");
    request.set_session_id(id);
    absl::Status status = AppendOnce(request);
    EXPECT_THAT(status, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
    EXPECT_EQ(ValueOf(status, "path"), "session_id");
    request = Opening("x");
    request.set_tenant_id(id);
    status = AppendOnce(request);
    EXPECT_THAT(status, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
    EXPECT_EQ(ValueOf(status, "path"), "tenant_id");
    todo_wire::WriteTodosRequest list = Writing("x", "c", {"a"});
    list.set_call_id(id);
    status = WriteOnce(list);
    EXPECT_THAT(status, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
    EXPECT_EQ(ValueOf(status, "path"), "call_id");
  }
  todo_wire::WriteTodosRequest unknown = Writing("x", "c", {"a"});
  todo_wire::WriteTodosRequest::GetReflection()->MutableUnknownFields(&unknown)->AddVarint(77, 1);
  EXPECT_THAT(WriteOnce(unknown), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
}

TEST_F(ErrorsTest, TheOrderOfASession) {
  EXPECT_THAT(AppendOnce(Saying("nowhere", "x")), HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
  const std::string s = Open("order");
  EXPECT_THAT(AppendOnce(TurnEnd(s, "t1")), HasReason(v1::ERROR_REASON_NO_OPEN_TURN));
  ASSERT_THAT(Append(log(), Turn(s, "t1")), IsOk());
  const absl::Status open = AppendOnce(Turn(s, "t2"));
  EXPECT_THAT(open, HasReason(v1::ERROR_REASON_TURN_OPEN));
  EXPECT_EQ(ValueOf(open, "turn_id"), "t1");
  EXPECT_THAT(AppendOnce(Turn(s, "t1", "helper")), HasReason(v1::ERROR_REASON_AGENT_UNKNOWN));
  wire::AppendRequest conflict = Saying(s, "x");
  conflict.add_preconditions()->mutable_head_seq()->set_seq(99);
  const absl::Status moved = AppendOnce(conflict);
  EXPECT_THAT(moved, HasReason(v1::ERROR_REASON_REVISION_CONFLICT));
  EXPECT_EQ(ValueOf(moved, "expected"), "99");
  EXPECT_EQ(ValueOf(moved, "actual"), "2");
  wire::AppendRequest said = Saying(s, "x");
  ASSERT_THAT(Append(log(), said), IsOk());
  wire::AppendRequest mixed = Saying(s, "new");
  *mixed.add_events() = said.events(0);
  EXPECT_THAT(AppendOnce(mixed), HasReason(v1::ERROR_REASON_PARTIAL_DUPLICATE));
  said.mutable_events(0)->mutable_message()->mutable_parts(0)->set_text("other");
  EXPECT_THAT(AppendOnce(said), HasReason(v1::ERROR_REASON_EVENT_ID_REUSED));
  ASSERT_THAT(Append(log(), Closing(s)), IsOk());
  EXPECT_THAT(AppendOnce(Saying(s, "x")), HasReason(v1::ERROR_REASON_SESSION_CLOSED));
  EXPECT_THAT(WriteOnce(Writing(s, "late", {"a"})), HasReason(v1::ERROR_REASON_SESSION_CLOSED));
}

TEST_F(ErrorsTest, ReadsThatCannotBeAnswered) {
  const std::string s = Open("reads");
  wire::ReadSessionRequest read;
  read.set_tenant_id(kTenant);
  read.set_session_id("nowhere");
  EXPECT_THAT(Read(log(), read, kOnce), HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
  read.set_session_id(s);
  read.set_at_least(int64_t{1} << 50);
  EXPECT_THAT(Read(log(), read, kOnce), HasReason(v1::ERROR_REASON_POSITION_IN_FUTURE));
  wire::ListSessionsRequest list;
  wire::ListSessionsResponse sessions;
  list.set_tenant_id(kTenant);
  list.set_page_token("nonsense");
  const auto list_sessions = [&] {
    grpc::ClientContext context;
    SetDeadline(context, absl::Now() + absl::Seconds(60));
    return FromGrpc(log().ListSessions(&context, list, &sessions));
  };
  EXPECT_THAT(list_sessions(), HasReason(v1::ERROR_REASON_TOKEN_INVALID));
  list.clear_page_token();
  list.set_page_size(1001);
  EXPECT_THAT(list_sessions(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(Get(todo(), s, "helper"), HasReason(v1::ERROR_REASON_PLAN_NOT_FOUND));
  ASSERT_THAT(Write(todo(), Writing(s, "1", {"a"})), IsOk());
  EXPECT_THAT(Get(todo(), s, "main", 1000, {.patience = absl::ZeroDuration(), .one_try = absl::Seconds(2)}),
              Not(IsOk()));
  todo_wire::GetPlanHistoryRequest history;
  todo_wire::GetPlanHistoryResponse versions;
  history.set_tenant_id(kTenant);
  history.set_session_id(s);
  history.set_agent_id("main");
  history.set_page_token("nonsense");
  grpc::ClientContext context;
  SetDeadline(context, absl::Now() + absl::Seconds(60));
  EXPECT_THAT(FromGrpc(todo().GetPlanHistory(&context, history, &versions)), HasReason(v1::ERROR_REASON_TOKEN_INVALID));
}

TEST(ErrorsAwayTest, WhoIsAwayIsNamed) {
  Deployment deployment({});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "1", {"a"})), IsOk());
  deployment.postgres().Kill();
  const absl::Status store = Append(deployment.log(), Saying("s", "x"), kOnce).status();
  EXPECT_EQ(store.code(), absl::StatusCode::kUnavailable) << store;
  EXPECT_THAT(store, ::testing::AnyOf(HasReason(v1::ERROR_REASON_STORE_UNAVAILABLE),
                                      HasReason(v1::ERROR_REASON_COMMIT_UNKNOWN)));
  EXPECT_TRUE(RetryAfterOf(store).has_value());
  deployment.log_server().Kill();
  const absl::Status log = Write(deployment.todo(), Writing("s", "2", {"b"}), kOnce).status();
  EXPECT_THAT(log, HasReason(v1::ERROR_REASON_LOG_UNAVAILABLE));
  // What was known is still served, and said to be old.
  const auto plan = Get(deployment.todo(), "s");
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE(plan->has_stale_for());
  EXPECT_THAT(ItemsOf(plan->plan().items()), ::testing::ElementsAre("a"));
}

}  // namespace
}  // namespace docket::testing
