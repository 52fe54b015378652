#include "services/log/store/tail_follower.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/log/core/session_lister.h"
#include "services/log/core/shard_set.h"
#include "services/log/store/migrate.h"
#include "services/log/store/postgres_event_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_postgres.h"

namespace docket::log {
namespace {

using ::docket::testing::IsOk;
using ::docket::testing::TempPostgres;

// What one docket-log has.
struct Replica {
  Replica(const std::string& database, TailFollower::Options options)
      : store(database, {}), feeds(store, {}), follower(database, feeds, options) {}

  PostgresEventStore store;
  FeedSet feeds;
  TailFollower follower;
};

class TailFollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto postgres = TempPostgres::Create();
    ASSERT_THAT(postgres, IsOk());
    postgres_ = *std::move(postgres);
    ASSERT_THAT(Migrate(postgres_->connection_string(), 4), IsOk());
  }

  AppendOutcome Append(EventStore& store) {
    const auto head = store.ReadHead(kShard);
    EXPECT_THAT(head, IsOk());
    AppendBatch batch{.shard = kShard, .epoch = 1, .tail = head->tail, .tail_id = head->tail_id};
    v1::SessionEvent opened;
    opened.set_event_id(EventId::Random().ToString());
    opened.mutable_session_opened();
    batch.events = {{SessionPk{-1}, Seq{1}, *EventId::Parse(opened.event_id()), 10, opened.SerializeAsString()}};
    batch.new_sessions = {{1, "tenant", EventId::Random().ToString()}};
    return store.Append(batch);
  }

  // Whether the feed reaches `position` within `time`.
  static bool Reaches(ShardFeed& feed, Position position, absl::Duration time) {
    const absl::Time deadline = absl::Now() + time;
    while (feed.end().position < position) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return true;
  }

  static constexpr ShardId kShard{2};
  std::unique_ptr<TempPostgres> postgres_;
};

TEST_F(TailFollowerTest, HearsOfOtherReplicasCommits) {
  // No probe would come in time.
  Replica writer(postgres_->connection_string(), {.probe_every = absl::Hours(1)});
  Replica reader(postgres_->connection_string(), {.probe_every = absl::Hours(1)});
  ShardFeed& feed = reader.feeds.Feed(kShard);
  feed.Follow([] {});
  ASSERT_THAT(reader.feeds.CatchUp(kShard), IsOk());
  // Until both connections are there, notifications are lost.
  absl::Time deadline = absl::Now() + absl::Seconds(30);
  int64_t count = 0;
  do {
    ASSERT_EQ(Append(writer.store).kind, AppendOutcome::Kind::kAppended);
    writer.follower.Committed(kShard);
    ++count;
  } while (!Reaches(feed, Position{count}, absl::Milliseconds(500)) && absl::Now() < deadline);
  EXPECT_LT(absl::Now(), deadline);
  EXPECT_EQ(feed.Read(Position{count - 1}, 1000).through, Position{count});
}

TEST_F(TailFollowerTest, FindsWhatNobodySaid) {
  Replica reader(postgres_->connection_string(), {.probe_every = absl::Milliseconds(20), .listen = false});
  ShardFeed& feed = reader.feeds.Feed(kShard);
  feed.Follow([] {});
  ASSERT_THAT(reader.feeds.CatchUp(kShard), IsOk());
  PostgresEventStore writer(postgres_->connection_string(), {});
  ASSERT_EQ(Append(writer).kind, AppendOutcome::Kind::kAppended);
  EXPECT_TRUE(Reaches(feed, Position{1}, absl::Seconds(30)));
}

TEST_F(TailFollowerTest, GoesOnAfterTheDatabaseWasKilled) {
  Replica writer(postgres_->connection_string(), {});
  Replica reader(postgres_->connection_string(), {});
  ShardFeed& feed = reader.feeds.Feed(kShard);
  feed.Follow([] {});
  ASSERT_THAT(reader.feeds.CatchUp(kShard), IsOk());
  postgres_->Kill();
  writer.follower.Committed(kShard);
  ASSERT_THAT(postgres_->Start(), IsOk());
  ASSERT_EQ(Append(writer.store).kind, AppendOutcome::Kind::kAppended);
  EXPECT_TRUE(Reaches(feed, Position{1}, absl::Seconds(30)));
}

TEST_F(TailFollowerTest, ListsWhatAKilledReplicaAppended) {
  Replica replica(postgres_->connection_string(), {});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Append(replica.store).kind, AppendOutcome::Kind::kAppended);
  SessionLister lister(replica.store);
  v1::ListSessionsRequest request;
  request.set_tenant_id("tenant");
  request.set_page_size(2);
  const auto first = lister.List(kShard, request);
  ASSERT_THAT(first, IsOk());
  ASSERT_EQ(first->sessions_size(), 2);
  EXPECT_EQ(first->sessions(0).head_seq(), 1);
  request.set_page_token(first->next_page_token());
  const auto second = lister.List(kShard, request);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->sessions_size(), 1);
  EXPECT_TRUE(second->next_page_token().empty());
  EXPECT_EQ(replica.store.ReadHead(kShard)->summary_position, Position{3});
}

}  // namespace
}  // namespace docket::log
