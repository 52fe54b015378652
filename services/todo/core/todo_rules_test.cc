#include "services/todo/core/todo_rules.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using docket::v1::ERROR_REASON_INVALID_TODO;
using docket::v1::ERROR_REASON_TODO_RULE;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A request whose items (and more) are `text`.
v1::WriteTodosRequest Request(const std::string& text, const std::string& call = "call") {
  v1::WriteTodosRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  request.set_tenant_id("t");
  request.set_session_id("s");
  request.set_agent_id("main");
  request.set_call_id(call);
  return request;
}

v1::WriteTodosRequest Merge(const std::string& text) {
  return Request(absl::StrCat("mode: WRITE_MODE_MERGE ", text));
}

// A session whose open turn has the list: A "one" PENDING (source id "1"), B "two" IN_PROGRESS, C "three" COMPLETED.
SessionFold Standing() {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.WriteItems(
      "main", {MakeItem("A", "one", v1::TODO_STATUS_PENDING, "1"), MakeItem("B", "two", v1::TODO_STATUS_IN_PROGRESS),
               MakeItem("C", "three", v1::TODO_STATUS_COMPLETED)});
  return story.Fold();
}

JudgedWrite Accept(const v1::WriteTodosRequest& request, const SessionFold* fold = nullptr,
                   const std::string& policy = "") {
  auto judged = JudgeWrite(request, fold, MakePolicy(policy));
  EXPECT_TRUE(judged.ok()) << judged.status();
  return judged.ok() ? *judged : JudgedWrite();
}

// Like "A:one:PENDING"; ids that are not of Standing() are told as "new".
std::vector<std::string> ItemsOf(const JudgedWrite& judged) {
  std::vector<std::string> texts;
  for (const v1::TodoItem& item : judged.todo.items()) {
    texts.push_back(absl::StrCat(item.item_id().size() == 1 ? item.item_id() : "new", ":", item.content(), ":",
                                 v1::TodoStatus_Name(item.status()).substr(12)));
  }
  return texts;
}

struct Refusal {
  std::string request;
  std::string path;
  std::string rule;
  std::string policy = "";
  docket::v1::ErrorReason reason = ERROR_REASON_INVALID_TODO;
};

void ExpectRefusals(const std::vector<Refusal>& cases, const SessionFold* fold) {
  for (const Refusal& bad : cases) {
    const auto judged = JudgeWrite(Request(bad.request), fold, MakePolicy(bad.policy));
    EXPECT_EQ(ReasonOf(judged.status()), bad.reason) << bad.request << judged.status();
    ErrorMetadata metadata = MetadataOf(judged.status());
    EXPECT_EQ(metadata["path"], bad.path) << judged.status();
    EXPECT_EQ(metadata["rule"], bad.rule) << judged.status();
    EXPECT_FALSE(metadata["allowed"].empty()) << judged.status();
    const std::string message(judged.status().message());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(IsValidUtf8(message)) << message;
    if (absl::StartsWith(bad.path, "items[")) {
      EXPECT_EQ(metadata["index"], bad.path.substr(6, bad.path.find(']') - 6));
    }
  }
}

TEST(TodoRulesTest, StoresWhatWasWritten) {
  v1::WriteTodosRequest request = Request(R"(
    items { id: "x" content: "  one\n" status: TODO_STATUS_PENDING active_form: " Doing one" priority: "high" }
    items { content: "two" status: TODO_STATUS_IN_PROGRESS })");
  request.add_normalizations()->set_kind(v1::NORMALIZATION_KIND_STATUS_ALIAS);
  const JudgedWrite judged = Accept(request);
  const v1::TodoWritten& todo = judged.todo;
  ASSERT_EQ(todo.items_size(), 2);
  EXPECT_EQ(todo.items(0).content(), "one");
  EXPECT_EQ(todo.items(0).active_form(), "Doing one");
  EXPECT_EQ(todo.items(0).priority(), "high");
  EXPECT_EQ(todo.items(0).source_id(), "x");
  EXPECT_NE(todo.items(0).item_id(), "x") << "item ids are the server's";
  EXPECT_FALSE(todo.items(1).item_id().empty());
  EXPECT_EQ(todo.call_id(), "call");
  EXPECT_EQ(todo.actor().kind(), v1::ACTOR_KIND_AGENT);
  EXPECT_EQ(todo.cause(), v1::WRITE_CAUSE_WRITE);
  EXPECT_EQ(todo.mode(), v1::WRITE_MODE_REPLACE);
  EXPECT_EQ(todo.policy_name(), "default");
  EXPECT_EQ(todo.policy_digest(), MakePolicy().digest());
  ASSERT_EQ(todo.normalizations_size(), 3);
  EXPECT_EQ(todo.normalizations(0).kind(), v1::NORMALIZATION_KIND_STATUS_ALIAS);
  EXPECT_EQ(todo.normalizations(1).path(), "items[0].content");
  EXPECT_EQ(todo.normalizations(1).original(), "  one\n");
  EXPECT_EQ(todo.normalizations(2).path(), "items[0].active_form");
  EXPECT_EQ(judged.changes.size(), 2u);
  EXPECT_EQ(judged.judged_seq, 0);
}

TEST(TodoRulesTest, ReplaceKeepsIdentity) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Request(R"(
    items { content: "three" status: TODO_STATUS_COMPLETED }
    items { id: "1" content: "one, better" status: TODO_STATUS_COMPLETED }
    items { id: "B" content: "two" status: TODO_STATUS_COMPLETED }
    items { id: "9" content: "four" status: TODO_STATUS_PENDING })"),
                                    &fold);
  EXPECT_THAT(ItemsOf(judged),
              ElementsAre("C:three:COMPLETED", "A:one, better:COMPLETED", "B:two:COMPLETED", "new:four:PENDING"));
  EXPECT_EQ(judged.todo.items(1).source_id(), "1");
  EXPECT_EQ(judged.todo.items(2).source_id(), "") << "the server's id is no source id";
  EXPECT_EQ(judged.todo.items(3).source_id(), "9");
  EXPECT_TRUE(judged.dropped_unfinished.empty());
  EXPECT_EQ(judged.judged_seq, 3);
}

TEST(TodoRulesTest, ExplicitIdsComeBeforeContents) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Request(R"(
    items { content: "one" status: TODO_STATUS_PENDING }
    items { id: "A" content: "changed" status: TODO_STATUS_PENDING })"),
                                    &fold);
  EXPECT_THAT(ItemsOf(judged), ElementsAre("new:one:PENDING", "A:changed:PENDING"));
}

TEST(TodoRulesTest, NewIdsFollowFromTheCall) {
  const std::string items = "items { content: 'a' status: TODO_STATUS_PENDING }";
  const std::string id = Accept(Request(items, "call 1")).todo.items(0).item_id();
  EXPECT_EQ(Accept(Request(items, "call 1")).todo.items(0).item_id(), id);
  EXPECT_NE(Accept(Request(items, "call 2")).todo.items(0).item_id(), id);
}

TEST(TodoRulesTest, ReplaceFlagsWhatItDrops) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Request("items { content: 'new' status: TODO_STATUS_PENDING }"), &fold);
  EXPECT_THAT(judged.todo.dropped_unfinished(), ElementsAre("A", "B")) << "C is finished";
  ASSERT_EQ(judged.dropped_unfinished.size(), 2u);
  EXPECT_EQ(judged.dropped_unfinished[1].content(), "two");
  EXPECT_EQ(judged.changes.size(), 4u);
}

TEST(TodoRulesTest, EmptyListIsLegal) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Request(""), &fold);
  EXPECT_EQ(judged.todo.items_size(), 0);
  EXPECT_EQ(judged.dropped_unfinished.size(), 2u);
  EXPECT_EQ(Accept(Request("")).todo.items_size(), 0);
}

TEST(TodoRulesTest, MergeChangesOnlyWhatIsSet) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Merge(R"(
    items { id: "B" status: TODO_STATUS_COMPLETED }
    items { id: "new" content: "four" }
    items { id: "1" content: "one, better" })"),
                                    &fold);
  EXPECT_THAT(ItemsOf(judged),
              ElementsAre("A:one, better:PENDING", "B:two:COMPLETED", "C:three:COMPLETED", "new:four:PENDING"));
  EXPECT_EQ(judged.todo.items(3).source_id(), "new");
  EXPECT_EQ(judged.todo.mode(), v1::WRITE_MODE_MERGE);
  EXPECT_TRUE(judged.dropped_unfinished.empty()) << "a merge leaves nothing out";
  EXPECT_EQ(judged.changes.size(), 3u);
}

TEST(TodoRulesTest, MergeCanSwapContents) {
  const SessionFold fold = Standing();
  const JudgedWrite judged = Accept(Merge("items { id: 'A' content: 'two' } items { id: 'B' content: 'one' }"), &fold);
  EXPECT_THAT(ItemsOf(judged), ElementsAre("A:two:PENDING", "B:one:IN_PROGRESS", "C:three:COMPLETED"));
}

TEST(TodoRulesTest, MergeWithoutIdGoesByContent) {
  const SessionFold fold = Standing();
  const JudgedWrite judged =
      Accept(Merge("items { content: 'two' status: TODO_STATUS_COMPLETED } items { content: 'four' }"), &fold);
  EXPECT_THAT(ItemsOf(judged),
              ElementsAre("A:one:PENDING", "B:two:COMPLETED", "C:three:COMPLETED", "new:four:PENDING"));
}

TEST(TodoRulesTest, MergeCanClearOptionalFields) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  v1::TodoItem item = MakeItem("A", "one");
  item.set_active_form("Doing one");
  item.set_priority("high");
  story.WriteItems("main", {item});
  const SessionFold fold = story.Fold();
  const JudgedWrite kept = Accept(Merge("items { id: 'A' status: TODO_STATUS_IN_PROGRESS }"), &fold);
  EXPECT_EQ(kept.todo.items(0).active_form(), "Doing one");
  EXPECT_EQ(kept.todo.items(0).priority(), "high");
  const JudgedWrite cleared = Accept(Merge("items { id: 'A' active_form: '' priority: '' }"), &fold);
  EXPECT_EQ(cleared.todo.items(0).active_form(), "");
  EXPECT_EQ(cleared.todo.items(0).priority(), "");
  const JudgedWrite replaced = Accept(Request("items { id: 'A' content: 'one' status: TODO_STATUS_PENDING }"), &fold);
  EXPECT_EQ(replaced.todo.items(0).active_form(), "") << "a replace says everything";
}

TEST(TodoRulesTest, MergeIntoAClearedPlanStartsEmpty) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.Write("main", {"old"});
  story.End("main", "t1");
  story.Start("main", "t2");
  const SessionFold fold = story.Fold();
  EXPECT_THAT(ItemsOf(Accept(Merge("items { content: 'new' }"), &fold)), ElementsAre("new:new:PENDING"));
  const auto refused = JudgeWrite(Merge("items { id: 'id:old' status: TODO_STATUS_COMPLETED }"), &fold, MakePolicy());
  EXPECT_EQ(ReasonOf(refused.status()), ERROR_REASON_INVALID_TODO);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("none, the list is empty"));
  EXPECT_EQ(Accept(Merge("items { id: 'id:old' status: TODO_STATUS_COMPLETED }"), &fold, "clear_on_turn_start: false")
                .todo.items_size(),
            1);
  EXPECT_TRUE(Accept(Request(""), &fold).dropped_unfinished.empty()) << "a cleared list does not stand";
}

TEST(TodoRulesTest, MergeFillsInMissingIds) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.WriteItems("main", {MakeItem("", "one"), MakeItem("", "two")});
  const SessionFold fold = story.Fold();
  const JudgedWrite judged = Accept(Merge("items { content: 'one' status: TODO_STATUS_COMPLETED }"), &fold);
  EXPECT_FALSE(judged.todo.items(0).item_id().empty());
  EXPECT_FALSE(judged.todo.items(1).item_id().empty());
  EXPECT_NE(judged.todo.items(0).item_id(), judged.todo.items(1).item_id());
}

TEST(TodoRulesTest, RefusesMalformedItems) {
  const std::string pending = " status: TODO_STATUS_PENDING }";
  const std::string ok = "items { content: 'fine'" + pending;
  ExpectRefusals(
      {
          {ok + "items { content: '  '" + pending, "items[1].content", "content_required"},
          {ok + "items {" + pending, "items[1].content", "content_required"},
          {ok + "items { content: 'x' }", "items[1].status", "status_required"},
          {"items { content: 'x' status: TODO_STATUS_UNSPECIFIED }", "items[0].status", "known_status"},
          {"items { content: 'x' status: 9 }", "items[0].status", "known_status"},
          {"items { content: 'a\\033b'" + pending, "items[0].content", "control_characters"},
          {"items { content: 'a\\rb'" + pending, "items[0].content", "control_characters"},
          {"items { content: 'x' active_form: '\\001'" + pending, "items[0].active_form", "control_characters"},
          {"items { content: '" + std::string(65537, 'x') + "'" + pending, "items[0].content", "content_too_long"},
          {ok + ok, "items[1].content", "unique_content"},
          {ok + "items { content: ' fine '" + pending, "items[1].content", "unique_content"},
          {"items { id: '" + std::string(257, 'x') + "' content: 'x'" + pending, "items[0].id", "id"},
          {"items { id: 'a\\nb' content: 'x'" + pending, "items[0].id", "id"},
          {"items { priority: 'a\\nb' content: 'x'" + pending, "items[0].priority", "id"},
          {"items { id: 'a' content: 'x'" + pending + "items { id: 'a' content: 'y'" + pending, "items[1].id",
           "unique_id"},
      },
      nullptr);
}

TEST(TodoRulesTest, RefusesInvalidUtf8) {
  v1::WriteTodosRequest request = Request("items { content: 'x' status: TODO_STATUS_PENDING }");
  request.mutable_items(0)->set_content("x\xff");
  EXPECT_EQ(MetadataOf(JudgeWrite(request, nullptr, MakePolicy()).status())["rule"], "valid_utf8");
}

TEST(TodoRulesTest, RefusesMalformedMerges) {
  const SessionFold fold = Standing();
  const std::string merge = "mode: WRITE_MODE_MERGE ";
  ExpectRefusals(
      {
          {merge + "items { status: TODO_STATUS_PENDING }", "items[0].id", "id_or_content"},
          {merge + "items { id: 'none' status: TODO_STATUS_PENDING }", "items[0].content", "content_required"},
          {merge + "items { id: 'A' content: ' ' }", "items[0].content", "content_required"},
          {merge + "items { id: 'A' status: TODO_STATUS_UNSPECIFIED }", "items[0].status", "known_status"},
          {merge + "items { id: 'A' } items { id: '1' }", "items[1].id", "unique_id"},
          {merge + "items { id: 'A' content: 'two' }", "items[0].content", "unique_content"},
          {merge + "items { id: 'x' content: 'x' } items { id: 'y' content: 'two' }", "items[1].content",
           "unique_content"},
      },
      &fold);
  const auto unknown = JudgeWrite(Merge("items { id: 'none' }"), &fold, MakePolicy());
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("\"1\", \"B\", \"C\"")) << "names the ids to use";
}

TEST(TodoRulesTest, CapsHoldWhateverThePolicy) {
  v1::WriteTodosRequest request = Request("");
  for (int i = 0; i < 1000; ++i) {
    request.add_items()->set_content(absl::StrCat("item ", i));
    request.mutable_items(i)->set_status(v1::TODO_STATUS_PENDING);
  }
  EXPECT_EQ(Accept(request, nullptr, "max_items: 1000").todo.items_size(), 1000);
  for (auto& item : *request.mutable_items()) item.mutable_content()->append(1100, 'x');
  EXPECT_EQ(MetadataOf(JudgeWrite(request, nullptr, MakePolicy("max_items: 1000")).status())["rule"], "max_bytes");
  request.add_items()->set_content("one more");
  const absl::Status status = JudgeWrite(request, nullptr, MakePolicy("max_items: 1000")).status();
  EXPECT_EQ(ReasonOf(status), ERROR_REASON_INVALID_TODO);
  EXPECT_EQ(MetadataOf(status)["rule"], "max_items");
}

TEST(TodoRulesTest, KeepsEventsSmallEnough) {
  v1::WriteTodosRequest request = Request("");
  const std::string space(300, ' ');
  for (int i = 0; i < 1000; ++i) {
    v1::TodoItemInput& item = *request.add_items();
    item.set_content(absl::StrCat(space, "item ", i, std::string(940, 'x'), space));
    item.set_active_form(space);
    item.set_status(v1::TODO_STATUS_PENDING);
    v1::Normalization& made = *request.add_normalizations();
    made.set_kind(v1::NORMALIZATION_KIND_TRIMMED);
    made.set_path(std::string(256, 'p'));
    made.set_original(std::string(256, 'o'));
  }
  const JudgedWrite judged = Accept(request, nullptr, "max_items: 1000");
  EXPECT_EQ(judged.todo.normalizations_size(), 3000);
  EXPECT_LT(judged.todo.ByteSizeLong(), size_t{2} << 20);
}

TEST(TodoRulesTest, RefusesWhatThePolicyForbids) {
  const std::string active = " status: TODO_STATUS_IN_PROGRESS } ";
  const std::string pending = " status: TODO_STATUS_PENDING } ";
  ExpectRefusals(
      {
          {"items { content: 'a'" + active + "items { content: 'b'" + pending + "items { content: 'c'" + active,
           "items[2].status", "parallel_in_progress", "parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID",
           ERROR_REASON_TODO_RULE},
          {"items { content: 'a'" + pending + "items { content: 'b' status: TODO_STATUS_CANCELLED }", "items[1].status",
           "allow_cancelled", "allow_cancelled: false", ERROR_REASON_TODO_RULE},
          {"items { content: 'a'" + pending + "items { content: 'b'" + pending, "items", "max_items", "max_items: 1",
           ERROR_REASON_TODO_RULE},
          {"items { content: 'abcd'" + pending, "items[0].content", "max_content_bytes", "max_content_bytes: 3",
           ERROR_REASON_TODO_RULE},
      },
      nullptr);
  const auto both = JudgeWrite(Request("items { content: 'a'" + active + "items { content: 'b'" + active), nullptr,
                               MakePolicy("parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID"));
  EXPECT_EQ(std::string(both.status().message()),
            "items[1].status: only one item may be in_progress at a time, but item 1 (\"a\") and item 2 (\"b\") are; "
            "keep one and set the others to pending or completed");
}

TEST(TodoRulesTest, MergeIsJudgedByItsResult) {
  const SessionFold fold = Standing();
  const std::string forbid = "parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID";
  const auto second = JudgeWrite(Merge("items { id: 'A' status: TODO_STATUS_IN_PROGRESS }"), &fold, MakePolicy(forbid));
  EXPECT_EQ(ReasonOf(second.status()), ERROR_REASON_TODO_RULE);
  EXPECT_EQ(MetadataOf(second.status())["path"], "items[0].status");
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("the standing item \"two\""));
  EXPECT_THAT(ItemsOf(Accept(Merge("items { id: 'A' status: TODO_STATUS_IN_PROGRESS } "
                                   "items { id: 'B' status: TODO_STATUS_COMPLETED }"),
                             &fold, forbid)),
              ElementsAre("A:one:IN_PROGRESS", "B:two:COMPLETED", "C:three:COMPLETED"));
  EXPECT_EQ(
      MetadataOf(JudgeWrite(Merge("items { content: 'four' }"), &fold, MakePolicy("max_items: 3")).status())["rule"],
      "max_items");
}

TEST(TodoRulesTest, TightenedPolicyBindsOnlyWhatIsWritten) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.WriteItems("main", {MakeItem("A", "gone", v1::TODO_STATUS_CANCELLED), MakeItem("B", "long long content")});
  const SessionFold fold = story.Fold();
  EXPECT_EQ(Accept(Merge("items { id: 'B' status: TODO_STATUS_COMPLETED }"), &fold,
                   "allow_cancelled: false max_content_bytes: 4")
                .todo.items_size(),
            2);
}

TEST(TodoRulesTest, DisabledPolicyRefusesWithASentence) {
  const auto refused = JudgeWrite(Request(""), nullptr, MakePolicy("enabled: false"));
  EXPECT_EQ(ReasonOf(refused.status()), docket::v1::ERROR_REASON_TODO_DISABLED);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("switched off"));
  v1::WriteTodosRequest nobody = Request("");
  nobody.clear_agent_id();
  EXPECT_EQ(ReasonOf(JudgeWrite(nobody, nullptr, MakePolicy()).status()), docket::v1::ERROR_REASON_INVALID_REQUEST);
}

// A random request against a list of the items "w0" to "w3".
v1::WriteTodosRequest RandomRequest(std::mt19937& random, int call) {
  v1::WriteTodosRequest request = Request("", absl::StrCat("call ", call));
  if (random() % 2 == 0) request.set_mode(v1::WRITE_MODE_MERGE);
  for (size_t i = random() % 5; i > 0; --i) {
    v1::TodoItemInput& item = *request.add_items();
    if (random() % 2 == 0) item.set_id(absl::StrCat(random() % 4));
    if (random() % 4 != 0) item.set_content(absl::StrCat(random() % 5 == 0 ? " " : "", "w", random() % 4));
    if (random() % 4 != 0) item.set_status(static_cast<v1::TodoStatus>(1 + random() % 4));
  }
  return request;
}

TEST(TodoRulesTest, AcceptedWritesKeepTheInvariants) {
  const uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const Policy policy = MakePolicy("parallel_in_progress: PARALLEL_IN_PROGRESS_FORBID max_items: 5");
  int accepted = 0;
  for (int round = 0; round < 100; ++round) {
    Story story;
    story.Open();
    story.Start("main", "t1");
    SessionFold fold = story.Fold();
    for (int call = 0; call < 30; ++call) {
      const PlanFold before = *fold.FindAgent("main");
      const v1::WriteTodosRequest request = RandomRequest(random, call);
      const auto judged = JudgeWrite(request, &fold, policy);
      if (!judged.ok()) {
        ASSERT_FALSE(MetadataOf(judged.status())["rule"].empty()) << "seed " << seed << judged.status();
        continue;
      }
      ++accepted;
      const auto& items = judged->todo.items();
      ASSERT_TRUE(CheckList(ERROR_REASON_INVALID_TODO, items).ok()) << "seed " << seed;
      ASSERT_LE(items.size(), 5);
      ASSERT_LE(std::count_if(items.begin(), items.end(),
                              [](const auto& item) { return item.status() == v1::TODO_STATUS_IN_PROGRESS; }),
                1);
      ASSERT_TRUE(std::none_of(items.begin(), items.end(), [](const auto& item) { return item.item_id().empty(); }));
      if (request.mode() == v1::WRITE_MODE_MERGE && before.list != nullptr) {
        for (int i = 0; i < before.list->items_size(); ++i) {
          ASSERT_EQ(items[i].item_id(), before.list->items(i).item_id()) << "seed " << seed;
        }
      }
      fold.Apply(story.WriteItems("main", {items.begin(), items.end()}));
    }
  }
  EXPECT_GT(accepted, 200) << "seed " << seed;
}

}  // namespace
}  // namespace docket::todo
