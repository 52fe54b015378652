#ifndef DOCKET_SERVICES_LOG_CORE_FAKE_EVENT_STORE_H_
#define DOCKET_SERVICES_LOG_CORE_FAKE_EVENT_STORE_H_

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/common/mutex.h"
#include "services/log/core/event_store.h"

namespace docket::log {

// An EventStore in memory, for one shard, that can be told to fail as a real one cannot be made to. Thread-safe.
class FakeEventStore : public EventStore {
 public:
  // How the next append goes: the outcome to answer, and whether the batch is stored nevertheless.
  struct Script {
    AppendOutcome::Kind kind = AppendOutcome::Kind::kUnavailable;
    bool stored = false;
  };

  void FailNext(Script script) {
    MutexLock lock(&mutex_);
    scripts_.push_back(script);
  }
  // Batches with an event of this type are refused as bad data.
  void RefuseType(int32_t type) {
    MutexLock lock(&mutex_);
    refused_type_ = type;
  }
  // The log's end after `position` is lost.
  void Truncate(Position position) {
    MutexLock lock(&mutex_);
    events_.resize(static_cast<size_t>(position.value));
  }
  std::vector<StoredEvent> events() {
    MutexLock lock(&mutex_);
    return events_;
  }
  int appends() {
    MutexLock lock(&mutex_);
    return appends_;
  }
  int flushes() {
    MutexLock lock(&mutex_);
    return flushes_;
  }
  // The highest position that a flush said the rows are complete up to.
  Position claimed() {
    MutexLock lock(&mutex_);
    return claimed_;
  }
  int shard_reads() {
    MutexLock lock(&mutex_);
    return shard_reads_;
  }
  int32_t epoch() {
    MutexLock lock(&mutex_);
    return epoch_;
  }

  absl::StatusOr<LogInfo> ReadLogInfo() override { return LogInfo{1, absl::UnixEpoch()}; }

  absl::StatusOr<ShardHead> ReadHead(ShardId) override {
    MutexLock lock(&mutex_);
    ShardHead head{.epoch = epoch_, .tail = Tail(), .summary_position = claimed_};
    if (!events_.empty()) head.tail_id = events_.back().id;
    return head;
  }

  absl::StatusOr<std::vector<std::pair<ShardId, ShardHead>>> ReadHeads(const std::vector<ShardId>& shards) override {
    std::vector<std::pair<ShardId, ShardHead>> heads;
    for (const ShardId shard : shards) heads.emplace_back(shard, *ReadHead(shard));
    return heads;
  }

  AppendOutcome Append(const AppendBatch& batch) override {
    MutexLock lock(&mutex_);
    ++appends_;
    AppendOutcome outcome;
    if (!scripts_.empty()) {
      const Script script = scripts_.front();
      scripts_.pop_front();
      if (script.stored) Try(batch);
      outcome.kind = script.kind;
      return outcome;
    }
    return Try(batch);
  }

  absl::StatusOr<TouchedPage> ReadTouched(ShardId, Position after, int limit) override {
    MutexLock lock(&mutex_);
    TouchedPage page{.through = after, .reached_tail = true};
    for (const StoredEvent& event : After(after)) {
      if (limit-- == 0) {
        page.reached_tail = false;
        break;
      }
      page.through = event.position;
      std::erase_if(page.sessions, [&](const TouchedSession& s) { return s.pk == event.session_pk; });
      page.sessions.push_back({event.session_pk, event.seq});
    }
    return page;
  }

  absl::StatusOr<EventPage> ReadShard(ShardId, const ShardRange& range) override {
    MutexLock lock(&mutex_);
    ++shard_reads_;
    EventPage page;
    page.events = After(range.after);
    page.reached_tail = static_cast<int>(page.events.size()) <= range.limit;
    if (!page.reached_tail) page.events.resize(static_cast<size_t>(range.limit));
    page.through = page.events.empty() ? range.after : page.events.back().position;
    return page;
  }

  absl::StatusOr<std::vector<StoredEvent>> ReadSession(ShardId, SessionPk pk, const SessionRange& range) override {
    MutexLock lock(&mutex_);
    std::vector<StoredEvent> found;
    for (const StoredEvent& event : events_) {
      if (event.session_pk == pk && event.seq >= range.from && static_cast<int>(found.size()) < range.limit)
        found.push_back(event);
    }
    return found;
  }

  absl::StatusOr<std::vector<StoredEvent>> ReadSeqs(ShardId, SessionPk pk, const std::vector<Seq>& seqs) override {
    MutexLock lock(&mutex_);
    std::vector<StoredEvent> found;
    for (const StoredEvent& event : events_) {
      if (event.session_pk == pk && std::find(seqs.begin(), seqs.end(), event.seq) != seqs.end())
        found.push_back(event);
    }
    return found;
  }

  absl::StatusOr<std::vector<StoredEvent>> FindEvents(ShardId, SessionPk pk, const std::vector<EventId>& ids) override {
    MutexLock lock(&mutex_);
    std::vector<StoredEvent> found;
    for (const StoredEvent& event : events_) {
      if (event.session_pk == pk && std::find(ids.begin(), ids.end(), event.id) != ids.end()) found.push_back(event);
    }
    return found;
  }

  absl::StatusOr<std::optional<SessionRow>> FindSession(ShardId, absl::string_view tenant,
                                                        absl::string_view session) override {
    MutexLock lock(&mutex_);
    for (const SessionRow& row : rows_) {
      if (row.tenant_id == tenant && row.session_id == session) return row;
    }
    return std::nullopt;
  }

  absl::StatusOr<std::vector<SessionRow>> FindSessions(ShardId, const std::vector<SessionPk>&) override {
    MutexLock lock(&mutex_);
    return rows_;
  }

  absl::StatusOr<std::vector<SessionRow>> ListSessions(ShardId, absl::string_view, const SessionFilter&) override {
    MutexLock lock(&mutex_);
    return rows_;
  }

  absl::Status FlushSummaries(ShardId, const std::vector<SessionRow>& rows, Position complete_through) override {
    MutexLock lock(&mutex_);
    ++flushes_;
    claimed_ = std::max(claimed_, complete_through);
    for (const SessionRow& row : rows) {
      for (SessionRow& known : rows_) {
        if (known.pk == row.pk && known.checkpoint_seq < row.checkpoint_seq) known = row;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int32_t> RaiseEpoch(ShardId, int32_t from) override {
    MutexLock lock(&mutex_);
    if (epoch_ == from) ++epoch_;
    return epoch_;
  }

 private:
  Position Tail() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return events_.empty() ? Position{} : events_.back().position;
  }

  std::vector<StoredEvent> After(Position after) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<StoredEvent> later;
    for (const StoredEvent& event : events_) {
      if (event.position > after) later.push_back(event);
    }
    return later;
  }

  // What the database's function does.
  AppendOutcome Try(const AppendBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    AppendOutcome outcome;
    outcome.tail_found = Tail();
    const bool known_tail =
        batch.tail.value == 0 ||
        (batch.tail <= Tail() && events_[static_cast<size_t>(batch.tail.value) - 1].id == batch.tail_id);
    if (batch.epoch != epoch_ || !known_tail) {
      outcome.kind = AppendOutcome::Kind::kDiverged;
      return outcome;
    }
    outcome.missed = After(batch.tail);
    outcome.kind = AppendOutcome::Kind::kConflict;
    for (const StoredEvent& missed : outcome.missed) {
      for (const NewEvent& event : batch.events) {
        if (event.session_pk == missed.session_pk) return outcome;
      }
    }
    for (const NewSession& session : batch.new_sessions) {
      for (const SessionRow& row : rows_) {
        if (row.tenant_id == session.tenant_id && row.session_id == session.session_id) return outcome;
      }
    }
    for (const NewEvent& event : batch.events) {
      if (event.type == refused_type_)
        outcome = {.kind = AppendOutcome::Kind::kBadData, .status = absl::InvalidArgumentError("bad data")};
      if (event.type == refused_type_) return outcome;
      for (const StoredEvent& stored : events_) {
        if (stored.session_pk == event.session_pk && (stored.id == event.id || stored.seq == event.seq)) {
          outcome.kind = AppendOutcome::Kind::kDuplicate;
          return outcome;
        }
      }
    }
    return Insert(batch, std::move(outcome));
  }

  AppendOutcome Insert(const AppendBatch& batch, AppendOutcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    outcome.kind = AppendOutcome::Kind::kAppended;
    outcome.first = Position{Tail().value + 1};
    outcome.recorded_at = absl::FromUnixSeconds(1000 + outcome.first.value);
    for (const NewSession& session : batch.new_sessions) {
      rows_.push_back({.pk = SessionPk{outcome.first.value + session.ordinal - 1},
                       .tenant_id = session.tenant_id,
                       .session_id = session.session_id});
    }
    for (const NewEvent& event : batch.events) {
      const SessionPk pk =
          event.session_pk.value < 0 ? SessionPk{outcome.first.value - event.session_pk.value - 1} : event.session_pk;
      events_.push_back(
          {Position{Tail().value + 1}, pk, event.seq, event.id, event.type, outcome.recorded_at, event.payload});
    }
    return outcome;
  }

  Mutex mutex_;
  std::vector<StoredEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<SessionRow> rows_ ABSL_GUARDED_BY(mutex_);
  std::deque<Script> scripts_ ABSL_GUARDED_BY(mutex_);
  int32_t epoch_ ABSL_GUARDED_BY(mutex_) = 1;
  int32_t refused_type_ ABSL_GUARDED_BY(mutex_) = -1;
  int appends_ ABSL_GUARDED_BY(mutex_) = 0;
  int shard_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  int flushes_ ABSL_GUARDED_BY(mutex_) = 0;
  Position claimed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_FAKE_EVENT_STORE_H_
