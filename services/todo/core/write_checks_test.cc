#include "services/todo/core/write_checks.h"

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

v1::WriteTodosRequest GoodRequest() {
  v1::WriteTodosRequest request;
  request.set_tenant_id("t");
  request.set_session_id("s");
  request.set_agent_id("main");
  request.set_call_id("call");
  return request;
}

struct BadField {
  std::string path;
  std::function<void(v1::WriteTodosRequest&)> spoil;
};

TEST(WriteChecksTest, NamesTheWrongField) {
  const std::string long_id(257, 'x');
  const BadField cases[] = {
      {"tenant_id", [](auto& r) { r.clear_tenant_id(); }},
      {"session_id", [](auto& r) { r.clear_session_id(); }},
      {"agent_id", [](auto& r) { r.clear_agent_id(); }},
      {"call_id", [](auto& r) { r.clear_call_id(); }},
      {"call_id", [&](auto& r) { r.set_call_id(long_id); }},
      {"session_id", [](auto& r) { r.set_session_id("a\nb"); }},
      {"agent_id", [](auto& r) { r.set_agent_id("\xff"); }},
      {"mode", [](auto& r) { r.set_mode(static_cast<v1::WriteMode>(9)); }},
      {"expected_version", [](auto& r) { r.set_expected_version(-1); }},
      {"actor.kind", [](auto& r) { r.mutable_actor()->set_kind(static_cast<v1::ActorKind>(77)); }},
      {"actor.name", [&](auto& r) { r.mutable_actor()->set_name(long_id); }},
      {"tool", [&](auto& r) { r.set_tool(long_id); }},
      {"open_session.title", [](auto& r) { r.mutable_open_session()->set_title(std::string(1025, 'x')); }},
      {"open_session.labels", [](auto& r) { (*r.mutable_open_session()->mutable_labels())[""] = "x"; }},
      {"open_session.labels[k]", [&](auto& r) { (*r.mutable_open_session()->mutable_labels())["k"] = long_id; }},
      {"open_session.labels",
       [](auto& r) {
         for (int i = 0; i < 65; ++i) (*r.mutable_open_session()->mutable_labels())[absl::StrCat(i)] = "x";
       }},
      {"open_session.parent_session_id", [&](auto& r) { r.mutable_open_session()->set_parent_session_id(long_id); }},
      {"normalizations",
       [](auto& r) {
         for (int i = 0; i < 1001; ++i) r.add_normalizations()->set_kind(v1::NORMALIZATION_KIND_TRIMMED);
       }},
      {"normalizations[0].kind", [](auto& r) { r.add_normalizations(); }},
      {"normalizations[0].original",
       [&](auto& r) {
         r.add_normalizations()->set_kind(v1::NORMALIZATION_KIND_TRIMMED);
         r.mutable_normalizations(0)->set_original(long_id);
       }},
  };
  EXPECT_TRUE(CheckRequest(GoodRequest()).ok());
  for (const BadField& bad : cases) {
    v1::WriteTodosRequest request = GoodRequest();
    bad.spoil(request);
    const absl::Status status = CheckRequest(request);
    EXPECT_EQ(ReasonOf(status), docket::v1::ERROR_REASON_INVALID_REQUEST) << bad.path;
    EXPECT_EQ(MetadataOf(status)["path"], bad.path) << status;
  }
}

TEST(WriteChecksTest, ActorIsAnAgentByDefault) {
  v1::WriteTodosRequest request = GoodRequest();
  EXPECT_EQ(ActorKindOf(request), v1::ACTOR_KIND_AGENT);
  request.mutable_actor()->set_name("somebody");
  EXPECT_EQ(ActorKindOf(request), v1::ACTOR_KIND_AGENT);
  request.mutable_actor()->set_kind(v1::ACTOR_KIND_USER);
  EXPECT_EQ(ActorKindOf(request), v1::ACTOR_KIND_USER);
  EXPECT_FALSE(SpeaksForModel(v1::ACTOR_KIND_USER));
  EXPECT_FALSE(SpeaksForModel(v1::ACTOR_KIND_SYSTEM));
  EXPECT_TRUE(SpeaksForModel(v1::ACTOR_KIND_HOOK));
  EXPECT_TRUE(SpeaksForModel(v1::ACTOR_KIND_IMPORT));
}

TEST(WriteChecksTest, KnowsWhoseListIsWritten) {
  const Policy policy = MakePolicy();
  const Policy implicit = MakePolicy("implicit_turns: true");
  v1::WriteTodosRequest request = GoodRequest();
  EXPECT_EQ(ReasonOf(CheckOwner(request, nullptr, policy)), docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
  Story story;
  const SessionFold unopened = story.Fold();
  EXPECT_EQ(ReasonOf(CheckOwner(request, &unopened, policy)), docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
  story.Open();
  SessionFold fold = story.Fold();
  EXPECT_EQ(ReasonOf(CheckOwner(request, &fold, policy)), docket::v1::ERROR_REASON_NO_OPEN_TURN);
  EXPECT_TRUE(CheckOwner(request, &fold, implicit).ok());
  request.set_agent_id("sub");
  EXPECT_EQ(ReasonOf(CheckOwner(request, &fold, implicit)), docket::v1::ERROR_REASON_AGENT_UNKNOWN);
  request.set_agent_id("main");
  fold.Apply(story.Start("main", "t1"));
  EXPECT_TRUE(CheckOwner(request, &fold, policy).ok());
  fold.Apply(story.Close());
  EXPECT_EQ(ReasonOf(CheckOwner(request, &fold, implicit)), docket::v1::ERROR_REASON_SESSION_CLOSED);
  fold.Apply(story.Erase());
  EXPECT_EQ(ReasonOf(CheckOwner(request, &fold, implicit)), docket::v1::ERROR_REASON_SESSION_ERASED);
}

TEST(WriteChecksTest, UserNeedsNoTurn) {
  Story story;
  story.Open();
  const SessionFold fold = story.Fold();
  v1::WriteTodosRequest request = GoodRequest();
  request.mutable_actor()->set_kind(v1::ACTOR_KIND_USER);
  EXPECT_TRUE(CheckOwner(request, &fold, MakePolicy()).ok());
}

TEST(WriteChecksTest, OpensOnlyMissingSessions) {
  const Policy implicit = MakePolicy("implicit_turns: true");
  v1::WriteTodosRequest request = GoodRequest();
  request.mutable_open_session()->set_title("New");
  EXPECT_TRUE(CheckOwner(request, nullptr, implicit).ok());
  EXPECT_EQ(ReasonOf(CheckOwner(request, nullptr, MakePolicy())), docket::v1::ERROR_REASON_NO_OPEN_TURN);
  request.set_agent_id("sub");
  EXPECT_EQ(ReasonOf(CheckOwner(request, nullptr, implicit)), docket::v1::ERROR_REASON_AGENT_UNKNOWN);
  Story story;
  story.Open();
  story.Close();
  const SessionFold closed = story.Fold();
  request.set_agent_id("main");
  EXPECT_EQ(ReasonOf(CheckOwner(request, &closed, implicit)), docket::v1::ERROR_REASON_SESSION_CLOSED);
}

TEST(WriteChecksTest, ExpectedVersionHoldsUpToTheNewestList) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  SessionFold fold = story.Fold();
  v1::WriteTodosRequest request = GoodRequest();
  request.set_expected_version(0);
  EXPECT_TRUE(CheckExpectedVersion(request, nullptr).ok());
  EXPECT_TRUE(CheckExpectedVersion(request, &fold).ok()) << "a turn is no version";
  fold.Apply(story.Write("main", {"a"}));
  EXPECT_EQ(ReasonOf(CheckExpectedVersion(request, &fold)), docket::v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(MetadataOf(CheckExpectedVersion(request, &fold))["expected"], "0");
  EXPECT_EQ(MetadataOf(CheckExpectedVersion(request, &fold))["actual"], "3");
  request.set_expected_version(2);
  EXPECT_FALSE(CheckExpectedVersion(request, &fold).ok());
  request.set_expected_version(3);
  EXPECT_TRUE(CheckExpectedVersion(request, &fold).ok());
  request.set_expected_version(99);
  EXPECT_TRUE(CheckExpectedVersion(request, &fold).ok()) << "no list is newer than that";
  request.clear_expected_version();
  EXPECT_TRUE(CheckExpectedVersion(request, &fold).ok());
}

}  // namespace
}  // namespace docket::todo
