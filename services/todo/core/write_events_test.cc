#include "services/todo/core/write_events.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

v1::WriteTodosRequest Request(const std::string& content = "a") {
  v1::WriteTodosRequest request;
  request.set_tenant_id("t");
  request.set_session_id("s");
  request.set_agent_id("main");
  request.set_call_id("call");
  request.add_items()->set_content(content);
  request.mutable_items(0)->set_status(v1::TODO_STATUS_PENDING);
  return request;
}

log::v1::AppendRequest AppendOf(const v1::WriteTodosRequest& request, const SessionFold* fold, const Policy& policy) {
  const auto judged = JudgeWrite(request, fold, policy);
  EXPECT_TRUE(judged.ok()) << judged.status();
  return WriteRequest(request, *judged, fold, policy);
}

TEST(WriteEventsTest, AppendsInsideTheOpenTurn) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  const SessionFold fold = story.Fold();
  const log::v1::AppendRequest append = AppendOf(Request(), &fold, MakePolicy("implicit_turns: true"));
  EXPECT_EQ(append.tenant_id(), "t");
  EXPECT_EQ(append.session_id(), "s");
  ASSERT_EQ(append.events_size(), 1);
  EXPECT_EQ(append.events(0).agent_id(), "main");
  EXPECT_EQ(append.events(0).todo_written().items(0).content(), "a");
  EXPECT_EQ(append.events(0).event_id(), TodoEventId("s", "main", "call").ToString());
  EXPECT_EQ(append.events(0).content_digest(), RequestDigest(Request()));
  ASSERT_EQ(append.preconditions_size(), 1);
  const auto& latest = append.preconditions(0).latest_seq();
  EXPECT_EQ(latest.agent_id(), "main");
  EXPECT_EQ(latest.seq(), 2);
  EXPECT_THAT(latest.types(), ElementsAre(log::v1::EVENT_TYPE_TODO_WRITTEN, log::v1::EVENT_TYPE_TURN_STARTED));
}

TEST(WriteEventsTest, OpensAnImplicitTurn) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.Write("main", {"a"});
  story.End("main", "t1");
  const SessionFold fold = story.Fold();
  const Policy policy = MakePolicy("implicit_turns: true");
  const log::v1::AppendRequest append = AppendOf(Request(), &fold, policy);
  ASSERT_EQ(append.events_size(), 2);
  EXPECT_EQ(append.events(0).turn_started().origin(), docket::v1::TURN_ORIGIN_IMPLICIT);
  EXPECT_THAT(append.events(0).turn_started().turn_id(), StartsWith("implicit-"));
  EXPECT_EQ(append.events(0).agent_id(), "main");
  EXPECT_TRUE(append.events(1).has_todo_written());
  EXPECT_EQ(append.preconditions(0).latest_seq().seq(), 3);
  v1::WriteTodosRequest user = Request();
  user.mutable_actor()->set_kind(v1::ACTOR_KIND_USER);
  EXPECT_EQ(AppendOf(user, &fold, policy).events_size(), 1) << "a user's write waits for the turn that follows";
  user.mutable_actor()->set_kind(v1::ACTOR_KIND_HOOK);
  EXPECT_EQ(AppendOf(user, &fold, policy).events_size(), 2);
}

TEST(WriteEventsTest, OpensAMissingSession) {
  v1::WriteTodosRequest request = Request();
  request.mutable_open_session()->set_title("New");
  (*request.mutable_open_session()->mutable_labels())["team"] = "x";
  request.mutable_open_session()->set_parent_session_id("parent");
  const log::v1::AppendRequest append = AppendOf(request, nullptr, MakePolicy("implicit_turns: true"));
  ASSERT_EQ(append.events_size(), 3);
  EXPECT_EQ(append.events(0).agent_id(), "");
  EXPECT_EQ(append.events(0).session_opened().title(), "New");
  EXPECT_EQ(append.events(0).session_opened().labels().at("team"), "x");
  EXPECT_EQ(append.events(0).session_opened().parent_session_id(), "parent");
  EXPECT_TRUE(append.events(1).has_turn_started());
  EXPECT_TRUE(append.events(2).has_todo_written());
  ASSERT_EQ(append.preconditions_size(), 1);
  EXPECT_TRUE(append.preconditions(0).has_no_session());
  const SessionFold empty("t", "s");
  EXPECT_EQ(AppendOf(request, &empty, MakePolicy("implicit_turns: true")).SerializeAsString().size(),
            append.SerializeAsString().size());
  Story story;
  story.Open();
  const SessionFold fold = story.Fold();
  EXPECT_EQ(AppendOf(request, &fold, MakePolicy("implicit_turns: true")).events_size(), 2)
      << "a session that is there is not opened again";
}

TEST(WriteEventsTest, ARepeatHasTheSameIds) {
  Story story;
  story.Open();
  SessionFold fold = story.Fold();
  const Policy policy = MakePolicy("implicit_turns: true");
  const log::v1::AppendRequest first = AppendOf(Request(), &fold, policy);
  const log::v1::AppendRequest again = AppendOf(Request(), &fold, policy);
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  fold.Apply(story.Start("main", first.events(0).turn_started().turn_id(), docket::v1::TURN_ORIGIN_IMPLICIT));
  fold.Apply(story.Write("main", {"a"}));
  const log::v1::AppendRequest later = AppendOf(Request(), &fold, policy);
  ASSERT_EQ(later.events_size(), 1);
  EXPECT_EQ(later.events(0).event_id(), first.events(1).event_id());
  EXPECT_EQ(later.events(0).content_digest(), first.events(1).content_digest());
  EXPECT_NE(first.events(0).event_id(), first.events(1).event_id());
  EXPECT_NE(TodoEventId("s", "main", "call"), TodoEventId("s", "main", "call2"));
  EXPECT_NE(TodoEventId("s", "sub", "call"), TodoEventId("s", "main", "call"));
}

TEST(WriteEventsTest, DigestIsOfWhatIsAskedFor) {
  const std::string digest = RequestDigest(Request());
  v1::WriteTodosRequest request = Request();
  request.set_mode(v1::WRITE_MODE_REPLACE);
  request.mutable_actor()->set_kind(v1::ACTOR_KIND_AGENT);
  request.set_tool("todo_write");
  request.add_normalizations()->set_kind(v1::NORMALIZATION_KIND_PARSED_STRING);
  request.mutable_open_session()->set_title("x");
  EXPECT_EQ(RequestDigest(request), digest) << "defaults and circumstances do not count";
  request.set_mode(v1::WRITE_MODE_MERGE);
  EXPECT_NE(RequestDigest(request), digest);
  EXPECT_NE(RequestDigest(Request("b")), digest);
  request = Request();
  request.set_expected_version(0);
  EXPECT_NE(RequestDigest(request), digest);
  request = Request();
  request.mutable_actor()->set_kind(v1::ACTOR_KIND_USER);
  EXPECT_NE(RequestDigest(request), digest);
}

TEST(WriteEventsTest, ProbeAsksOnlyForTheCall) {
  const log::v1::AppendRequest probe = ProbeRequest(Request());
  ASSERT_EQ(probe.events_size(), 1);
  EXPECT_EQ(probe.events(0).event_id(), TodoEventId("s", "main", "call").ToString());
  EXPECT_EQ(probe.events(0).content_digest(), RequestDigest(Request()));
  ASSERT_EQ(probe.preconditions_size(), 1);
  EXPECT_GT(probe.preconditions(0).latest_seq().seq(), int64_t{1} << 60) << "never true";
}

TEST(WriteEventsTest, NamesTheCallIdThatWasReused) {
  const absl::Status reused =
      MakeError(docket::v1::ERROR_REASON_EVENT_ID_REUSED, "reused", {{"event_id", "x"}, {"seq", "7"}});
  const absl::Status status = FromAppendError(Request(), reused);
  EXPECT_EQ(ReasonOf(status), docket::v1::ERROR_REASON_CALL_ID_REUSED);
  EXPECT_EQ(MetadataOf(status)["call_id"], "call");
  EXPECT_EQ(MetadataOf(status)["seq"], "7");
  const absl::Status other = MakeError(docket::v1::ERROR_REASON_QUEUE_FULL, "full");
  EXPECT_EQ(FromAppendError(Request(), other), other);
}

TEST(WriteEventsTest, RecordsRefusals) {
  v1::WriteTodosRequest request = Request("x");
  request.mutable_items(0)->set_status(static_cast<v1::TodoStatus>(9));
  request.set_tool("todo_write");
  const absl::Status refusal = JudgeWrite(request, nullptr, MakePolicy()).status();
  ASSERT_TRUE(IsRecordedRefusal(refusal));
  const log::v1::AppendRequest append = RejectedRequest(request, refusal);
  ASSERT_EQ(append.events_size(), 1);
  EXPECT_EQ(append.preconditions_size(), 0);
  const v1::TodoRejected& rejected = append.events(0).todo_rejected();
  EXPECT_EQ(append.events(0).agent_id(), "main");
  EXPECT_EQ(rejected.call_id(), "call");
  EXPECT_EQ(rejected.tool(), "todo_write");
  EXPECT_EQ(rejected.reason(), docket::v1::ERROR_REASON_INVALID_TODO);
  EXPECT_EQ(rejected.path(), "items[0].status");
  EXPECT_THAT(rejected.allowed(), ElementsAre("pending", "in_progress", "completed", "cancelled"));
  EXPECT_EQ(rejected.message(), refusal.message());
  EXPECT_EQ(rejected.raw_input(), R"([{"content":"x","status":9}])");
  EXPECT_NE(append.events(0).event_id(), TodoEventId("s", "main", "call").ToString());
  EXPECT_EQ(RejectedRequest(request, refusal).SerializeAsString(), append.SerializeAsString());
  EXPECT_NE(RejectedRequest(Request("y"), refusal).events(0).event_id(), append.events(0).event_id())
      << "another try of the same call is told, too";
}

TEST(WriteEventsTest, CutsRawInput) {
  const absl::Status refusal = MakeError(docket::v1::ERROR_REASON_TODO_RULE, std::string(5000, 'm'));
  v1::WriteTodosRequest request = Request(std::string(10000, 'x'));
  EXPECT_EQ(RejectedRequest(request, refusal).events(0).todo_rejected().raw_input().size(), 4096u);
  EXPECT_LE(RejectedRequest(request, refusal).events(0).todo_rejected().message().size(), 1024u);
  request.mutable_items(0)->set_content("bad\xff");
  EXPECT_EQ(RejectedRequest(request, refusal).events(0).todo_rejected().raw_input(), "[bad\xff]");
}

TEST(WriteEventsTest, OtherFailuresAreNotRecorded) {
  EXPECT_TRUE(IsRecordedRefusal(MakeError(docket::v1::ERROR_REASON_TODO_DISABLED, "x")));
  for (const auto reason : {docket::v1::ERROR_REASON_REVISION_CONFLICT, docket::v1::ERROR_REASON_SESSION_NOT_FOUND,
                            docket::v1::ERROR_REASON_INVALID_REQUEST, docket::v1::ERROR_REASON_NO_OPEN_TURN}) {
    EXPECT_FALSE(IsRecordedRefusal(MakeError(reason, "x")));
  }
  EXPECT_FALSE(IsRecordedRefusal(absl::OkStatus()));
}

}  // namespace
}  // namespace docket::todo
