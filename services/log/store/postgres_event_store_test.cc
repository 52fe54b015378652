#include "services/log/store/postgres_event_store.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/proto_time.h"
#include "services/log/store/migrate.h"
#include "services/log/store/sql_errors.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_postgres.h"

namespace docket::log {
namespace {

using ::docket::testing::HasReason;
using ::docket::testing::IsOk;
using ::docket::testing::StatusIs;
using ::docket::testing::TempPostgres;
using ::testing::ElementsAre;
using Kind = AppendOutcome::Kind;

class PostgresEventStoreTest : public ::testing::Test {
 protected:
  static constexpr int kShards = 64;

  static void SetUpTestSuite() {
    auto postgres = TempPostgres::Create();
    ASSERT_THAT(postgres, IsOk());
    postgres_ = *std::move(postgres);
    ASSERT_THAT(Migrate(postgres_->connection_string(), kShards), IsOk());
  }

  static void TearDownTestSuite() { postgres_.reset(); }

  // One server for all, and a shard for each test.
  void SetUp() override {
    ASSERT_NE(postgres_, nullptr);
    ++shard_.value;
    store_ = NewStore();
  }

  std::unique_ptr<PostgresEventStore> NewStore() {
    auto store = PostgresEventStore::Create(postgres_->connection_string(), {});
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }

  // A batch that opens a session with `count` events, judged at `tail`.
  static AppendBatch Opening(const std::string& session, int count, Position tail = {}, EventId tail_id = {}) {
    AppendBatch batch{.shard = shard_, .epoch = 1, .tail = tail, .tail_id = tail_id};
    for (int i = 1; i <= count; ++i) {
      batch.events.push_back(
          {SessionPk{-1}, Seq{i}, EventId::Random(), i == 1 ? 10 : 17, absl::StrCat(session, "/", i)});
    }
    batch.new_sessions = {{1, "acme", session}};
    return batch;
  }

  // A batch of one event for a session that is there.
  static AppendBatch More(SessionPk pk, int64_t seq, Position tail, int32_t type = 17) {
    AppendBatch batch{.shard = shard_, .epoch = 1, .tail = tail};
    batch.events = {{pk, Seq{seq}, EventId::Random(), type, absl::StrCat("event ", seq)}};
    return batch;
  }

  static inline std::unique_ptr<TempPostgres> postgres_;
  static inline ShardId shard_;
  std::unique_ptr<PostgresEventStore> store_;
};

std::vector<int64_t> Seqs(const std::vector<StoredEvent>& events) {
  std::vector<int64_t> seqs;
  for (const StoredEvent& event : events) seqs.push_back(event.seq.value);
  return seqs;
}

TEST_F(PostgresEventStoreTest, AppendsAtTheNextPositions) {
  const AppendBatch batch = Opening("s", 3);
  const AppendOutcome outcome = store_->Append(batch);
  ASSERT_EQ(outcome.kind, Kind::kAppended) << outcome.status;
  EXPECT_EQ(outcome.first, Position{1});
  EXPECT_EQ(outcome.tail_found, Position{0});
  EXPECT_TRUE(outcome.missed.empty());
  EXPECT_TRUE(outcome.missed_all);
  DOCKET_ASSERT_OK_AND_ASSIGN(const ShardHead head, store_->ReadHead(shard_));
  EXPECT_EQ(head.tail, Position{3});
  EXPECT_EQ(head.tail_id, batch.events[2].id);
  EXPECT_EQ(head.tail_at, outcome.recorded_at);
  EXPECT_EQ(head.epoch, 1);
  DOCKET_ASSERT_OK_AND_ASSIGN(const EventPage page, store_->ReadShard(shard_, {}));
  ASSERT_EQ(page.events.size(), 3u);
  EXPECT_EQ(page.through, Position{3});
  EXPECT_TRUE(page.reached_tail);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(page.events[i].position, Position{static_cast<int64_t>(i) + 1});
    EXPECT_EQ(page.events[i].session_pk, SessionPk{1});
    EXPECT_EQ(page.events[i].id, batch.events[i].id);
    EXPECT_EQ(page.events[i].type, batch.events[i].type);
    EXPECT_EQ(page.events[i].payload, batch.events[i].payload);
    EXPECT_EQ(page.events[i].recorded_at, outcome.recorded_at);
  }
}

TEST_F(PostgresEventStoreTest, ShiftsABatchPastOtherSessionsAndRefusesItPastItsOwn) {
  ASSERT_EQ(store_->Append(Opening("a", 2)).kind, Kind::kAppended);
  const AppendOutcome shifted = store_->Append(Opening("b", 1));  // judged at an empty log
  ASSERT_EQ(shifted.kind, Kind::kAppended) << shifted.status;
  EXPECT_EQ(shifted.first, Position{3});
  EXPECT_EQ(shifted.tail_found, Position{2});
  EXPECT_TRUE(shifted.missed_all);
  EXPECT_THAT(Seqs(shifted.missed), ElementsAre(1, 2));
  const AppendOutcome refused = store_->Append(More(SessionPk{3}, 2, Position{2}));
  EXPECT_EQ(refused.kind, Kind::kConflict);
  EXPECT_EQ(refused.tail_found, Position{3});
  EXPECT_THAT(Seqs(refused.missed), ElementsAre(1));
  const AppendOutcome taken = store_->Append(Opening("a", 1));
  EXPECT_EQ(taken.kind, Kind::kConflict);
  EXPECT_EQ(taken.missed.size(), 3u);
  EXPECT_EQ(store_->Append(More(SessionPk{3}, 2, Position{3})).kind, Kind::kAppended);
}

TEST_F(PostgresEventStoreTest, BringsBackABoundedPartOfWhatWasMissed) {
  ASSERT_EQ(store_->Append(Opening("a", 1000)).kind, Kind::kAppended);
  ASSERT_EQ(store_->Append(Opening("b", 1000, Position{1000})).kind, Kind::kAppended);
  const AppendOutcome by_rows = store_->Append(Opening("c", 1));
  EXPECT_EQ(by_rows.kind, Kind::kConflict);
  EXPECT_FALSE(by_rows.missed_all);
  EXPECT_EQ(by_rows.missed.size(), 1024u);
  AppendBatch large = Opening("d", 3, Position{2000});
  for (NewEvent& event : large.events) event.payload.assign(2 << 20, 'x');
  ASSERT_EQ(store_->Append(large).kind, Kind::kAppended);
  const AppendOutcome by_bytes = store_->Append(Opening("e", 1, Position{2000}));
  EXPECT_EQ(by_bytes.kind, Kind::kConflict);
  EXPECT_FALSE(by_bytes.missed_all);
  EXPECT_EQ(by_bytes.missed.size(), 2u);
  EXPECT_EQ(by_bytes.tail_found, Position{2003});
}

TEST_F(PostgresEventStoreTest, RefusesWhatIsThereAlready) {
  AppendBatch opening = Opening("a", 2);
  ASSERT_EQ(store_->Append(opening).kind, Kind::kAppended);
  AppendBatch same_id = More(SessionPk{1}, 3, Position{2});
  same_id.events[0].id = opening.events[1].id;
  EXPECT_EQ(store_->Append(same_id).kind, Kind::kDuplicate);
  EXPECT_EQ(store_->Append(More(SessionPk{1}, 2, Position{2})).kind, Kind::kDuplicate);
  EXPECT_EQ(store_->Append(Opening("a", 1, Position{2})).kind, Kind::kDuplicate);
  DOCKET_ASSERT_OK_AND_ASSIGN(const ShardHead head, store_->ReadHead(shard_));
  EXPECT_EQ(head.tail, Position{2});
}

TEST_F(PostgresEventStoreTest, NoticesALogThatIsNotTheCallers) {
  const AppendBatch opening = Opening("a", 2);
  ASSERT_EQ(store_->Append(opening).kind, Kind::kAppended);
  const EventId first = opening.events[0].id, second = opening.events[1].id;
  EXPECT_EQ(store_->Append(Opening("b", 1, Position{2}, EventId::Random())).kind, Kind::kDiverged);
  EXPECT_EQ(store_->Append(Opening("b", 1, Position{1}, EventId::Random())).kind, Kind::kDiverged);
  EXPECT_EQ(store_->Append(Opening("b", 1, Position{3})).kind, Kind::kDiverged);
  AppendBatch other_epoch = Opening("b", 1, Position{2}, second);
  other_epoch.epoch = 2;
  EXPECT_EQ(store_->Append(other_epoch).kind, Kind::kDiverged);
  EXPECT_EQ(store_->Append(Opening("b", 1, Position{2}, second)).kind, Kind::kAppended);
  EXPECT_EQ(store_->Append(Opening("c", 1, Position{1}, first)).kind, Kind::kAppended);
  DOCKET_ASSERT_OK_AND_ASSIGN(const int32_t raised, store_->RaiseEpoch(shard_, 1));
  DOCKET_ASSERT_OK_AND_ASSIGN(const int32_t again, store_->RaiseEpoch(shard_, 1));
  EXPECT_EQ(raised, 2);
  EXPECT_EQ(again, 2);
}

TEST_F(PostgresEventStoreTest, TwoStoresRaceOnAShard) {
  constexpr int kBatches = 150;
  std::vector<std::unique_ptr<PostgresEventStore>> stores;
  for (int i = 0; i < 2; ++i) stores.push_back(NewStore());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Position tail;
      for (int n = 0; n < kBatches; ++n) {
        AppendBatch batch = Opening(absl::StrCat("s", i, "-", n), 3, tail);
        AppendOutcome outcome = stores[static_cast<size_t>(i)]->Append(batch);
        ASSERT_EQ(outcome.kind, Kind::kAppended) << outcome.status;
        ASSERT_EQ(outcome.first.value, outcome.tail_found.value + 1);
        ASSERT_EQ(static_cast<int64_t>(outcome.missed.size()), outcome.tail_found.value - tail.value);
        tail = Position{outcome.first.value + 2};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t expected = 0;
  for (EventPage page; !page.reached_tail;) {
    DOCKET_ASSERT_OK_AND_ASSIGN(page, store_->ReadShard(shard_, {.after = Position{expected}, .limit = 100}));
    for (const StoredEvent& event : page.events) {
      EXPECT_EQ(event.position.value, ++expected);
      EXPECT_EQ(event.session_pk.value, event.position.value - event.seq.value + 1);
    }
  }
  EXPECT_EQ(expected, 2 * kBatches * 3);
}

TEST_F(PostgresEventStoreTest, ReadsASessionEitherWayWithinBounds) {
  AppendBatch opening = Opening("a", 6);
  opening.events[3].type = 30;
  ASSERT_EQ(store_->Append(opening).kind, Kind::kAppended);
  ASSERT_EQ(store_->Append(Opening("b", 1, Position{6})).kind, Kind::kAppended);
  const auto read = [&](SessionRange range) {
    auto events = store_->ReadSession(shard_, SessionPk{1}, range);
    EXPECT_THAT(events, IsOk());
    return Seqs(*events);
  };
  EXPECT_THAT(read({}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read({.from = Seq{3}, .limit = 2}), ElementsAre(3, 4));
  EXPECT_THAT(read({.backward = true, .limit = 2}), ElementsAre(6, 5));
  EXPECT_THAT(read({.from = Seq{2}, .backward = true}), ElementsAre(2, 1));
  EXPECT_THAT(read({.max_bytes = 1}), ElementsAre(1));
  EXPECT_THAT(read({.max_bytes = 6}), ElementsAre(1, 2));  // "a/1" and "a/2"
  EXPECT_THAT(read({.types = {10, 30}}), ElementsAre(1, 4));
  EXPECT_THAT(read({.backward = true, .types = {17, 30}}), ElementsAre(6, 5, 4, 3, 2));
  DOCKET_ASSERT_OK_AND_ASSIGN(const auto some, store_->ReadSeqs(shard_, SessionPk{1}, {Seq{5}, Seq{2}, Seq{9}}));
  EXPECT_THAT(Seqs(some), ElementsAre(2, 5));
  DOCKET_ASSERT_OK_AND_ASSIGN(
      const auto found,
      store_->FindEvents(shard_, SessionPk{1}, {opening.events[4].id, EventId::Random(), opening.events[0].id}));
  EXPECT_THAT(Seqs(found), ElementsAre(1, 5));
}

TEST_F(PostgresEventStoreTest, ReadsAShardInPagesThatCoverIt) {
  ASSERT_EQ(store_->Append(Opening("a", 4)).kind, Kind::kAppended);
  ASSERT_EQ(store_->Append(Opening("b", 2, Position{4})).kind, Kind::kAppended);
  DOCKET_ASSERT_OK_AND_ASSIGN(const EventPage first, store_->ReadShard(shard_, {.limit = 3}));
  EXPECT_EQ(first.events.size(), 3u);
  EXPECT_EQ(first.through, Position{3});
  EXPECT_FALSE(first.reached_tail);
  DOCKET_ASSERT_OK_AND_ASSIGN(const EventPage small, store_->ReadShard(shard_, {.after = Position{3}, .max_bytes = 1}));
  EXPECT_EQ(small.events.size(), 1u);
  EXPECT_FALSE(small.reached_tail);
  DOCKET_ASSERT_OK_AND_ASSIGN(const EventPage of_a,
                              store_->ReadShard(shard_, {.after = Position{1}, .session = SessionPk{1}}));
  EXPECT_THAT(Seqs(of_a.events), ElementsAre(2, 3, 4));
  EXPECT_EQ(of_a.through, Position{6});
  EXPECT_TRUE(of_a.reached_tail);
  DOCKET_ASSERT_OK_AND_ASSIGN(const EventPage none, store_->ReadShard(shard_, {.after = Position{6}}));
  EXPECT_TRUE(none.events.empty());
  EXPECT_EQ(none.through, Position{6});
  EXPECT_TRUE(none.reached_tail);
}

SessionRow Summary(SessionPk pk, int64_t seq, int64_t active_at, v1::SessionState state, const std::string& team) {
  v1::SessionSummary summary;
  summary.set_state(state);
  summary.set_title(std::string("a \"title\" \\ {with, all}") + std::string(1, '\0'));
  (*summary.mutable_labels())["team"] = team;
  *summary.mutable_last_activity() = ToProto(absl::FromUnixSeconds(active_at));
  return {.pk = pk, .checkpoint_seq = Seq{seq}, .state = summary.SerializeAsString()};
}

TEST_F(PostgresEventStoreTest, KeepsTheLatestSummariesAndListsByThem) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(store_->Append(Opening(absl::StrCat("s", i), 1, Position{i})).kind, Kind::kAppended);
  }
  DOCKET_ASSERT_OK_AND_ASSIGN(const auto fresh, store_->FindSession(shard_, "acme", "s1"));
  ASSERT_TRUE(fresh.has_value());
  EXPECT_EQ(fresh->pk, SessionPk{2});
  EXPECT_EQ(fresh->checkpoint_seq, Seq{0});
  EXPECT_EQ(fresh->state, "");
  DOCKET_ASSERT_OK_AND_ASSIGN(const auto foreign, store_->FindSession(shard_, "other", "s1"));
  EXPECT_FALSE(foreign.has_value());

  const SessionRow newer = Summary(SessionPk{1}, 5, 100, v1::SESSION_STATE_OPEN, "\"core\"");
  ASSERT_THAT(store_->FlushSummaries(shard_,
                                     {Summary(SessionPk{3}, 1, 200, v1::SESSION_STATE_CLOSED, "web"), newer,
                                      Summary(SessionPk{2}, 1, 200, v1::SESSION_STATE_OPEN, "web")},
                                     Position{3}),
              IsOk());
  ASSERT_THAT(
      store_->FlushSummaries(shard_, {Summary(SessionPk{1}, 4, 900, v1::SESSION_STATE_ERASED, "late")}, Position{2}),
      IsOk());
  DOCKET_ASSERT_OK_AND_ASSIGN(const ShardHead head, store_->ReadHead(shard_));
  EXPECT_EQ(head.summary_position, Position{3});
  DOCKET_ASSERT_OK_AND_ASSIGN(const auto rows, store_->FindSessions(shard_, {SessionPk{1}, SessionPk{99}}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].checkpoint_seq, Seq{5});
  EXPECT_EQ(rows[0].state, newer.state);

  const auto list = [&](const SessionFilter& filter) {
    auto listed = store_->ListSessions(shard_, "acme", filter);
    EXPECT_THAT(listed, IsOk());
    std::vector<std::string> names;
    for (const SessionRow& row : *listed) names.push_back(row.session_id);
    return names;
  };
  EXPECT_THAT(list({}), ElementsAre("s1", "s2", "s0"));
  EXPECT_THAT(list({.limit = 1}), ElementsAre("s1"));
  EXPECT_THAT(list({.after = std::pair(absl::FromUnixSeconds(200), SessionPk{2})}), ElementsAre("s2", "s0"));
  EXPECT_THAT(list({.labels = {{"team", "web"}}}), ElementsAre("s1", "s2"));
  EXPECT_THAT(list({.labels = {{"team", "\"core\""}}}), ElementsAre("s0"));
  EXPECT_THAT(list({.states = {v1::SESSION_STATE_CLOSED}}), ElementsAre("s2"));
  EXPECT_THAT(list({.active_since = absl::FromUnixSeconds(150)}), ElementsAre("s1", "s2"));
  DOCKET_ASSERT_OK_AND_ASSIGN(const auto others, store_->ListSessions(shard_, "other", {}));
  EXPECT_TRUE(others.empty());
}

TEST_F(PostgresEventStoreTest, MigratesOnceAndChecksTheSchema) {
  const std::string& database = postgres_->connection_string();
  EXPECT_THAT(Migrate(database, kShards), IsOk());
  EXPECT_THAT(CheckSchema(database), IsOk());
  EXPECT_THAT(Migrate(database, kShards + 1), StatusIs(absl::StatusCode::kFailedPrecondition));
  DOCKET_ASSERT_OK_AND_ASSIGN(const LogInfo info, store_->ReadLogInfo());
  EXPECT_EQ(info.shard_count, kShards);
  pqxx::connection connection(database);
  pqxx::nontransaction transaction(connection);
  transaction.exec("create table kept as table schema_migration");
  transaction.exec("update schema_migration set checksum = 'another'");
  EXPECT_THAT(CheckSchema(database), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Migrate(database, kShards), StatusIs(absl::StatusCode::kFailedPrecondition));
  transaction.exec("drop table schema_migration");
  EXPECT_THAT(CheckSchema(database), StatusIs(absl::StatusCode::kFailedPrecondition));
  transaction.exec("alter table kept rename to schema_migration");  // for the tests that follow
}

TEST_F(PostgresEventStoreTest, SurvivesTheServersDeath) {
  ASSERT_EQ(store_->Append(Opening("a", 2)).kind, Kind::kAppended);
  ASSERT_THAT(store_->ReadHead(shard_),
              IsOk());  // both kinds of connection are open
  postgres_->Kill();
  const AppendOutcome away = store_->Append(Opening("b", 1, Position{2}));
  EXPECT_EQ(away.kind, Kind::kUnavailable);
  EXPECT_THAT(away.status, HasReason(docket::v1::ERROR_REASON_STORE_UNAVAILABLE));
  EXPECT_THAT(store_->ReadHead(shard_), HasReason(docket::v1::ERROR_REASON_STORE_UNAVAILABLE));
  ASSERT_THAT(postgres_->Start(), IsOk());
  DOCKET_ASSERT_OK_AND_ASSIGN(const ShardHead head, store_->ReadHead(shard_));
  EXPECT_EQ(head.tail, Position{2});
  EXPECT_EQ(store_->Append(Opening("b", 1, Position{2}, head.tail_id)).kind, Kind::kAppended);
}

TEST(SqlErrorsTest, TellWhetherTheStatementWasCarriedOut) {
  EXPECT_EQ(ClassifySqlState(""), SqlFailure::kLost);
  EXPECT_EQ(ClassifySqlState("57P01"), SqlFailure::kLost);
  EXPECT_EQ(ClassifySqlState("08006"), SqlFailure::kLost);
  EXPECT_EQ(ClassifySqlState("57014"), SqlFailure::kUnavailable);
  EXPECT_EQ(ClassifySqlState("55P03"), SqlFailure::kUnavailable);
  EXPECT_EQ(ClassifySqlState("53100"), SqlFailure::kUnavailable);
  EXPECT_EQ(ClassifySqlState("23505"), SqlFailure::kDuplicate);
  EXPECT_EQ(ClassifySqlState("23502"), SqlFailure::kBadData);
  EXPECT_EQ(ClassifySqlState("22021"), SqlFailure::kBadData);
  EXPECT_EQ(ClassifySqlState("DK001"), SqlFailure::kDiverged);
}

}  // namespace
}  // namespace docket::log
