#include "services/log/core/session_state.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"

namespace docket::log {
namespace {

v1::SessionEvent Event(const std::string& text) {
  v1::SessionEvent event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &event)) << text;
  return event;
}

class SessionStateTest : public ::testing::Test {
 protected:
  // Applies the event if it may come next; the reason if it may not.
  std::optional<docket::v1::ErrorReason> Add(const std::string& text) {
    const v1::SessionEvent event = Event(text);
    last_ = state_.Check(event, "events[0]");
    if (!last_.ok()) return ReasonOf(last_);
    state_.Apply(Seq{state_.head().value + 1}, absl::FromUnixSeconds(1000 + state_.head().value), event);
    return std::nullopt;
  }

  SessionState state_{"tenant", "session"};
  absl::Status last_;
};

TEST_F(SessionStateTest, BeginsWithItsOpening) {
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }"),
            docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
  EXPECT_EQ(Add("session_opened { title: 'first' labels { key: 'a' value: 'b' } }"), std::nullopt);
  EXPECT_EQ(Add("session_opened { }"), docket::v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(state_.summary().title(), "first");
  EXPECT_EQ(state_.summary().labels().at("a"), "b");
}

TEST_F(SessionStateTest, ClosesAndReopens) {
  Add("session_opened { title: 'first' }");
  Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }");
  EXPECT_EQ(Add("session_closed { }"), std::nullopt);
  EXPECT_EQ(state_.summary().agents(0).turn().end_reason(), docket::v1::TURN_END_REASON_INTERRUPTED);
  EXPECT_EQ(Add("session_updated { title: 'x' }"), docket::v1::ERROR_REASON_SESSION_CLOSED);
  EXPECT_EQ(Add("session_opened { }"), std::nullopt);
  EXPECT_EQ(state_.summary().title(), "first");
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '2' origin: TURN_ORIGIN_USER }"), std::nullopt);
}

TEST_F(SessionStateTest, TakesNothingAfterErasure) {
  Add("session_opened { }");
  EXPECT_EQ(Add("session_erased { }"), docket::v1::ERROR_REASON_INVALID_EVENT) << "callers do not write it";
  state_.Apply(Seq{2}, absl::FromUnixSeconds(5), Event("session_erased { }"));
  EXPECT_EQ(Add("session_opened { }"), docket::v1::ERROR_REASON_SESSION_ERASED);
}

TEST_F(SessionStateTest, AgentsAreSpawnedBeforeTheyAct) {
  Add("session_opened { }");
  EXPECT_EQ(Add("agent_id: 'a' turn_started { turn_id: '1' origin: TURN_ORIGIN_SUBAGENT }"),
            docket::v1::ERROR_REASON_AGENT_UNKNOWN);
  EXPECT_EQ(Add("agent_id: 'a' agent_spawned { parent_agent_id: 'nobody' }"), docket::v1::ERROR_REASON_AGENT_UNKNOWN);
  EXPECT_EQ(Add("agent_id: 'main' agent_spawned { parent_agent_id: 'main' }"), docket::v1::ERROR_REASON_INVALID_EVENT);
  EXPECT_EQ(Add("agent_id: 'a' agent_spawned { parent_agent_id: 'main' call_id: 'c' }"), std::nullopt);
  EXPECT_EQ(Add("agent_id: 'a' agent_spawned { parent_agent_id: 'main' }"), docket::v1::ERROR_REASON_INVALID_EVENT);
  EXPECT_EQ(Add("agent_id: 'a' turn_started { turn_id: '1' origin: TURN_ORIGIN_SUBAGENT }"), std::nullopt);
}

TEST_F(SessionStateTest, HasOneOpenTurnAnAgent) {
  Add("session_opened { }");
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER supersedes: '0' }"),
            docket::v1::ERROR_REASON_NO_OPEN_TURN);
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }"), std::nullopt);
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '2' origin: TURN_ORIGIN_USER }"),
            docket::v1::ERROR_REASON_TURN_OPEN);
  EXPECT_EQ(MetadataOf(last_)["turn_id"], "1");
  EXPECT_EQ(MetadataOf(last_)["seq"], "2");
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '2' origin: TURN_ORIGIN_USER supersedes: '1' }"),
            std::nullopt);
  EXPECT_EQ(Add("agent_id: 'main' turn_ended { turn_id: '1' reason: TURN_END_REASON_COMPLETED }"),
            docket::v1::ERROR_REASON_NO_OPEN_TURN);
  EXPECT_EQ(Add("agent_id: 'main' turn_ended { turn_id: '2' reason: TURN_END_REASON_COMPLETED }"), std::nullopt);
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '3' origin: TURN_ORIGIN_IMPLICIT }"), std::nullopt);
  EXPECT_EQ(Add("agent_id: 'main' turn_started { turn_id: '4' origin: TURN_ORIGIN_USER }"), std::nullopt)
      << "an implicit turn is superseded without asking";
}

TEST_F(SessionStateTest, ModelsWriteInsideTurns) {
  Add("session_opened { }");
  EXPECT_EQ(Add("agent_id: 'main' todo_written { actor { kind: ACTOR_KIND_AGENT } }"),
            docket::v1::ERROR_REASON_NO_OPEN_TURN);
  EXPECT_EQ(Add("agent_id: 'main' todo_written { actor { kind: ACTOR_KIND_USER } }"), std::nullopt);
  EXPECT_EQ(state_.summary().agents(0).list_turn_seq(), 0);
  Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }");
  EXPECT_EQ(state_.summary().agents(0).list_turn_seq(), 3) << "the turn that follows adopts the list";
  EXPECT_EQ(Add("agent_id: 'main' todo_written { actor { kind: ACTOR_KIND_IMPORT } }"), std::nullopt);
  EXPECT_EQ(state_.summary().agents(0).list_turn_seq(), 3);
}

TEST_F(SessionStateTest, RemembersTheLatestOfEachType) {
  Add("session_opened { }");
  Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }");
  Add("agent_id: 'main' message { role: MESSAGE_ROLE_USER }");
  Add("agent_id: 'main' todo_written { actor { kind: ACTOR_KIND_AGENT } }");
  Add("agent_id: 'main' message { role: MESSAGE_ROLE_USER }");
  const auto latest = [&](const std::string& agent, std::vector<int> types) {
    return state_.Latest(agent, types).value;
  };
  EXPECT_EQ(latest("main", {v1::EVENT_TYPE_TODO_WRITTEN, v1::EVENT_TYPE_TURN_STARTED}), 4);
  EXPECT_EQ(latest("main", {v1::EVENT_TYPE_MESSAGE}), 5);
  EXPECT_EQ(latest("", {v1::EVENT_TYPE_SESSION_OPENED}), 1);
  EXPECT_EQ(latest("main", {v1::EVENT_TYPE_TOOL_CALL}), 0);
  EXPECT_EQ(latest("other", {v1::EVENT_TYPE_MESSAGE}), 0);
}

TEST_F(SessionStateTest, RowGivesTheSameState) {
  Add("session_opened { title: 't' }");
  Add("agent_id: 'main' turn_started { turn_id: '1' origin: TURN_ORIGIN_USER }");
  state_.set_pk(SessionPk{17});
  const SessionState again = SessionState::FromRow(state_.ToRow());
  EXPECT_EQ(again.summary().SerializeAsString(), state_.summary().SerializeAsString());
  EXPECT_EQ(again.pk().value, 17);
}

}  // namespace
}  // namespace docket::log
