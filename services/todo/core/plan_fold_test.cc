#include "services/todo/core/plan_fold.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/todo/core/testing_events.h"

namespace docket::todo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

SessionFold FoldOf(const std::vector<log::v1::RecordedEvent>& events) {
  SessionFold fold("t", "s");
  for (const auto& event : events) fold.Apply(event);
  return fold;
}

TEST(PlanKeyTest, KeysWithOtherPartsDiffer) {
  const absl::flat_hash_set<PlanKey> keys = {{"t", "s", "a"}, {"t", "s", "b"}, {"t", "sa", ""}, {"t", "s", "a"}};
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_TRUE((PlanKey{"t", "s", "a"} != PlanKey{"t", "a", "s"}));
}

TEST(SessionFoldTest, HasMainBeforeItActs) {
  Story story;
  story.Open("Title", {{"team", "x"}});
  const SessionFold fold = FoldOf(story.events());
  ASSERT_NE(fold.FindAgent("main"), nullptr);
  EXPECT_EQ(fold.FindAgent("main")->list, nullptr);
  EXPECT_EQ(fold.Revision(*fold.FindAgent("main")), 1);
  EXPECT_EQ(fold.title(), "Title");
  EXPECT_EQ(fold.labels().at("team"), "x");
  EXPECT_EQ(fold.FindAgent("sub"), nullptr);
}

TEST(SessionFoldTest, TellsWhichPlansChange) {
  Story story;
  SessionFold fold("t", "s");
  EXPECT_THAT(fold.Apply(story.Open()), ElementsAre("main"));
  EXPECT_THAT(fold.Apply(story.Start("main", "t1")), ElementsAre("main"));
  EXPECT_THAT(fold.Apply(story.Say("main")), IsEmpty());
  EXPECT_THAT(fold.Apply(story.Spawn("sub")), ElementsAre("sub"));
  EXPECT_THAT(fold.Apply(story.Write("main", {"a"})), ElementsAre("main"));
  EXPECT_THAT(fold.Apply(story.Update("New")), UnorderedElementsAre("main", "sub"));
  EXPECT_EQ(fold.Revision(*fold.FindAgent("sub")), 6);
  EXPECT_THAT(fold.Apply(story.Close()), UnorderedElementsAre("main", "sub"));
}

TEST(SessionFoldTest, IgnoresWhatItHasSeen) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.Write("main", {"a"});
  story.Update("Title");
  story.End("main", "t1");
  SessionFold fold = FoldOf(story.events());
  const SessionFold before = fold;
  for (const auto& event : story.events()) EXPECT_THAT(fold.Apply(event), IsEmpty());
  EXPECT_TRUE(fold == before);
}

TEST(SessionFoldTest, IgnoresOtherSessionsAndUnknownEvents) {
  Story story;
  SessionFold fold = FoldOf({story.Open()});
  const SessionFold before = fold;
  auto other = story.Write("main", {"a"});
  other.set_session_id("other");
  EXPECT_THAT(fold.Apply(other), IsEmpty());
  other.set_session_id("s");
  other.set_tenant_id("other");
  EXPECT_THAT(fold.Apply(other), IsEmpty());
  log::v1::RecordedEvent unknown = story.Write("main", {"a"});
  unknown.mutable_event()->clear_event();
  EXPECT_THAT(fold.Apply(unknown), IsEmpty());
  log::v1::RecordedEvent nobody = story.Write("", {"a"});
  EXPECT_THAT(fold.Apply(nobody), IsEmpty());
  EXPECT_TRUE(fold == before);
}

TEST(SessionFoldTest, ListBelongsToTheOpenTurn) {
  Story story;
  story.Open();
  story.Start("main", "t1");
  story.Write("main", {"a"});
  EXPECT_EQ(FoldOf(story.events()).FindAgent("main")->list_turn_seq, 2);
  story.End("main", "t1");
  story.Start("main", "t2");
  const SessionFold fold = FoldOf(story.events());
  EXPECT_EQ(fold.FindAgent("main")->list_turn_seq, 2);
  EXPECT_EQ(fold.FindAgent("main")->JudgedSeq(), 5);
}

TEST(SessionFoldTest, NextTurnAdoptsAListWrittenBetween) {
  Story story;
  story.Open();
  story.Write("main", {"a"}, v1::ACTOR_KIND_USER);
  EXPECT_EQ(FoldOf(story.events()).FindAgent("main")->list_turn_seq, 0);
  story.Start("main", "t1");
  EXPECT_EQ(FoldOf(story.events()).FindAgent("main")->list_turn_seq, 3);
  story.Start("main", "t2", docket::v1::TURN_ORIGIN_USER, "t1");
  EXPECT_EQ(FoldOf(story.events()).FindAgent("main")->list_turn_seq, 3);
}

TEST(SessionFoldTest, ClosingEndsOpenTurns) {
  Story story;
  story.Open("Title", {{"a", "1"}});
  story.Start("main", "t1");
  story.Close();
  SessionFold fold = FoldOf(story.events());
  const TurnFacts& turn = *fold.FindAgent("main")->turn;
  EXPECT_EQ(turn.ended_seq, 3);
  EXPECT_EQ(turn.end_reason, docket::v1::TURN_END_REASON_INTERRUPTED);
  EXPECT_EQ(fold.state(), log::v1::SESSION_STATE_CLOSED);
  fold.Apply(story.Open());
  EXPECT_EQ(fold.state(), log::v1::SESSION_STATE_OPEN);
  EXPECT_EQ(fold.title(), "Title") << "a reopening keeps what it does not tell";
  EXPECT_EQ(fold.labels().size(), 1u);
  EXPECT_FALSE(fold.FindAgent("main")->HasOpenTurn());
}

TEST(SessionFoldTest, UpdateRemovesThenSetsLabels) {
  Story story;
  story.Open("Title", {{"a", "1"}, {"b", "2"}});
  auto update = story.Update("");
  auto& updated = *update.mutable_event()->mutable_session_updated();
  updated.clear_title();
  updated.add_remove_labels("a");
  updated.add_remove_labels("b");
  (*updated.mutable_set_labels())["b"] = "3";
  SessionFold fold = FoldOf({story.events()[0], update});
  EXPECT_EQ(fold.labels(), (std::map<std::string, std::string>{{"b", "3"}}));
  EXPECT_EQ(fold.title(), "Title");
}

TEST(SessionFoldTest, ErasureLeavesNothing) {
  Story story;
  story.Open("Secret", {{"a", "1"}});
  story.Start("main", "t1");
  story.Write("main", {"secret"});
  SessionFold fold = FoldOf(story.events());
  EXPECT_THAT(fold.Apply(story.Erase()), ElementsAre("main"));
  EXPECT_EQ(fold.state(), log::v1::SESSION_STATE_ERASED);
  EXPECT_TRUE(fold.agents().empty());
  EXPECT_TRUE(fold.title().empty());
  EXPECT_TRUE(fold.labels().empty());
  EXPECT_EQ(fold.session_seq(), 4);
  EXPECT_THAT(fold.Apply(story.Write("main", {"late"})), IsEmpty());
  EXPECT_TRUE(fold.agents().empty());
}

TEST(SessionFoldTest, CopiesShareLists) {
  Story story;
  story.Open();
  story.Write("main", {"a"}, v1::ACTOR_KIND_USER);
  const SessionFold fold = FoldOf(story.events());
  const SessionFold copy = fold;
  EXPECT_EQ(copy.FindAgent("main")->list.get(), fold.FindAgent("main")->list.get());
  EXPECT_GT(fold.EstimatedBytes(), FoldOf({story.events()[0]}).EstimatedBytes());
}

// Makes random legal histories.
class RandomStory {
 public:
  explicit RandomStory(uint32_t seed) : random_(seed) { story_.Open("First", {{"a", "1"}}); }

  Story& story() { return story_; }

  void Step() {
    if (erased_) return;
    if (closed_) {
      if (Chance(10)) return Erase();
      closed_ = false;
      story_.Open(Chance(50) ? "" : absl::StrCat("Again", Pick(100)));
      return;
    }
    const std::string agent = agents_[Pick(agents_.size())];
    std::string& turn = turns_[agent];
    switch (Pick(12)) {
      case 0:
        agents_.push_back(absl::StrCat("sub", agents_.size()));
        story_.Spawn(agents_.back(), agent);
        return;
      case 1:
      case 2:
        StartTurn(agent, turn);
        return;
      case 3:
      case 4:
        if (!turn.empty()) story_.End(agent, turn, Reason());
        turn.clear();
        return;
      case 5:
        story_.Say(agent);
        return;
      case 6:
        story_.Update(absl::StrCat("Title", Pick(100)));
        return;
      case 7:
        if (!Chance(25)) return;
        closed_ = true;
        turns_.clear();
        story_.Close();
        return;
      case 8:
        if (Chance(2)) Erase();
        return;
      default:
        story_.Write(agent, Contents(), turn.empty() ? v1::ACTOR_KIND_USER : v1::ACTOR_KIND_AGENT);
    }
  }

 private:
  size_t Pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  bool Chance(size_t percent) { return Pick(100) < percent; }
  docket::v1::TurnEndReason Reason() { return static_cast<docket::v1::TurnEndReason>(1 + Pick(3)); }

  void StartTurn(const std::string& agent, std::string& turn) {
    const std::string open = turn;
    turn = absl::StrCat("turn", ++turn_count_);
    const auto origin = Chance(30) ? docket::v1::TURN_ORIGIN_IMPLICIT : docket::v1::TURN_ORIGIN_USER;
    story_.Start(agent, turn, origin, open);
  }

  void Erase() {
    erased_ = true;
    story_.Erase();
  }

  std::vector<std::string> Contents() {
    std::vector<std::string> contents;
    for (size_t i = Pick(4); i > 0; --i) contents.push_back(absl::StrCat("item ", i, " ", Pick(3)));
    return contents;
  }

  std::mt19937 random_;
  Story story_;
  std::vector<std::string> agents_ = {"main"};
  std::map<std::string, std::string> turns_;
  int turn_count_ = 0;
  bool closed_ = false;
  bool erased_ = false;
};

TEST(SessionFoldTest, SummaryAndReplayAgree) {
  const uint32_t base = std::random_device{}();
  std::cout << "seed " << base << "\n";
  for (uint32_t round = 0; round < 200; ++round) {
    RandomStory random(base + round);
    SessionFold replayed("t", "s");
    size_t applied = 0;
    for (int step = 0; step < 60; ++step) {
      random.Step();
      const auto& events = random.story().events();
      for (; applied < events.size(); ++applied) replayed.Apply(events[applied]);
      const SessionFold loaded = SessionFold::FromSummary(SummaryOf(events), LatestOf(events));
      ASSERT_TRUE(loaded == replayed) << "seed " << base << " round " << round << " step " << step << "\n"
                                      << SummaryOf(events).DebugString();
    }
  }
}

TEST(SessionFoldTest, GoesOnFromASummaryDespiteOverlap) {
  const uint32_t base = std::random_device{}();
  std::cout << "seed " << base << "\n";
  for (uint32_t round = 0; round < 100; ++round) {
    RandomStory random(base + round);
    for (int step = 0; step < 60; ++step) random.Step();
    const std::vector<log::v1::RecordedEvent>& events = random.story().events();
    const SessionFold whole = FoldOf(events);
    std::mt19937 cuts(base + round);
    const size_t cut = std::uniform_int_distribution<size_t>(1, events.size())(cuts);
    const size_t again = std::uniform_int_distribution<size_t>(0, cut)(cuts);
    const std::vector<log::v1::RecordedEvent> known(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(cut));
    SessionFold fold = SessionFold::FromSummary(SummaryOf(known), LatestOf(known));
    for (size_t i = again; i < events.size(); ++i) {
      const bool news = !fold.Apply(events[i]).empty();
      ASSERT_FALSE(news && i < cut) << "an event that the summary has counted again, seed " << base << " round "
                                    << round;
    }
    ASSERT_TRUE(fold == whole) << "seed " << base << " round " << round;
  }
}

TEST(SessionFoldTest, SurvivesAnyEvents) {
  const uint32_t base = std::random_device{}();
  std::cout << "seed " << base << "\n";
  std::mt19937 random(base);
  for (int round = 0; round < 200; ++round) {
    Story story;
    story.Open();
    for (int i = 0; i < 20; ++i) {
      story.Spawn("a");
      story.Start("b", "t");
      story.End("c", "x");
      story.Write("main", {"a"});
      story.Close();
      story.Update("x");
    }
    std::vector<log::v1::RecordedEvent> events = story.events();
    std::shuffle(events.begin(), events.end(), random);
    const SessionFold fold = FoldOf(events);
    for (const PlanFold& agent : fold.agents()) {
      EXPECT_LE(fold.Revision(agent), static_cast<int64_t>(events.size())) << "seed " << base;
      EXPECT_GE(agent.own_seq, agent.list_seq);
    }
  }
}

}  // namespace
}  // namespace docket::todo
