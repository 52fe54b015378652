#include "services/log/core/event_shape.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/log/core/limits.h"

namespace docket::log {
namespace {

constexpr char kId[] = "123e4567-e89b-42d3-a456-426614174000";

v1::AppendRequest Request(const std::string& event) {
  v1::AppendRequest request;
  request.set_tenant_id("tenant");
  request.set_session_id("session");
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(event, request.add_events())) << event;
  if (request.events(0).event_id().empty()) request.mutable_events(0)->set_event_id(kId);
  return request;
}

// The reason and the path of what is wrong; empty if nothing is.
std::string Wrong(const v1::AppendRequest& request) {
  const absl::Status status = CheckAppendShape(request);
  return status.ok() ? "" : ReasonName(*ReasonOf(status)) + " " + MetadataOf(status)["path"];
}

TEST(EventShapeTest, TakesWhatIsRight) {
  EXPECT_EQ(Wrong(Request("session_opened { title: 't' }")), "");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' message { role: MESSAGE_ROLE_USER parts { text: 'x' } }")), "");
  EXPECT_EQ(Wrong(Request("custom { type_url: 'x' }")), "");
}

TEST(EventShapeTest, NamesWhatIsWrong) {
  EXPECT_EQ(Wrong(Request("agent_id: 'main'")), "INVALID_EVENT events[0].event");
  EXPECT_EQ(Wrong(Request("event_id: 'x' session_opened { }")), "INVALID_EVENT events[0].event_id");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' session_opened { }")), "INVALID_EVENT events[0].agent_id");
  EXPECT_EQ(Wrong(Request("message { role: MESSAGE_ROLE_USER }")), "INVALID_EVENT events[0].agent_id");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' message { }")), "INVALID_EVENT events[0].message.role");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' turn_started { origin: TURN_ORIGIN_USER }")),
            "INVALID_EVENT events[0].turn_started.turn_id");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' turn_started { turn_id: 't' }")),
            "INVALID_EVENT events[0].turn_started.origin");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' tool_call { call_id: 'c' }")), "INVALID_EVENT events[0].tool_call.tool");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' todo_written { actor { kind: ACTOR_KIND_AGENT } items { content: 'a' } }")),
            "INVALID_TODO events[0].todo_written.items[0].status");
  EXPECT_EQ(Wrong(Request("agent_id: 'main' todo_written { }")), "INVALID_EVENT events[0].todo_written.actor.kind");
}

TEST(EventShapeTest, BoundsTheRequest) {
  auto request = Request("agent_id: 'main' message { role: MESSAGE_ROLE_USER }");
  request.mutable_events(0)->mutable_message()->add_parts()->set_text(std::string(kMaxEventBytes, 'x'));
  EXPECT_EQ(Wrong(request), "EVENT_TOO_LARGE events[0]");
  request = Request("session_opened { }");
  for (int i = 0; i < kMaxRequestEvents; ++i) *request.add_events() = request.events(0);
  EXPECT_EQ(Wrong(request), "REQUEST_TOO_LARGE events");
  request = Request("session_opened { }");
  *request.add_events() = request.events(0);
  EXPECT_EQ(Wrong(request), "INVALID_EVENT events[1].event_id");
  request.clear_events();
  EXPECT_EQ(Wrong(request), "INVALID_REQUEST events");
  request = Request("session_opened { }");
  request.set_tenant_id("");
  EXPECT_EQ(Wrong(request), "INVALID_REQUEST tenant_id");
  request = Request("session_opened { }");
  request.add_preconditions();
  EXPECT_EQ(Wrong(request), "INVALID_REQUEST preconditions[0]");
}

TEST(EventShapeTest, KeepsTypesThatItDoesNotKnow) {
  auto request = Request("session_opened { }");
  auto& event = *request.mutable_events(0);
  event.clear_session_opened();
  v1::SessionEvent::GetReflection()->MutableUnknownFields(&event)->AddLengthDelimited(500, "later");
  EXPECT_EQ(TypeOf(event), 500);
  EXPECT_EQ(Wrong(request), "");
  v1::SessionEvent again;
  ASSERT_TRUE(again.ParseFromString(PayloadOf(event)));
  EXPECT_EQ(PayloadOf(again), PayloadOf(event));
  EXPECT_EQ(TypeOf(again), 500);
}

TEST(EventShapeTest, EqualEventsHaveEqualPayloads) {
  v1::SessionEvent a, b;
  for (int i = 0; i < 40; ++i) (*a.mutable_attributes())[std::to_string(i)] = "x";
  for (int i = 39; i >= 0; --i) (*b.mutable_attributes())[std::to_string(i)] = "x";
  EXPECT_EQ(PayloadOf(a), PayloadOf(b));
}

}  // namespace
}  // namespace docket::log
