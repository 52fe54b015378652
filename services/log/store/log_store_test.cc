// The store against a real, private PostgreSQL.

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/log/core/shard_set.h"
#include "services/log/store/migrate.h"
#include "services/log/store/postgres_event_store.h"
#include "tests/testing/temp_postgres.h"

namespace docket::log {
namespace {

using Kind = AppendOutcome::Kind;
using docket::testing::TempPostgres;

class LogStoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto postgres = TempPostgres::Create();
    ASSERT_TRUE(postgres.ok()) << postgres.status();
    postgres_ = postgres->release();
    const absl::Status migrated = Migrate(postgres_->connection_string(), 64);
    ASSERT_TRUE(migrated.ok()) << migrated;
  }

  static void TearDownTestSuite() {
    delete postgres_;
    postgres_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(postgres_, nullptr);
    store_ = std::make_unique<PostgresEventStore>(postgres_->connection_string(), PostgresEventStore::Options{});
    shard_ = ShardId{next_shard_++};
  }

  static NewEvent Event(int64_t pk, int64_t seq, const std::string& payload = "payload") {
    return {SessionPk{pk}, Seq{seq}, EventId::Random(), v1::EVENT_TYPE_MESSAGE, payload};
  }

  // A batch that opens a session with `count` events, judged against an empty shard.
  AppendBatch Opening(const std::string& session, int count) {
    AppendBatch batch{.shard = shard_, .epoch = 1};
    for (int i = 0; i < count; ++i) batch.events.push_back(Event(-1, i + 1, absl::StrCat(session, " ", i)));
    batch.new_sessions.push_back({1, "tenant", session});
    return batch;
  }

  static TempPostgres* postgres_;
  static int32_t next_shard_;
  std::unique_ptr<PostgresEventStore> store_;
  ShardId shard_;
};

TempPostgres* LogStoreTest::postgres_ = nullptr;
int32_t LogStoreTest::next_shard_ = 0;

TEST_F(LogStoreTest, MigratesOnce) {
  EXPECT_TRUE(Migrate(postgres_->connection_string(), 64).ok());
  EXPECT_EQ(store_->ReadLogInfo()->shard_count, 64);
  EXPECT_TRUE(CheckSchema(postgres_->connection_string()).ok());
  EXPECT_EQ(Migrate(postgres_->connection_string(), 8).code(), absl::StatusCode::kFailedPrecondition)
      << "shards never change";
}

TEST_F(LogStoreTest, ReadsWhatItStored) {
  EXPECT_EQ(store_->ReadHead(shard_)->tail.value, 0);
  std::string bytes = "any ";
  bytes.push_back('\0');
  bytes += "\xff bytes ' \" \\";
  const std::string name = "quoted \" \\ ' {,} name";
  AppendBatch batch = Opening(name, 3);
  batch.events[1].payload = bytes;
  const AppendOutcome outcome = store_->Append(batch);
  ASSERT_EQ(outcome.kind, Kind::kAppended) << outcome.status;
  EXPECT_EQ(outcome.first.value, 1);
  const auto row = store_->FindSession(shard_, "tenant", name);
  ASSERT_TRUE(row.ok() && row->has_value()) << row.status();
  EXPECT_EQ((*row)->pk.value, 1);
  EXPECT_FALSE(store_->FindSession(shard_, "other", name)->has_value()) << "another tenant's";
  const auto events = store_->ReadSession(shard_, SessionPk{1}, {});
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ((*events)[1].payload, bytes);
  EXPECT_EQ((*events)[1].id, batch.events[1].id);
  EXPECT_EQ((*events)[1].recorded_at, outcome.recorded_at);
  EXPECT_EQ(store_->ReadHead(shard_)->tail.value, 3);
  EXPECT_EQ(store_->ReadHead(shard_)->tail_id, batch.events[2].id);
}

TEST_F(LogStoreTest, ReadsInPagesBothWays) {
  ASSERT_EQ(store_->Append(Opening("a", 10)).kind, Kind::kAppended);
  const auto seqs = [&](const SessionRange& range) {
    std::vector<int64_t> found;
    const auto events = store_->ReadSession(shard_, SessionPk{1}, range);
    EXPECT_TRUE(events.ok()) << events.status();
    for (const StoredEvent& event : *events) found.push_back(event.seq.value);
    return found;
  };
  EXPECT_THAT(seqs({.from = Seq{4}, .limit = 3}), ::testing::ElementsAre(4, 5, 6));
  EXPECT_THAT(seqs({.from = Seq{4}, .backward = true, .limit = 2}), ::testing::ElementsAre(4, 3));
  EXPECT_THAT(seqs({.backward = true, .limit = 2}), ::testing::ElementsAre(10, 9));
  EXPECT_THAT(seqs({.limit = 5, .max_bytes = 1}), ::testing::ElementsAre(1)) << "one event is read, whatever its size";
  EXPECT_THAT(seqs({.types = {v1::EVENT_TYPE_TODO_WRITTEN}}), ::testing::IsEmpty());
  EXPECT_EQ(seqs({.types = {v1::EVENT_TYPE_MESSAGE}}).size(), 10u);
  const auto page = store_->ReadShard(shard_, {.after = Position{7}, .limit = 2});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->events.size(), 2u);
  EXPECT_EQ(page->through.value, 9);
  EXPECT_TRUE(store_->ReadShard(shard_, {.after = Position{9}})->reached_tail);
  EXPECT_EQ(store_->ReadSeqs(shard_, SessionPk{1}, {Seq{2}, Seq{9}, Seq{77}})->size(), 2u);
}

TEST_F(LogStoreTest, ShiftsPastOthersAndRefusesConflicts) {
  const AppendBatch first = Opening("a", 2);
  ASSERT_EQ(store_->Append(first).kind, Kind::kAppended);
  // Judged before "a" was there, and of another session: stored behind it, told what was missed.
  const AppendOutcome shifted = store_->Append(Opening("b", 1));
  ASSERT_EQ(shifted.kind, Kind::kAppended) << shifted.status;
  EXPECT_EQ(shifted.first.value, 3);
  ASSERT_EQ(shifted.missed.size(), 2u);
  EXPECT_TRUE(shifted.missed_all);
  EXPECT_EQ(shifted.missed[1].payload, "a 1");
  // Of the same session, or opening the same one: refused.
  AppendBatch stale{.shard = shard_, .epoch = 1};
  stale.events.push_back(Event(1, 1));
  EXPECT_EQ(store_->Append(stale).kind, Kind::kConflict);
  EXPECT_EQ(store_->Append(Opening("a", 1)).kind, Kind::kConflict);
  AppendBatch next{.shard = shard_, .epoch = 1, .tail = Position{2}, .tail_id = first.events[1].id};
  next.events.push_back(Event(1, 3));
  const AppendOutcome appended = store_->Append(next);
  EXPECT_EQ(appended.kind, Kind::kAppended) << appended.status;
  EXPECT_EQ(appended.first.value, 4);
  EXPECT_GE(appended.recorded_at, shifted.recorded_at);
}

TEST_F(LogStoreTest, TellsWhenTheLogIsAnother) {
  ASSERT_EQ(store_->Append(Opening("a", 2)).kind, Kind::kAppended);
  AppendBatch batch{.shard = shard_, .epoch = 1, .tail = Position{2}, .tail_id = EventId::Random()};
  batch.events.push_back(Event(1, 3));
  EXPECT_EQ(store_->Append(batch).kind, Kind::kDiverged) << "another event at the tail";
  batch.tail_id = EventId();
  batch.tail = Position{9};
  EXPECT_EQ(store_->Append(batch).kind, Kind::kDiverged) << "the log is shorter";
  EXPECT_EQ(*store_->RaiseEpoch(shard_, 1), 2);
  EXPECT_EQ(*store_->RaiseEpoch(shard_, 1), 2) << "only once";
  batch.tail = Position{2};
  EXPECT_EQ(store_->Append(batch).kind, Kind::kDiverged) << "another epoch";
  batch.epoch = 2;
  EXPECT_EQ(store_->Append(batch).kind, Kind::kAppended);
}

TEST_F(LogStoreTest, FindsDuplicates) {
  const AppendBatch first = Opening("a", 2);
  ASSERT_EQ(store_->Append(first).kind, Kind::kAppended);
  AppendBatch again{.shard = shard_, .epoch = 1, .tail = Position{2}};
  again.events.push_back(first.events[1]);
  again.events[0].session_pk = SessionPk{1};
  again.events[0].seq = Seq{3};
  EXPECT_EQ(store_->Append(again).kind, Kind::kDuplicate);
  EXPECT_EQ(store_->FindEvents(shard_, SessionPk{1}, {first.events[1].id, EventId::Random()})->size(), 1u);
  EXPECT_EQ(store_->ReadHead(shard_)->tail.value, 2) << "nothing was stored";
}

TEST_F(LogStoreTest, SummariesNeverGoBackwards) {
  ASSERT_EQ(store_->Append(Opening("a", 2)).kind, Kind::kAppended);
  const auto row = [&](int64_t checkpoint, const std::string& title) {
    v1::SessionSummary summary;
    summary.set_tenant_id("tenant");
    summary.set_session_id("a");
    summary.set_state(v1::SESSION_STATE_OPEN);
    summary.set_title(title);
    summary.set_head_seq(checkpoint);
    (*summary.mutable_labels())["key \""] = "value \\ ,{}";
    summary.mutable_last_activity()->set_seconds(1'700'000'000);
    return SessionRow{SessionPk{1}, "tenant", "a", Seq{checkpoint}, summary.SerializeAsString()};
  };
  ASSERT_TRUE(store_->FlushSummaries(shard_, {row(2, "later \\ \"title\"")}, Position{2}).ok());
  ASSERT_TRUE(store_->FlushSummaries(shard_, {row(1, "earlier")}, Position{1}).ok());
  const auto found = store_->FindSession(shard_, "tenant", "a");
  EXPECT_EQ((*found)->checkpoint_seq.value, 2);
  EXPECT_EQ((*found)->state, row(2, "later \\ \"title\"").state);
  ASSERT_TRUE(store_->FlushSummaries(shard_, {}, Position{0}).ok());
  EXPECT_EQ(store_->ReadHead(shard_)->summary_position.value, 2);
  const auto listed = [&](const SessionFilter& filter) {
    const auto rows = store_->ListSessions(shard_, "tenant", filter);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? rows->size() : 99;
  };
  EXPECT_EQ(listed({}), 1u);
  EXPECT_EQ(listed({.labels = {{"key \"", "value \\ ,{}"}}}), 1u);
  EXPECT_EQ(listed({.labels = {{"key", "other"}}}), 0u);
  EXPECT_EQ(listed({.states = {v1::SESSION_STATE_CLOSED}}), 0u);
  EXPECT_EQ(listed({.active_since = absl::FromUnixSeconds(1'800'000'000)}), 0u);
}

TEST_F(LogStoreTest, ReplicasRacingOnAShardLoseNothing) {
  PostgresEventStore other_store(postgres_->connection_string(), PostgresEventStore::Options{});
  FeedSet feeds(*store_, {}), other_feeds(other_store, {});
  ShardSet one(*store_, feeds, 64, {}), other(other_store, other_feeds, 64, {});
  // The tenant lives on a shard that no other test uses.
  const auto append = [](ShardSet& shards, const std::string& session, bool open) {
    auto request = std::make_shared<v1::AppendRequest>();
    request->set_tenant_id("acme");
    request->set_session_id(session);
    auto& event = *request->add_events();
    event.set_event_id(EventId::Random().ToString());
    if (open) {
      event.mutable_session_opened();
    } else {
      event.set_agent_id("main");
      event.mutable_message()->set_role(v1::MESSAGE_ROLE_USER);
    }
    std::promise<absl::StatusOr<v1::AppendResponse>> promise;
    const absl::Status queued = shards.Append(request, [&](auto result) { promise.set_value(std::move(result)); });
    return queued.ok() ? promise.get_future().get().status() : queued;
  };
  std::atomic<int> opened{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 8; ++w) {
    writers.emplace_back([&, w] {
      ShardSet& shards = w % 2 == 0 ? one : other;
      // Everybody opens every session: the first does, the others are told that it is there.
      for (int s = 0; s < 5; ++s) {
        const absl::Status status = append(shards, absl::StrCat("s", s), true);
        if (status.ok()) ++opened;
        EXPECT_TRUE(status.ok() || ReasonOf(status) == docket::v1::ERROR_REASON_REVISION_CONFLICT) << status;
      }
      for (int i = 0; i < 25; ++i) {
        const absl::Status status = append(shards, absl::StrCat("s", i % 5), false);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(opened, 5);
  const ShardId shard = one.ShardOfTenant("acme");
  std::map<int64_t, int64_t> heads;
  std::set<EventId> ids;
  size_t raced = 0;
  for (int s = 0; s < 5; ++s) {
    const auto row = store_->FindSession(shard, "acme", absl::StrCat("s", s));
    ASSERT_TRUE(row.ok() && row->has_value());
    const auto events = store_->ReadSession(shard, (*row)->pk, {});
    ASSERT_TRUE(events.ok());
    for (const StoredEvent& event : *events) {
      EXPECT_EQ(event.seq.value, ++heads[s]) << "seqs have no gap";
      EXPECT_TRUE(ids.insert(event.id).second);
    }
    raced += events->size();
  }
  EXPECT_EQ(raced, 205u);
}

TEST_F(LogStoreTest, WorksAgainAfterAKill) {
  ASSERT_EQ(store_->Append(Opening("a", 2)).kind, Kind::kAppended);
  postgres_->Kill();
  const Kind kind = store_->Append(Opening("b", 1)).kind;
  EXPECT_TRUE(kind == Kind::kInDoubt || kind == Kind::kUnavailable);
  const absl::Status away = store_->ReadHead(shard_).status();
  EXPECT_EQ(ReasonOf(away), docket::v1::ERROR_REASON_STORE_UNAVAILABLE);
  EXPECT_TRUE(RetryAfterOf(away).has_value());
  const absl::Status started = postgres_->Start();
  ASSERT_TRUE(started.ok()) << started;
  const auto head = store_->ReadHead(shard_);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->tail.value, 2) << "what was acknowledged is there";
  EXPECT_EQ(store_->Append(Opening("b", 1)).kind, Kind::kAppended);
}

}  // namespace
}  // namespace docket::log
