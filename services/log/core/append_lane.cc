#include "services/log/core/append_lane.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "services/common/backoff.h"
#include "services/common/errors.h"
#include "services/common/log.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/log/core/append_judge.h"
#include "services/log/core/event_shape.h"

namespace docket::log {
namespace {

// A lane knows the sessions that it wrote to. That every session's row is complete up to some position is not for it to
// say.
constexpr Position kNoClaim{0};

EventId IdOf(const v1::SessionEvent& event) {
  return EventId::Parse(event.event_id()).value_or(EventId());
}

absl::Status Unavailable(docket::v1::ErrorReason reason, absl::string_view text) {
  return WithRetryAfter(MakeError(reason, text), absl::Milliseconds(500));
}

}  // namespace

// One attempt to store a batch: the overlay that its requests are judged on, and what is to be appended.
struct AppendLane::Round {
  using Key = std::pair<std::string, std::string>;
  struct Session {
    SessionState state;
    bool stored = false;  // it exists in the log
  };

  bool look_up = false;      // ids must be looked up before anything is appended
  bool in_doubt = false;     // an earlier attempt may have been stored
  bool failed = false;       // the store did not answer
  bool caught_up = false;    // the tail was read up to the log's end since this attempt began
  bool judge_again = false;  // ... and there was something new
  absl::flat_hash_map<Key, Session> sessions;
  AppendBatch batch;
  std::vector<size_t> owners;  // the request that each event of the batch is from

  void Begin() {
    sessions.clear();
    batch.events.clear();
    batch.new_sessions.clear();
    owners.clear();
  }
};

AppendLane::AppendLane(ShardId shard, EventStore& store, ShardFeed& feed, Options options)
    : shard_(shard),
      store_(store),
      options_(options),
      tail_(shard, store, feed, options.tail),
      flushed_at_(absl::Now()),
      thread_([this] { Run(); }) {}

AppendLane::~AppendLane() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

absl::Status AppendLane::Submit(std::shared_ptr<const v1::AppendRequest> request, Done done,
                                std::shared_ptr<Order> order) {
  MutexLock lock(&mutex_);
  if (stopping_) return MakeError(docket::v1::ERROR_REASON_DRAINING, "the server is shutting down");
  auto queue = queues_.find(request->tenant_id());
  if ((queue == queues_.end() ? 0 : queue->second.size()) >= options_.max_queued_per_tenant) {
    return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_QUEUE_FULL, "too many appends of this tenant are waiting"),
                          absl::Milliseconds(100));
  }
  if (queue == queues_.end()) queue = queues_.emplace(request->tenant_id(), std::deque<Pending>()).first;
  queue->second.push_back({.request = std::move(request), .done = std::move(done), .order = std::move(order)});
  changed_.Signal();
  return absl::OkStatus();
}

void AppendLane::Run() {
  for (;;) {
    std::vector<Pending> batch;
    {
      MutexLock lock(&mutex_);
      while (queues_.empty() && !stopping_) {
        if (!tail_.dirty()) {
          changed_.Wait(&mutex_);
        } else if (changed_.WaitWithTimeout(&mutex_, flushed_at_ + options_.flush_summaries_after - absl::Now())) {
          break;
        }
      }
      if (queues_.empty() && stopping_) break;
      batch = TakeBatch();
    }
    if (!batch.empty()) Process(std::move(batch));
    if (tail_.dirty() && absl::Now() - flushed_at_ >= options_.flush_summaries_after) {
      FlushSummaries().IgnoreError();  // the rows stay dirty
    }
  }
  // The log is the truth: rows that stay behind are folded on from it.
  if (tail_.dirty()) FlushSummaries().IgnoreError();
}

std::vector<AppendLane::Pending> AppendLane::TakeBatch() {
  std::vector<Pending> batch;
  int events = 0;
  size_t bytes = 0;
  // One request of each tenant in turn, from the one after the last.
  auto next = queues_.upper_bound(last_tenant_);
  while (!queues_.empty()) {
    if (next == queues_.end()) next = queues_.begin();
    const v1::AppendRequest& request = *next->second.front().request;
    events += request.events_size();
    bytes += request.ByteSizeLong();
    if (!batch.empty() && (events > options_.max_batch_events || bytes > options_.max_batch_bytes)) break;
    batch.push_back(std::move(next->second.front()));
    last_tenant_ = next->first;
    next->second.pop_front();
    next = next->second.empty() ? queues_.erase(next) : std::next(next);
  }
  return batch;
}

void AppendLane::Answer(Pending& pending, absl::StatusOr<v1::AppendResponse> answer) {
  if (std::exchange(pending.answered, true)) return;
  if (pending.order != nullptr && absl::IsUnavailable(answer.status())) pending.order->broken = true;
  pending.done(std::move(answer));
}

void AppendLane::AnswerRefused(std::vector<Pending>& batch) {
  for (Pending& pending : batch) {
    if (!pending.refusal.ok()) Answer(pending, pending.refusal);
  }
}

void AppendLane::Process(std::vector<Pending> batch) {
  Round round;
  Backoff backoff({.first = absl::Milliseconds(5), .longest = absl::Milliseconds(500)});
  const absl::Time give_up_at = absl::Now() + options_.give_up_after;
  for (;;) {
    round.failed = round.caught_up = false;
    const absl::Status judged = JudgeAll(batch, round);
    if (judged.ok()) {
      if (round.batch.events.empty()) return AnswerRefused(batch);
      round.batch.shard = shard_;
      round.batch.epoch = tail_.epoch();
      round.batch.tail = tail_.position();
      round.batch.tail_id = tail_.id();
      if (Conclude(batch, round, store_.Append(round.batch))) return;
    } else {
      round.failed = true;
    }
    if (absl::Now() >= give_up_at) break;
    if (round.failed) absl::SleepFor(backoff.Next());
  }
  const absl::Status status =
      round.in_doubt ? Unavailable(docket::v1::ERROR_REASON_COMMIT_UNKNOWN,
                                   "the commit may or may not have happened; retry with the same ids")
                     : Unavailable(docket::v1::ERROR_REASON_STORE_UNAVAILABLE, "the database is not available");
  for (Pending& pending : batch) {
    Answer(pending, status);
  }
}

// An error means that the store did not answer.
absl::Status AppendLane::JudgeAll(std::vector<Pending>& batch, Round& round) {
  DOCKET_RETURN_IF_ERROR(tail_.Start());
  round.Begin();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].answered) continue;
    if (batch[i].order != nullptr && batch[i].order->broken) {
      Answer(batch[i], Unavailable(docket::v1::ERROR_REASON_STORE_UNAVAILABLE, "a request before it was not appended"));
      continue;
    }
    const size_t before = round.batch.events.size();
    DOCKET_RETURN_IF_ERROR(JudgeOne(batch[i], round));
    if (std::exchange(round.judge_again, false)) return JudgeAll(batch, round);  // once: it is caught up now
    round.owners.insert(round.owners.end(), round.batch.events.size() - before, i);
  }
  return absl::OkStatus();
}

absl::Status AppendLane::JudgeOne(Pending& pending, Round& round) {
  pending.refusal = absl::OkStatus();
  const v1::AppendRequest& request = *pending.request;
  const Round::Key key(request.tenant_id(), request.session_id());
  auto found = round.sessions.find(key);
  if (found == round.sessions.end()) {
    DOCKET_ASSIGN_OR_RETURN(const std::shared_ptr<const SessionState> state, tail_.State(key.first, key.second));
    Round::Session session{state != nullptr ? *state : SessionState(key.first, key.second), state != nullptr};
    found = round.sessions.emplace(key, std::move(session)).first;
  }
  Round::Session& session = found->second;
  // The ids of the batch itself are found by the unique index.
  bool looked_up = round.look_up && session.stored;
  if (looked_up) DOCKET_RETURN_IF_ERROR(LookUp(pending, round, session.state.pk()));
  if (pending.answered) return absl::OkStatus();
  absl::Status judged = Judge(request, pending.first_new, absl::Now(), session.state);
  if (!judged.ok() && !looked_up && session.stored) {
    DOCKET_RETURN_IF_ERROR(LookUp(pending, round, session.state.pk()));
    if (pending.answered) return absl::OkStatus();
    judged = Judge(request, pending.first_new, absl::Now(), session.state);
  }
  if (!judged.ok()) {
    // Another replica may have appended what makes it right. Only the log's end can refuse.
    if (!std::exchange(round.caught_up, true)) {
      const Position before = tail_.position();
      DOCKET_RETURN_IF_ERROR(tail_.CatchUp());
      round.judge_again = tail_.position() != before;
    }
    // Told once what it was judged on is stored: the requests before it in the batch may yet fail.
    if (!round.judge_again) pending.refusal = judged;
    return absl::OkStatus();
  }
  int64_t seq = session.state.head().value - (request.events_size() - pending.first_new);
  for (int i = pending.first_new; i < request.events_size(); ++i) {
    const auto ordinal = static_cast<int32_t>(round.batch.events.size()) + 1;
    if (!session.stored && session.state.pk().value == 0) {
      session.state.set_pk(SessionPk{-ordinal});
      round.batch.new_sessions.push_back({ordinal, key.first, key.second});
    }
    const v1::SessionEvent& event = request.events(i);
    round.batch.events.push_back({session.state.pk(), Seq{++seq}, IdOf(event), TypeOf(event), PayloadOf(event)});
  }
  return absl::OkStatus();
}

// Looks up which of the request's events are stored, and answers the request if that settles it. An error means that
// the store did not answer.
absl::Status AppendLane::LookUp(Pending& pending, Round& round, SessionPk pk) {
  std::vector<EventId> ids;
  for (const auto& event : pending.request->events()) ids.push_back(IdOf(event));
  DOCKET_ASSIGN_OR_RETURN(pending.known, store_.FindEvents(shard_, pk, ids));
  const absl::StatusOr<int> known = KnownPrefix(*pending.request, pending.known);
  if (!known.ok()) {
    Answer(pending, known.status());
    return absl::OkStatus();
  }
  pending.first_new = *known;
  if (*known < pending.request->events_size()) return absl::OkStatus();
  if (round.in_doubt) {
    // They may be ours and not yet safe: a later commit proves the earlier one.
    DOCKET_RETURN_IF_ERROR(FlushSummaries());
  }
  AnswerKnown(pending, round);
  return absl::OkStatus();
}

void AppendLane::AnswerKnown(Pending& pending, Round& round) {
  v1::AppendResponse response;
  absl::flat_hash_map<EventId, const StoredEvent*> by_id;
  for (const StoredEvent& event : pending.known) by_id[event.id] = &event;
  for (const auto& event : pending.request->events()) {
    const StoredEvent& stored = *by_id.at(IdOf(event));
    response.add_seqs(stored.seq.value);
    response.add_positions(stored.position.value);
    *response.mutable_recorded_at() = ToProto(stored.recorded_at);
  }
  response.set_deduplicated(!round.in_doubt);
  response.set_known_events(round.in_doubt ? 0 : pending.request->events_size());
  Answer(pending, response);
}

// Does what the outcome asks for; true once every request was answered.
bool AppendLane::Conclude(std::vector<Pending>& batch, Round& round, AppendOutcome outcome) {
  using Kind = AppendOutcome::Kind;
  switch (outcome.kind) {
    case Kind::kAppended:
      Stored(batch, round, outcome);
      return true;
    case Kind::kConflict:
      tail_.Advance(outcome.missed);
      if (!outcome.missed_all) round.failed = !tail_.CatchUp().ok();
      return false;
    case Kind::kDuplicate:
      round.look_up = true;
      round.failed = !tail_.CatchUp().ok();
      break;
    case Kind::kDiverged:
      round.failed = !Diverged().ok();
      return false;
    case Kind::kInDoubt:
      round.in_doubt = round.look_up = round.failed = true;
      return false;
    case Kind::kUnavailable:
      round.failed = true;
      return false;
    case Kind::kBadData:
      break;
  }
  const auto open = std::count_if(batch.begin(), batch.end(), [](const Pending& pending) { return !pending.answered; });
  if (open > 1) {
    // Singly, so that a bad request fails alone, and one that repeats another of this batch finds it stored.
    for (Pending& pending : batch) {
      if (pending.answered) continue;
      std::vector<Pending> one;
      one.push_back(std::exchange(pending, Pending{.answered = true}));
      Process(std::move(one));
    }
    return true;
  }
  if (outcome.kind == Kind::kDuplicate) return false;
  for (Pending& pending : batch) {
    Answer(pending, outcome.status);
  }
  return true;
}

void AppendLane::Stored(std::vector<Pending>& batch, Round& round, const AppendOutcome& outcome) {
  tail_.Advance(outcome.missed);
  std::vector<StoredEvent> stored;
  absl::flat_hash_map<int64_t, SessionPk> opened;  // by the ordinal of the event that opens it
  for (size_t i = 0; i < round.batch.events.size(); ++i) {
    NewEvent& event = round.batch.events[i];
    const Position position{outcome.first.value + static_cast<int64_t>(i)};
    if (event.session_pk.value < 0) event.session_pk = SessionPk{outcome.first.value - event.session_pk.value - 1};
    stored.push_back(
        {position, event.session_pk, event.seq, event.id, event.type, outcome.recorded_at, std::move(event.payload)});
  }
  for (const NewSession& session : round.batch.new_sessions) {
    SessionState state(session.tenant_id, session.session_id);
    state.set_pk(SessionPk{outcome.first.value + session.ordinal - 1});
    tail_.Keep(std::move(state));
  }
  tail_.Advance(stored);
  options_.committed(shard_);
  std::vector<v1::AppendResponse> responses(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    for (int k = 0; k < batch[i].first_new; ++k) {
      const EventId id = IdOf(batch[i].request->events(k));
      for (const StoredEvent& known : batch[i].known) {
        if (known.id != id) continue;
        responses[i].add_seqs(known.seq.value);
        responses[i].add_positions(known.position.value);
      }
    }
    responses[i].set_known_events(batch[i].first_new);
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    v1::AppendResponse& response = responses[round.owners[i]];
    response.add_seqs(stored[i].seq.value);
    response.add_positions(stored[i].position.value);
    *response.mutable_recorded_at() = ToProto(stored[i].recorded_at);
  }
  AnswerRefused(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    Answer(batch[i], std::move(responses[i]));
  }
}

// The log does not go through our tail any more: starts anew, and says so by a new epoch unless another replica has.
absl::Status AppendLane::Diverged() {
  DOCKET_ASSIGN_OR_RETURN(ShardHead head, store_.ReadHead(shard_));
  if (head.epoch == tail_.epoch()) {
    LogError("shard ", shard_.value, " lost its end after position ", head.tail.value, "; this replica had reached ",
             tail_.position().value);
    DOCKET_ASSIGN_OR_RETURN(head.epoch, store_.RaiseEpoch(shard_, head.epoch));
  }
  tail_.Reset(head);
  return absl::OkStatus();
}

absl::Status AppendLane::FlushSummaries() {
  flushed_at_ = absl::Now();
  const std::vector<SessionRow> rows = tail_.DirtyRows();
  const absl::Status status = store_.FlushSummaries(shard_, rows, kNoClaim);
  if (status.ok()) {
    tail_.Flushed(rows);
  } else {
    LogWarning("summaries of shard ", shard_.value, " were not flushed; they will be");
  }
  return status;
}

}  // namespace docket::log
