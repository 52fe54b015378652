#include "services/todo/core/todo_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/todo/core/plan_diff.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

using Items = google::protobuf::RepeatedPtrField<v1::TodoItem>;

Items ItemsOf(const std::vector<v1::TodoStatus>& statuses) {
  Items items;
  for (v1::TodoStatus status : statuses) {
    const std::string id(1, static_cast<char>('a' + items.size()));
    *items.Add() = MakeItem(id, "do " + id, status);
  }
  return items;
}

std::string TextOf(const Items& before, const Items& after, const std::string& policy = "") {
  return ModelText(after, DiffItems(before, after), {}, MakePolicy(policy));
}

constexpr auto kPending = v1::TODO_STATUS_PENDING;
constexpr auto kActive = v1::TODO_STATUS_IN_PROGRESS;
constexpr auto kDone = v1::TODO_STATUS_COMPLETED;
constexpr auto kGone = v1::TODO_STATUS_CANCELLED;

TEST(TodoTextTest, CountsByStatus) {
  EXPECT_EQ(TextOf({}, ItemsOf({kPending, kActive, kActive, kDone})),
            "Updated todo list: 1 pending, 2 in progress, 1 completed.");
  EXPECT_EQ(TextOf({}, ItemsOf({kGone})), "Updated todo list: 0 pending, 0 in progress, 0 completed, 1 cancelled.");
  EXPECT_EQ(TextOf({}, {}), "Updated todo list: 0 pending, 0 in progress, 0 completed.");
}

TEST(TodoTextTest, SaysWhatWasLeftOut) {
  const Policy policy = MakePolicy();
  EXPECT_THAT(ModelText({}, {}, {MakeItem("a", "one\ntwo")}, policy),
              EndsWith("This write left out 1 unfinished item of the list before: \"one two\"."));
  EXPECT_THAT(ModelText({}, {}, std::vector<v1::TodoItem>(5, MakeItem("a", "x")), policy),
              EndsWith("left out 5 unfinished items of the list before: \"x\", \"x\", \"x\" and 2 more."));
}

TEST(TodoTextTest, NudgesWhenTheLastIsCompleted) {
  const std::string on = "verification_nudge: true";
  const Items before = ItemsOf({kDone, kDone, kActive});
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kDone, kDone}), on), HasSubstr("verify"));
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kGone, kDone}), on), HasSubstr("verify"));
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kDone, kDone})), Not(HasSubstr("verify"))) << "off by default";
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kDone, kGone}), on), Not(HasSubstr("verify"))) << "nothing completed";
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kDone}), on), Not(HasSubstr("verify"))) << "too few";
  EXPECT_THAT(TextOf(before, ItemsOf({kDone, kDone, kDone, kPending}), on), Not(HasSubstr("verify")));
  const Items all = ItemsOf({kDone, kDone, kDone});
  EXPECT_THAT(TextOf(all, all, on), Not(HasSubstr("verify"))) << "said once";
  EXPECT_THAT(TextOf({}, all, on), HasSubstr("verify"));
}

TEST(TodoTextTest, ExcerptsAreSafe) {
  EXPECT_EQ(Excerpt("plain"), "\"plain\"");
  EXPECT_EQ(Excerpt(""), "\"\"");
  EXPECT_EQ(Excerpt("a \"quoted\"\n\tline\x1b[31m"), "\"a 'quoted'  line [31m\"");
  EXPECT_EQ(Excerpt("bad\xff\xc3"), "\"bad??\"");
  EXPECT_EQ(Excerpt("left \u202e right\u200b"), "\"left   right \"");
  EXPECT_EQ(Excerpt(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
  EXPECT_EQ(Excerpt(std::string(61, 'x')), "\"" + std::string(60, 'x') + "…\"");
  const std::string wide = Excerpt(std::string(59, 'x') + "äöü");
  EXPECT_EQ(wide, "\"" + std::string(59, 'x') + "…\"");
  EXPECT_TRUE(IsValidUtf8(wide));
}

TEST(TodoTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abcd", 3), "abc");
  EXPECT_EQ(CutUtf8("aä", 2), "a");
  EXPECT_EQ(CutUtf8("a😀", 4), "a");
  EXPECT_EQ(CutUtf8("a😀b", 5), "a😀");
}

TEST(TodoTextTest, RejectionSaysThatNothingChanged) {
  const std::string text = RejectionText(MakeError(docket::v1::ERROR_REASON_TODO_RULE, "too many items"));
  EXPECT_EQ(text, "The todo list was not changed. too many items");
}

}  // namespace
}  // namespace docket::todo
