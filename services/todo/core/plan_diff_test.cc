#include "services/todo/core/plan_diff.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using Items = google::protobuf::RepeatedPtrField<v1::TodoItem>;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Items ItemsOf(const std::vector<v1::TodoItem>& items) {
  return {items.begin(), items.end()};
}

Items ListOf(const std::string& ids) {
  Items items;
  for (char id : ids) *items.Add() = MakeItem(std::string(1, id), absl::StrCat("content ", std::string(1, id)));
  return items;
}

// Like "b MOVED".
std::vector<std::string> Diff(const Items& before, const Items& after) {
  std::vector<std::string> texts;
  for (const v1::ItemChange& change : DiffItems(before, after)) {
    texts.push_back(absl::StrCat(change.item_id(), " ", v1::ItemChangeKind_Name(change.kind()).substr(17)));
  }
  return texts;
}

TEST(PlanDiffTest, EqualListsDoNotDiffer) {
  EXPECT_THAT(Diff(ListOf("abc"), ListOf("abc")), IsEmpty());
  EXPECT_THAT(Diff(ListOf(""), ListOf("")), IsEmpty());
}

TEST(PlanDiffTest, TellsWhatCameAndWent) {
  EXPECT_THAT(Diff(ListOf("abc"), ListOf("bd")), ElementsAre("a REMOVED", "c REMOVED", "d ADDED"));
  const auto changes = DiffItems(ListOf("a"), ListOf("b"));
  EXPECT_EQ(changes[0].old_status(), v1::TODO_STATUS_PENDING);
  EXPECT_EQ(changes[0].content(), "content a");
  EXPECT_EQ(changes[1].new_status(), v1::TODO_STATUS_PENDING);
}

TEST(PlanDiffTest, AnItemCanChangeInSeveralWays) {
  v1::TodoItem after = MakeItem("a", "other", v1::TODO_STATUS_COMPLETED);
  EXPECT_THAT(Diff(ItemsOf({MakeItem("a", "one"), MakeItem("b", "two"), MakeItem("c", "three")}),
                   ItemsOf({MakeItem("b", "two"), MakeItem("c", "three"), after})),
              ElementsAre("a STATUS", "a EDITED", "a MOVED"));
  v1::TodoItem form = MakeItem("a", "one");
  form.set_active_form("Doing one");
  EXPECT_THAT(Diff(ItemsOf({MakeItem("a", "one")}), ItemsOf({form})), ElementsAre("a EDITED"));
  v1::TodoItem priority = MakeItem("a", "one");
  priority.set_priority("high");
  EXPECT_THAT(Diff(ItemsOf({MakeItem("a", "one")}), ItemsOf({priority})), ElementsAre("a EDITED"));
  const auto changes =
      DiffItems(ItemsOf({MakeItem("a", "x")}), ItemsOf({MakeItem("a", "x", v1::TODO_STATUS_CANCELLED)}));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].old_status(), v1::TODO_STATUS_PENDING);
  EXPECT_EQ(changes[0].new_status(), v1::TODO_STATUS_CANCELLED);
}

TEST(PlanDiffTest, OnlyMovedItemsMove) {
  EXPECT_THAT(Diff(ListOf("abcde"), ListOf("eabcd")), ElementsAre("e MOVED"));
  EXPECT_THAT(Diff(ListOf("abcde"), ListOf("bcdea")), ElementsAre("a MOVED"));
  EXPECT_THAT(Diff(ListOf("abc"), ListOf("xaybzc")), ElementsAre("x ADDED", "y ADDED", "z ADDED"));
  EXPECT_THAT(Diff(ListOf("abcd"), ListOf("bd")), ElementsAre("a REMOVED", "c REMOVED"));
}

TEST(PlanDiffTest, ItemsWithoutIdsAreKnownByContent) {
  const auto changes = DiffItems(ItemsOf({MakeItem("", "x")}),
                                 ItemsOf({MakeItem("", "x", v1::TODO_STATUS_COMPLETED), MakeItem("", "y")}));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].kind(), v1::ITEM_CHANGE_KIND_STATUS);
  EXPECT_EQ(changes[1].kind(), v1::ITEM_CHANGE_KIND_ADDED);
}

// The length of the longest increasing subsequence, the slow way.
size_t LongestRun(const std::string& text) {
  std::vector<size_t> runs(text.size(), 1);
  size_t longest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (text[j] < text[i]) runs[i] = std::max(runs[i], runs[j] + 1);
    }
    longest = std::max(longest, runs[i]);
  }
  return longest;
}

TEST(PlanDiffTest, MovesAreFewestAndEnough) {
  const uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const std::string before = std::string("abcdefghij").substr(0, 1 + random() % 10);
    std::string after = before;
    std::shuffle(after.begin(), after.end(), random);
    std::string stayed = after;
    size_t moved = 0;
    for (const v1::ItemChange& change : DiffItems(ListOf(before), ListOf(after))) {
      ASSERT_EQ(change.kind(), v1::ITEM_CHANGE_KIND_MOVED) << "seed " << seed;
      stayed.erase(stayed.find(change.item_id()), 1);
      ++moved;
    }
    ASSERT_TRUE(std::is_sorted(stayed.begin(), stayed.end())) << "seed " << seed << " " << after;
    ASSERT_EQ(moved, before.size() - LongestRun(after)) << "seed " << seed << " " << after;
  }
}

}  // namespace
}  // namespace docket::todo
