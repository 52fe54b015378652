// The feed of a shard, and what its readers are sent.

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/proto_time.h"
#include "services/log/core/fake_event_store.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/recorded_bytes.h"
#include "services/log/core/session_lister.h"
#include "services/log/core/session_reader.h"
#include "services/log/core/subscription.h"

namespace docket::log {
namespace {

using Kind = Subscription::Message::Kind;
using ::testing::ElementsAre;

StoredEvent Event(int64_t position, int64_t pk = 1, int32_t type = 17, size_t bytes = 10) {
  return {.position = Position{position},
          .session_pk = SessionPk{pk},
          .seq = Seq{position},
          .id = EventId::Random(),
          .type = type,
          .recorded_at = absl::FromUnixSeconds(position),
          .payload = std::string(bytes, 'x')};
}

std::vector<StoredEvent> Events(int64_t first, int64_t last) {
  std::vector<StoredEvent> events;
  for (int64_t p = first; p <= last; ++p) events.push_back(Event(p));
  return events;
}

std::vector<int64_t> Positions(const std::vector<ShardFeed::EventPtr>& events) {
  std::vector<int64_t> positions;
  for (const auto& event : events) positions.push_back(event->position.value);
  return positions;
}

class FeedTest : public ::testing::Test {
 protected:
  FeedTest() { feed_.Begin({Position{10}, 1}); }

  // Appends one event to a real log and lets the feed be.
  void Store(int64_t pk) {
    ShardHead head = *store_.ReadHead(ShardId{});
    AppendBatch batch{.epoch = 1, .tail = head.tail, .tail_id = head.tail_id};
    batch.events = {{SessionPk{pk}, Seq{head.tail.value + 1}, EventId::Random(), 17, "text"}};
    ASSERT_EQ(store_.Append(batch).kind, AppendOutcome::Kind::kAppended);
  }

  // Everything that a subscription sends until it waits, as text: "e1,2>3" (events 1 and 2, covered up to 3), "c3",
  // "f3", "p3", "r3".
  std::string Sent(Subscription& subscription, absl::Time now = absl::UnixEpoch()) {
    std::string sent;
    for (;;) {
      absl::StatusOr<Subscription::Step> step = subscription.Next(now);
      if (!step.ok()) return sent + "!";
      if (step->read.has_value()) {
        subscription.Take(*store_.ReadShard(ShardId{}, *step->read));
        continue;
      }
      if (!step->send.has_value()) return sent;
      const auto& message = *step->send;
      if (!sent.empty()) sent += " ";
      sent += "ecfpr"[static_cast<int>(message.kind)];
      if (message.kind == Kind::kEvents) {
        std::string separator;
        for (const int64_t p : Positions(message.events)) absl::StrAppend(&sent, std::exchange(separator, ","), p);
        absl::StrAppend(&sent, ">");
      }
      absl::StrAppend(&sent, message.position.value);
    }
  }

  ShardFeed feed_{{.max_events = 5, .max_bytes = 1000}};
  FakeEventStore store_;
};

TEST_F(FeedTest, TakesEachPositionOnceInAnyOrder) {
  feed_.Follow([] {});
  feed_.Advance(Position{10}, Position{12}, Events(11, 12));
  feed_.Advance(Position{9}, Position{14}, Events(10, 14));
  feed_.Advance(Position{11}, Position{13}, Events(12, 13));
  const ShardFeed::Page page = feed_.Read(Position{10}, 1000);
  EXPECT_THAT(Positions(page.events), ElementsAre(11, 12, 13, 14));
  EXPECT_EQ(page.through, Position{14});
  EXPECT_FALSE(page.hole);
}

TEST_F(FeedTest, ForgetsTheOldestAndSaysSo) {
  feed_.Follow([] {});
  feed_.Advance(Position{10}, Position{17}, Events(11, 17));
  EXPECT_TRUE(feed_.Read(Position{11}, 1000).hole);
  EXPECT_THAT(Positions(feed_.Read(Position{12}, 1000).events), ElementsAre(13, 14, 15, 16, 17));
  feed_.Advance(Position{17}, Position{18}, {Event(18, 1, 17, 5000)});
  EXPECT_THAT(Positions(feed_.Read(Position{17}, 10).events), ElementsAre(18));
  EXPECT_TRUE(feed_.Read(Position{16}, 10).hole);
}

TEST_F(FeedTest, NeverHoldsARangeWithAHole) {
  feed_.Follow([] {});
  feed_.Advance(Position{10}, Position{11}, Events(11, 11));
  feed_.Advance(Position{13}, Position{14}, Events(14, 14));
  EXPECT_TRUE(feed_.Read(Position{11}, 1000).hole);
  EXPECT_THAT(Positions(feed_.Read(Position{13}, 1000).events), ElementsAre(14));
}

TEST_F(FeedTest, KeepsNothingWhileNobodyFollows) {
  feed_.Advance(Position{10}, Position{12}, Events(11, 12));
  EXPECT_EQ(feed_.end().position, Position{12});
  EXPECT_TRUE(feed_.Read(Position{10}, 1000).hole);
  const int64_t follower = feed_.Follow([] {});
  feed_.Advance(Position{12}, Position{13}, Events(13, 13));
  EXPECT_THAT(Positions(feed_.Read(Position{12}, 1000).events), ElementsAre(13));
  feed_.Unfollow(follower);
  EXPECT_TRUE(feed_.Read(Position{12}, 1000).hole);
}

TEST_F(FeedTest, SplitsPagesByBytes) {
  feed_.Follow([] {});
  feed_.Advance(Position{10}, Position{13}, Events(11, 13));
  const ShardFeed::Page page = feed_.Read(Position{10}, 20);
  EXPECT_THAT(Positions(page.events), ElementsAre(11, 12));
  EXPECT_EQ(page.through, Position{12});
}

TEST_F(FeedTest, AlwaysSaysCaughtUpAndThenFollows) {
  feed_.Follow([] {});
  Subscription subscription(feed_, {.after = Position{10}, .begin = feed_.end()});
  EXPECT_EQ(Sent(subscription), "c10");
  feed_.Advance(Position{10}, Position{12}, Events(11, 12));
  EXPECT_EQ(Sent(subscription), "e11,12>12");
  EXPECT_EQ(Sent(subscription), "");
}

TEST_F(FeedTest, CatchesUpFromTheStore) {
  for (int i = 0; i < 10; ++i) Store(1);
  feed_.Follow([] {});
  Subscription subscription(feed_, {.begin = feed_.end()});
  EXPECT_EQ(Sent(subscription), "e1,2,3,4,5,6,7,8,9,10>10 c10");
}

TEST_F(FeedTest, FallsBehindAndLosesNothing) {
  for (int i = 0; i < 20; ++i) Store(1);
  feed_.Follow([] {});
  Subscription subscription(feed_, {.after = Position{10}, .begin = feed_.end()});
  EXPECT_EQ(Sent(subscription), "c10");
  feed_.Advance(Position{10}, Position{20}, Events(11, 20));
  EXPECT_EQ(Sent(subscription), "f10 e11,12,13,14,15,16,17,18,19,20>20 c20");
}

TEST_F(FeedTest, FiltersBySessionTypeAndWish) {
  feed_.Follow([] {});
  Subscription session(feed_, {.after = Position{10}, .begin = feed_.end(), .session = SessionPk{7}});
  Subscription type(feed_, {.after = Position{10}, .begin = feed_.end(), .types = {30}});
  Subscription wish(feed_, {.after = Position{10}, .begin = feed_.end(), .wants = [](const StoredEvent& event) {
                              return event.position.value % 2 == 1;
                            }});
  for (Subscription* s : {&session, &type, &wish}) EXPECT_EQ(Sent(*s), "c10");
  feed_.Advance(Position{10}, Position{13}, {Event(11, 7), Event(12, 8), Event(13, 8, 30)});
  EXPECT_EQ(Sent(session), "e11>13");
  EXPECT_EQ(Sent(type), "e13>13");
  EXPECT_EQ(Sent(wish), "e11,13>13");
}

TEST_F(FeedTest, AFailedWishSkipsNothing) {
  feed_.Follow([] {});
  bool fail = true;
  Subscription subscription(
      feed_, {.after = Position{10}, .begin = feed_.end(), .wants = [&](const StoredEvent&) -> absl::StatusOr<bool> {
                if (fail) return absl::UnavailableError("away");
                return true;
              }});
  EXPECT_EQ(Sent(subscription), "c10");
  feed_.Advance(Position{10}, Position{11}, Events(11, 11));
  EXPECT_EQ(Sent(subscription), "!");
  fail = false;
  EXPECT_EQ(Sent(subscription), "e11>11");
}

TEST_F(FeedTest, SaysProgressOverEventsThatAreNotSent) {
  feed_.Follow([] {});
  Subscription subscription(feed_, {.after = Position{10}, .begin = feed_.end(), .types = {30}});
  const absl::Time start = absl::UnixEpoch();
  EXPECT_EQ(Sent(subscription, start), "c10");
  feed_.Advance(Position{10}, Position{11}, Events(11, 11));
  EXPECT_EQ(Sent(subscription, start + absl::Seconds(1)), "");
  EXPECT_EQ(subscription.Next(start + absl::Seconds(1))->wake_at, start + absl::Seconds(5));
  EXPECT_EQ(Sent(subscription, start + absl::Seconds(5)), "p11");
  EXPECT_EQ(Sent(subscription, start + absl::Seconds(20)), "");
  EXPECT_EQ(subscription.Next(start + absl::Seconds(20))->wake_at, absl::InfiniteFuture());
}

TEST_F(FeedTest, ResetsWhenTheLogLostItsEnd) {
  feed_.Follow([] {});
  Subscription subscription(feed_, {.after = Position{10}, .begin = feed_.end()});
  EXPECT_EQ(Sent(subscription), "c10");
  feed_.Begin({Position{8}, 2});
  EXPECT_EQ(Sent(subscription), "r8 c8");
  feed_.Advance(Position{8}, Position{9}, Events(9, 9));
  EXPECT_EQ(Sent(subscription), "e9>9");
}

TEST_F(FeedTest, WaitsWhenTheStoreHasLessThanWasThere) {
  Subscription subscription(feed_, {.after = Position{5}, .begin = feed_.end()});
  const auto step = subscription.Next(absl::UnixEpoch());
  ASSERT_TRUE(step->read.has_value());
  subscription.Take({.through = Position{5}, .reached_tail = true});
  const auto next = subscription.Next(absl::UnixEpoch());
  EXPECT_FALSE(next->read.has_value() || next->send.has_value());
  EXPECT_LT(next->wake_at, absl::UnixEpoch() + absl::Seconds(1));
}

// Against a model: whatever comes in which order, with any filter, each event is sent once and in order.
TEST_F(FeedTest, SendsEverythingOnceWhateverTheOrder) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    FakeEventStore store;
    ShardFeed feed({.max_events = 1 + random() % 6, .max_bytes = 1000});
    feed.Begin({Position{0}, 1});
    feed.Follow([] {});
    Subscription subscription(feed, {.begin = feed.end(), .max_bytes = 1 + random() % 30});
    std::vector<int64_t> sent, expected;
    int64_t covered = 0;
    for (int round = 0; round < 60; ++round) {
      const ShardHead head = *store.ReadHead(ShardId{});
      AppendBatch batch{.epoch = 1, .tail = head.tail, .tail_id = head.tail_id};
      for (unsigned i = 0; i < random() % 4; ++i) {
        batch.events.push_back({SessionPk{1}, Seq{head.tail.value + 1 + i}, EventId::Random(), 17, "0123456789"});
        expected.push_back(head.tail.value + 1 + i);
      }
      if (!batch.events.empty()) {
        ASSERT_EQ(store.Append(batch).kind, AppendOutcome::Kind::kAppended);
      }
      // The feed hears of it now, later, in part, or twice.
      const int64_t tail = store.ReadHead(ShardId{})->tail.value;
      for (unsigned i = 0; i < random() % 3; ++i) {
        const int64_t after = static_cast<int64_t>(random() % static_cast<unsigned>(tail + 1));
        const EventPage page =
            *store.ReadShard(ShardId{}, {.after = Position{after}, .limit = 1 + static_cast<int>(random() % 6)});
        feed.Advance(Position{after}, page.through, page.events);
      }
      for (auto steps = random() % 6; steps > 0; --steps) {
        const auto step = subscription.Next(absl::UnixEpoch());
        if (step->read.has_value()) subscription.Take(*store.ReadShard(ShardId{}, *step->read));
        if (!step->send.has_value()) continue;
        if (step->send->kind == Kind::kEvents) {
          EXPECT_EQ(step->send->after.value, covered);
          for (const int64_t p : Positions(step->send->events)) sent.push_back(p);
        }
        covered = step->send->position.value;
      }
    }
    const EventPage rest = *store.ReadShard(ShardId{}, {.after = feed.end().position, .limit = 1000});
    feed.Advance(feed.end().position, rest.through, rest.events);
    for (;;) {
      const auto step = subscription.Next(absl::UnixEpoch());
      if (step->read.has_value()) {
        subscription.Take(*store.ReadShard(ShardId{}, *step->read));
      } else if (step->send.has_value()) {
        for (const int64_t p : Positions(step->send->events)) sent.push_back(p);
      } else {
        break;
      }
    }
    ASSERT_EQ(sent, expected) << "seed " << seed;
  }
}

TEST_F(FeedTest, IsSafeWithManyThreads) {
  for (int i = 0; i < 200; ++i) Store(1);
  FeedSet feeds(store_, {});
  ShardFeed& feed = feeds.Feed(ShardId{});
  feed.Begin({Position{0}, 1});
  std::atomic<int> wakes{0};
  const int64_t follower = feed.Follow([&] { ++wakes; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int64_t p = i; p < 200; p += 3) {
        const EventPage page = *store_.ReadShard(ShardId{}, {.after = Position{p}, .limit = 5});
        feed.Advance(Position{p}, page.through, page.events);
        (void)feed.Read(Position{p}, 100);
      }
      EXPECT_TRUE(feeds.CatchUp(ShardId{}).ok());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(feed.end().position, Position{200});
  EXPECT_GT(wakes, 0);
  feed.Unfollow(follower);
  EXPECT_TRUE(feeds.Followed().empty());
}

TEST(FeedSetTest, ProbesOnlyWhatIsFollowed) {
  FakeEventStore store;
  FeedSet feeds(store, {});
  ASSERT_TRUE(feeds.CatchUp(ShardId{}).ok());
  AppendBatch batch{.epoch = 1};
  batch.events = {{SessionPk{-1}, Seq{1}, EventId::Random(), 10, ""}};
  batch.new_sessions = {{1, "tenant", "session"}};
  ASSERT_EQ(store.Append(batch).kind, AppendOutcome::Kind::kAppended);
  ASSERT_TRUE(feeds.Probe().ok());
  EXPECT_EQ(store.shard_reads(), 0);
  feeds.Feed(ShardId{}).Follow([] {});
  ASSERT_TRUE(feeds.Probe().ok());
  EXPECT_EQ(feeds.Feed(ShardId{}).end().position, Position{1});
  const auto names = feeds.NamesOf(ShardId{}, SessionPk{1});
  ASSERT_TRUE(names.ok());
  EXPECT_EQ((*names)->session_id, "session");
}

TEST(RecordedBytesTest, AreWhatSerialisingMakes) {
  StoredEvent stored = Event(5);
  v1::SessionEvent event;
  event.set_event_id(stored.id.ToString());
  event.set_agent_id("main");
  event.mutable_message()->add_parts()->set_text(std::string(300, 'x'));
  stored.payload = event.SerializeAsString();
  v1::RecordedEvent parsed;
  ASSERT_TRUE(parsed.ParseFromString(RecordedBytes(stored, "tenant", "session")));
  EXPECT_EQ(parsed.SerializeAsString(), ToRecorded(stored, "tenant", "session").SerializeAsString());
}

class ListTest : public ::testing::Test {
 protected:
  // A session that a replica opened, and was killed before it wrote a summary.
  void Open(const std::string& session) {
    const ShardHead head = *store_.ReadHead(ShardId{});
    AppendBatch batch{.epoch = 1, .tail = head.tail, .tail_id = head.tail_id};
    v1::SessionEvent event;
    event.mutable_session_opened()->set_title("about " + session);
    batch.events = {{SessionPk{-1}, Seq{1}, EventId::Random(), 10, event.SerializeAsString()}};
    batch.new_sessions = {{1, "tenant", session}};
    ASSERT_EQ(store_.Append(batch).kind, AppendOutcome::Kind::kAppended);
  }

  static v1::ListSessionsRequest Request() {
    v1::ListSessionsRequest request;
    request.set_tenant_id("tenant");
    return request;
  }

  FakeEventStore store_;
  SessionLister lister_{store_};
};

TEST_F(ListTest, CompletesRowsThatAReplicaLeftBehind) {
  Open("a");
  Open("b");
  const auto listed = lister_.List(ShardId{}, Request());
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->sessions_size(), 2);
  EXPECT_EQ(listed->sessions(0).title(), "about a");
  EXPECT_EQ(listed->sessions(0).head_seq(), 1);
  EXPECT_EQ(listed->position(), 2);
  EXPECT_EQ(store_.claimed(), Position{2});
  EXPECT_EQ(store_.flushes(), 1);
  // Within the promised lag it is not looked again.
  Open("c");
  const auto again = lister_.List(ShardId{}, Request());
  EXPECT_EQ(again->sessions(2).title(), "about c");
  EXPECT_EQ(store_.flushes(), 1);
}

TEST_F(ListTest, RefusesTokensOfOtherLists) {
  for (const char* name : {"a", "b", "c"}) Open(name);
  v1::ListSessionsRequest request = Request();
  request.set_page_size(2);
  const auto page = lister_.List(ShardId{}, request);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->sessions_size(), 2);
  ASSERT_FALSE(page->next_page_token().empty());
  request.set_page_token(page->next_page_token());
  EXPECT_TRUE(lister_.List(ShardId{}, request).ok());
  auto other = request;
  other.add_states(v1::SESSION_STATE_CLOSED);
  EXPECT_EQ(ReasonOf(lister_.List(ShardId{}, other).status()), docket::v1::ERROR_REASON_TOKEN_INVALID);
  other = request;
  other.set_tenant_id("another");
  EXPECT_EQ(ReasonOf(lister_.List(ShardId{}, other).status()), docket::v1::ERROR_REASON_TOKEN_INVALID);
  other = request;
  other.set_page_token("?");
  EXPECT_EQ(ReasonOf(lister_.List(ShardId{}, other).status()), docket::v1::ERROR_REASON_TOKEN_INVALID);
  other = request;
  other.set_page_size(1001);
  EXPECT_EQ(ReasonOf(lister_.List(ShardId{}, other).status()), docket::v1::ERROR_REASON_INVALID_REQUEST);
}

}  // namespace
}  // namespace docket::log
