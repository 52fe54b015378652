#include "services/log/store/postgres_event_store.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/log.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/log/store/migrate.h"
#include "services/log/store/sql_errors.h"

namespace docket::log {
namespace {

// Scans and bitmaps never win here: every statement has an index, also before the first analyze.
constexpr char kReaderSettings[] =
    "set default_transaction_read_only = on; set statement_timeout = '10s'; set lock_timeout = '2s'; "
    "set enable_seqscan = off; set enable_bitmapscan = off";
constexpr char kWriterSettings[] =
    "set synchronous_commit = on; set statement_timeout = '10s'; set lock_timeout = '2s'; "
    "set client_connection_check_interval = '1s'; set default_transaction_isolation = 'read committed'; "
    "set enable_seqscan = off; set enable_bitmapscan = off";

// Columns of an event, in the order that ReadEvent() expects.
constexpr char kEventColumns[] =
    "position, session_pk, seq, event_id, type, (extract(epoch from recorded_at) * 1000000)::bigint, payload";
constexpr char kSessionColumns[] = "session_pk, tenant_id, session_id, checkpoint_seq, state";
// The condition of the partial index event_of_plans.
constexpr char kPlanTypes[] = "type in (10, 11, 12, 13, 14, 15, 16, 30, 31)";

bool IsPlanType(int32_t type) {
  return (type >= 10 && type <= 16) || type == 30 || type == 31;
}

// Events that `source` selects in `order` of at most `limit` + 1 rows, cut where they exceed `bytes`; never the first
// one.
std::string Cut(absl::string_view source, absl::string_view order, absl::string_view limit, absl::string_view bytes) {
  return absl::StrCat(
      "select ", kEventColumns, " from (select e.*, row_number() over w n, sum(octet_length(e.payload)) over w b ",
      "from (", source, ") e window w as (order by ", order,
      " rows unbounded preceding)) c where n = 1 or (n <= ", limit, " and b <= ", bytes, ") order by ", order);
}

std::string ReadShardSql(bool of_session) {
  // The tail and the page are of one snapshot. A session's events are found by their seqs, which have the same order.
  const absl::string_view session = of_session ? " and session_pk = $5" : "";
  const absl::string_view order = of_session ? "seq" : "position";
  return absl::StrCat(
      "with tail as (select greatest(s.floor_position, (select e.position from event e where e.shard_id = $1 order by "
      "e.position "
      "desc limit 1)) t from shard s where s.shard_id = $1), page as (select * from event where shard_id = $1",
      session, " and position > $2 order by ", order, " limit $3 + 1) ",
      "select 0::bigint, (select t from tail), (select count(*) from page), null::uuid, 0::smallint, 0::bigint, "
      "''::bytea "
      "union all (",
      Cut("select * from page", order, "$3", "$4"), ")");
}

std::string ReadSessionSql(bool backward, int types) {
  const absl::string_view filter = types == 0 ? "" : " and type = any($6::smallint[])";
  const std::string indexed = types == 2 ? absl::StrCat(" and ", kPlanTypes) : "";
  const absl::string_view order = backward ? "seq desc" : "seq";
  return Cut(absl::StrCat("select * from event where shard_id = $1 and session_pk = $2 and seq ",
                          backward ? "<=" : ">=", " $3", filter, indexed, " order by ", order, " limit $4"),
             order, "$4", "$5");
}

std::string ReadSessionName(bool backward, int types) {
  return absl::StrCat("read_session_", backward ? "backward" : "forward", types);
}

// Prepared by the server at their first use.
void PrepareReads(pqxx::connection& c) {
  c.prepare("read_log_info", "select shard_count, (extract(epoch from created_at) * 1000000)::bigint from log_info");
  c.prepare(
      "read_heads",
      "select s.epoch, s.floor_position, case when s.floor_at > '-infinity' then (extract(epoch from s.floor_at) * "
      "1000000)::bigint end, s.summary_position, e.position, e.event_id, (extract(epoch from e.recorded_at) * "
      "1000000)::bigint, s.shard_id from shard s left join lateral (select * from event v where v.shard_id = "
      "s.shard_id order by "
      "v.position desc limit 1) e on true where s.shard_id = any($1::int[])");
  c.prepare(
      "read_touched",
      "select e.session_pk, max(e.seq), max(max(e.position)) over (), sum(count(*)) over () from (select "
      "v.session_pk, v.seq, v.position from event v where v.shard_id = $1 and v.position > $2 order by v.position "
      "limit $3) e group by e.session_pk");
  c.prepare("read_shard", ReadShardSql(false));
  c.prepare("read_shard_session", ReadShardSql(true));
  for (const bool backward : {false, true}) {
    for (const int types : {0, 1, 2}) c.prepare(ReadSessionName(backward, types), ReadSessionSql(backward, types));
  }
  const std::string of_session =
      absl::StrCat("select ", kEventColumns, " from event where shard_id = $1 and session_pk = $2 and ");
  c.prepare("read_seqs", of_session + "seq = any($3::bigint[]) order by seq");
  c.prepare("find_events", of_session + "event_id = any($3::uuid[]) order by seq");
  const std::string session = absl::StrCat("select ", kSessionColumns, " from session where shard_id = $1 and ");
  c.prepare("find_session", session + "tenant_id = $2 and session_id = $3");
  c.prepare("find_sessions", session + "session_pk = any($2::bigint[])");
  c.prepare(
      "list_sessions",
      session +
          "tenant_id = $2 and labels @> $3::jsonb and ($4::smallint[] = '{}' or status = any($4::smallint[])) and "
          "last_activity >= $5::timestamptz and last_activity <= $6::timestamptz and (last_activity < $6::timestamptz "
          "or "
          "session_pk > $7) order by last_activity desc, session_pk limit $8");
}

void PrepareWrites(pqxx::connection& c) {
  c.prepare("append",
            "select * from append_events_v1($1, $2, $3, $4, $5::bigint[], $6::bigint[], $7::uuid[], $8::smallint[], "
            "$9::int[], "
            "$10::bytea, $11::int[], $12::text[], $13::text[])");
  c.prepare(
      "flush_summaries",
      "with row as (select r.*, sum(r.len) over (order by r.ord rows unbounded preceding) through from "
      "unnest($2::bigint[], "
      "$3::bigint[], $4::int[], $6::text[], $7::text[], $8::smallint[], $9::timestamptz[], $10::timestamptz[]) with "
      "ordinality r(pk, seq, len, title, labels, status, opened_at, last_activity, ord)), flushed as (update session s "
      "set "
      "checkpoint_seq = row.seq, state = substring($5::bytea from (row.through - row.len + 1)::int for row.len), title "
      "= "
      "row.title, labels = row.labels::jsonb, status = row.status, opened_at = coalesce(row.opened_at, s.opened_at), "
      "last_activity = coalesce(row.last_activity, s.last_activity) from row where s.shard_id = $1 and s.session_pk = "
      "row.pk "
      "and s.checkpoint_seq < row.seq) update shard set summary_position = greatest(summary_position, $11) where "
      "shard_id = $1");
  c.prepare("raise_epoch", "update shard set epoch = epoch + 1 where shard_id = $1 and epoch = $2");
  c.prepare("read_epoch", "select epoch from shard where shard_id = $1");
}

// An array literal of values that need no quotes.
template <typename Range, typename Value>
std::string NumberArray(const Range& range, Value value) {
  return absl::StrCat(
      "{", absl::StrJoin(range, ",", [&](std::string* out, const auto& e) { absl::StrAppend(out, value(e)); }), "}");
}

// An array literal of any texts.
template <typename Range, typename Value>
std::string TextArray(const Range& range, Value value) {
  return absl::StrCat(
      "{",
      absl::StrJoin(range, ",",
                    [&](std::string* out, const auto& e) {
                      absl::StrAppend(out, "\"", absl::StrReplaceAll(value(e), {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
                    }),
      "}");
}

// `text` as the database can hold it: without NUL. For columns that only filter.
std::string Storable(absl::string_view text) {
  if (!IsValidUtf8(text)) return "";
  return absl::StrReplaceAll(text, {{absl::string_view("\0", 1), "\uFFFD"}});
}

template <typename Labels>
std::string LabelsJson(const Labels& labels) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, value] : labels) json[Storable(key)] = Storable(value);
  return json.dump();
}

std::string TimeText(absl::Time time) {
  if (time == absl::InfiniteFuture()) return "infinity";
  if (time == absl::InfinitePast()) return "-infinity";
  return absl::FormatTime("%E4Y-%m-%d %H:%M:%E6S+00", time, absl::UTCTimeZone());
}

EventId ReadEventId(const pqxx::field& field) {
  return field.is_null() ? EventId{} : EventId::Parse(field.c_str()).value_or(EventId{});
}

std::string ReadBytes(const pqxx::field& field) {
  const pqxx::binarystring bytes(field);
  return std::string(bytes.get(), bytes.size());
}

StoredEvent ReadEvent(const pqxx::row& row) {
  StoredEvent event;
  event.position = Position{row[0].as<int64_t>()};
  event.session_pk = SessionPk{row[1].as<int64_t>()};
  event.seq = Seq{row[2].as<int64_t>()};
  event.id = ReadEventId(row[3]);
  event.type = row[4].as<int32_t>();
  event.recorded_at = absl::FromUnixMicros(row[5].as<int64_t>());
  event.payload = ReadBytes(row[6]);
  return event;
}

std::vector<StoredEvent> ReadEvents(const pqxx::result& rows, size_t from = 0) {
  std::vector<StoredEvent> events;
  events.reserve(rows.size() - from);
  for (size_t i = from; i < rows.size(); ++i)
    events.push_back(ReadEvent(rows[static_cast<pqxx::result::size_type>(i)]));
  return events;
}

std::vector<SessionRow> ReadSessions(const pqxx::result& rows) {
  std::vector<SessionRow> sessions;
  for (const auto& row : rows) {
    sessions.push_back({.pk = SessionPk{row[0].as<int64_t>()},
                        .tenant_id = row[1].as<std::string>(),
                        .session_id = row[2].as<std::string>(),
                        .checkpoint_seq = Seq{row[3].as<int64_t>()},
                        .state = ReadBytes(row[4])});
  }
  return sessions;
}

AppendOutcome ReadOutcome(const pqxx::result& rows) {
  AppendOutcome outcome;
  const pqxx::row answer = rows[0];
  outcome.first = Position{answer[0].as<int64_t>()};
  outcome.kind = outcome.first.value > 0 ? AppendOutcome::Kind::kAppended : AppendOutcome::Kind::kConflict;
  outcome.tail_found = Position{answer[1].as<int64_t>()};
  outcome.missed_all = answer[2].as<int64_t>() == 1;
  outcome.recorded_at = absl::FromUnixMicros(answer[5].as<int64_t>());
  outcome.missed = ReadEvents(rows, 1);
  return outcome;
}

AppendOutcome FailedOutcome(const SqlError& error) {
  AppendOutcome outcome;
  outcome.status = ToStatus(error);
  switch (error.failure) {
    case SqlFailure::kLost:
      outcome.kind = AppendOutcome::Kind::kInDoubt;
      outcome.status = MakeError(docket::v1::ERROR_REASON_COMMIT_UNKNOWN, "the connection was lost during the commit");
      break;
    case SqlFailure::kUnavailable:
      outcome.kind = AppendOutcome::Kind::kUnavailable;
      break;
    case SqlFailure::kDuplicate:
      outcome.kind = AppendOutcome::Kind::kDuplicate;
      break;
    case SqlFailure::kDiverged:
      outcome.kind = AppendOutcome::Kind::kDiverged;
      break;
    case SqlFailure::kBadData:
      outcome.kind = AppendOutcome::Kind::kBadData;
      outcome.status = MakeError(docket::v1::ERROR_REASON_INVALID_EVENT, "the database refuses the event");
      break;
  }
  return outcome;
}

pqxx::result ExecAppend(pqxx::nontransaction& transaction, const AppendBatch& batch) {
  const auto& events = batch.events;
  std::string payloads;
  for (const NewEvent& event : events) payloads += event.payload;
  const std::string tail_id = batch.tail_id.ToString();
  return transaction.exec_prepared("append", batch.shard.value, batch.epoch, batch.tail.value,
                                   batch.tail_id == EventId{} ? nullptr : tail_id.c_str(),
                                   NumberArray(events, [](const NewEvent& e) { return e.session_pk.value; }),
                                   NumberArray(events, [](const NewEvent& e) { return e.seq.value; }),
                                   NumberArray(events, [](const NewEvent& e) { return e.id.ToString(); }),
                                   NumberArray(events, [](const NewEvent& e) { return e.type; }),
                                   NumberArray(events, [](const NewEvent& e) { return e.payload.size(); }),
                                   pqxx::binarystring(payloads),
                                   NumberArray(batch.new_sessions, [](const NewSession& s) { return s.ordinal; }),
                                   TextArray(batch.new_sessions, [](const NewSession& s) { return s.tenant_id; }),
                                   TextArray(batch.new_sessions, [](const NewSession& s) { return s.session_id; }));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresEventStore>> PostgresEventStore::Create(const std::string& connection_string,
                                                                               const Options& options) {
  DOCKET_RETURN_IF_ERROR(CheckSchema(connection_string));
  return std::make_unique<PostgresEventStore>(connection_string, options);
}

PostgresEventStore::PostgresEventStore(const std::string& connection_string, const Options& options)
    : writers_(connection_string, {options.writers, options.connection_wait, kWriterSettings, PrepareWrites}),
      readers_(connection_string, {options.readers, options.connection_wait, kReaderSettings, PrepareReads}) {}

absl::Status PostgresEventStore::Run(PostgresPool& pool, Statement statement) {
  for (bool again = true;; again = false) {
    DOCKET_ASSIGN_OR_RETURN(PostgresPool::Lease lease, pool.Acquire());
    try {
      pqxx::nontransaction transaction(lease->get());
      statement(transaction);
      // Such as that a commit is not on the standby: what was written is here, but a failover can lose it.
      if (lease->TakeWarned() && &pool == &writers_) return ToStatus({SqlFailure::kUnavailable, "01000"});
      return absl::OkStatus();
    } catch (const std::exception&) {
      const SqlError error = CurrentSqlError();
      if (error.failure == SqlFailure::kLost) lease.Discard();
      if (error.failure == SqlFailure::kLost && again) continue;
      LogWarning("a statement failed, SQLSTATE ", error.sqlstate.empty() ? "none" : error.sqlstate);
      return ToStatus(error);
    }
  }
}

absl::StatusOr<LogInfo> PostgresEventStore::ReadLogInfo() {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) { rows = t.exec_prepared("read_log_info"); }));
  if (rows.empty()) return absl::FailedPreconditionError("the database has no log yet: migrate it");
  return LogInfo{rows[0][0].as<int32_t>(), absl::FromUnixMicros(rows[0][1].as<int64_t>())};
}

absl::StatusOr<ShardHead> PostgresEventStore::ReadHead(ShardId shard) {
  DOCKET_ASSIGN_OR_RETURN(const auto heads, ReadHeads({shard}));
  if (heads.empty()) return absl::InternalError(absl::StrCat("the log has no shard ", shard.value));
  return heads[0].second;
}

absl::StatusOr<std::vector<std::pair<ShardId, ShardHead>>> PostgresEventStore::ReadHeads(
    const std::vector<ShardId>& shards) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("read_heads", NumberArray(shards, [](ShardId shard) { return shard.value; }));
  }));
  std::vector<std::pair<ShardId, ShardHead>> heads;
  for (const auto& row : rows) {
    ShardHead head;
    head.epoch = row[0].as<int32_t>();
    head.floor = Position{row[1].as<int64_t>()};
    head.summary_position = Position{row[3].as<int64_t>()};
    head.tail = head.floor;
    if (!row[2].is_null()) head.tail_at = absl::FromUnixMicros(row[2].as<int64_t>());
    if (!row[4].is_null()) {
      const Position newest{row[4].as<int64_t>()};
      if (newest >= head.floor) head.tail_id = ReadEventId(row[5]);
      head.tail = std::max(head.tail, newest);
      head.tail_at = std::max(head.tail_at, absl::FromUnixMicros(row[6].as<int64_t>()));
    }
    heads.emplace_back(ShardId{row[7].as<int32_t>()}, head);
  }
  return heads;
}

AppendOutcome PostgresEventStore::Append(const AppendBatch& batch) {
  auto lease = writers_.Acquire();
  if (!lease.ok()) {
    AppendOutcome outcome;
    outcome.status = lease.status();
    return outcome;
  }
  try {
    (*lease)->TakeWarned();
    AppendOutcome outcome;
    {
      pqxx::nontransaction transaction((*lease)->get());
      outcome = ReadOutcome(ExecAppend(transaction, batch));
    }
    // Such as that the commit was cancelled while it waited for a standby: it is here, but a failover can lose it.
    if ((*lease)->TakeWarned() && outcome.kind == AppendOutcome::Kind::kAppended)
      return FailedOutcome({SqlFailure::kLost, ""});
    return outcome;
  } catch (const std::exception&) {
    const SqlError error = CurrentSqlError();
    if (error.failure == SqlFailure::kLost) lease->Discard();
    if (error.failure == SqlFailure::kLost || error.failure == SqlFailure::kUnavailable)
      LogWarning("an append failed, SQLSTATE ", error.sqlstate.empty() ? "none" : error.sqlstate);
    return FailedOutcome(error);
  }
}

absl::StatusOr<EventPage> PostgresEventStore::ReadShard(ShardId shard, const ShardRange& range) {
  const int64_t limit = std::max(range.limit, 1);
  const int64_t bytes = static_cast<int64_t>(range.max_bytes);
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = range.session.has_value() ? t.exec_prepared("read_shard_session", shard.value, range.after.value, limit,
                                                       bytes, range.session->value)
                                     : t.exec_prepared("read_shard", shard.value, range.after.value, limit, bytes);
  }));
  if (rows[0][1].is_null()) return absl::InternalError(absl::StrCat("the log has no shard ", shard.value));
  EventPage page;
  page.events = ReadEvents(rows, 1);
  page.reached_tail = rows[0][2].as<size_t>() == page.events.size();
  page.through =
      page.reached_tail ? std::max(range.after, Position{rows[0][1].as<int64_t>()}) : page.events.back().position;
  return page;
}

absl::StatusOr<TouchedPage> PostgresEventStore::ReadTouched(ShardId shard, Position after, int limit) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("read_touched", shard.value, after.value, limit);
  }));
  TouchedPage page{.through = after, .reached_tail = true};
  for (const auto& row : rows) {
    page.sessions.push_back({SessionPk{row[0].as<int64_t>()}, Seq{row[1].as<int64_t>()}});
    page.through = Position{row[2].as<int64_t>()};
    page.reached_tail = row[3].as<int64_t>() < limit;
  }
  return page;
}

absl::StatusOr<std::vector<StoredEvent>> PostgresEventStore::ReadSession(ShardId shard, SessionPk pk,
                                                                         const SessionRange& range) {
  const int64_t from = range.backward && range.from.value == 0 ? std::numeric_limits<int64_t>::max() : range.from.value;
  const int64_t limit = std::max(range.limit, 1);
  const int64_t bytes = static_cast<int64_t>(range.max_bytes);
  const int types = range.types.empty() ? 0 : std::all_of(range.types.begin(), range.types.end(), IsPlanType) ? 2 : 1;
  const std::string name = ReadSessionName(range.backward, types);
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = types == 0 ? t.exec_prepared(name, shard.value, pk.value, from, limit, bytes)
                      : t.exec_prepared(name, shard.value, pk.value, from, limit, bytes,
                                        NumberArray(range.types, [](int32_t type) { return type; }));
  }));
  return ReadEvents(rows);
}

absl::StatusOr<std::vector<StoredEvent>> PostgresEventStore::ReadSeqs(ShardId shard, SessionPk pk,
                                                                      const std::vector<Seq>& seqs) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("read_seqs", shard.value, pk.value, NumberArray(seqs, [](Seq seq) { return seq.value; }));
  }));
  return ReadEvents(rows);
}

absl::StatusOr<std::vector<StoredEvent>> PostgresEventStore::FindEvents(ShardId shard, SessionPk pk,
                                                                        const std::vector<EventId>& ids) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("find_events", shard.value, pk.value,
                           NumberArray(ids, [](const EventId& id) { return id.ToString(); }));
  }));
  return ReadEvents(rows);
}

absl::StatusOr<std::optional<SessionRow>> PostgresEventStore::FindSession(ShardId shard, absl::string_view tenant_id,
                                                                          absl::string_view session_id) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("find_session", shard.value, std::string(tenant_id), std::string(session_id));
  }));
  if (rows.empty()) return std::nullopt;
  return ReadSessions(rows).front();
}

absl::StatusOr<std::vector<SessionRow>> PostgresEventStore::FindSessions(ShardId shard,
                                                                         const std::vector<SessionPk>& pks) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("find_sessions", shard.value, NumberArray(pks, [](SessionPk pk) { return pk.value; }));
  }));
  return ReadSessions(rows);
}

absl::StatusOr<std::vector<SessionRow>> PostgresEventStore::ListSessions(ShardId shard, absl::string_view tenant_id,
                                                                         const SessionFilter& filter) {
  const auto [after_time, after_pk] =
      filter.after.value_or(std::pair(absl::InfiniteFuture(), SessionPk{std::numeric_limits<int64_t>::max()}));
  const std::string since = TimeText(filter.active_since.value_or(absl::InfinitePast())), until = TimeText(after_time);
  const int64_t after = after_pk.value, limit = std::max(filter.limit, 1);
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(readers_, [&](pqxx::nontransaction& t) {
    rows = t.exec_prepared("list_sessions", shard.value, std::string(tenant_id), LabelsJson(filter.labels),
                           NumberArray(filter.states, [](v1::SessionState s) { return static_cast<int>(s); }), since,
                           until, after, limit);
  }));
  return ReadSessions(rows);
}

absl::Status PostgresEventStore::FlushSummaries(ShardId shard, const std::vector<SessionRow>& rows,
                                                Position complete_through) {
  struct Parsed {
    const SessionRow* row;
    v1::SessionSummary summary;
  };
  std::vector<Parsed> parsed;
  std::string states;
  for (const SessionRow& row : rows) {
    parsed.push_back({&row, {}});
    if (!parsed.back().summary.ParseFromString(row.state))
      return absl::InternalError(absl::StrCat("the state of session ", row.pk.value, " is no summary"));
  }
  // One order for all who flush, so that they wait for each other and never in a circle.
  std::sort(parsed.begin(), parsed.end(), [](const Parsed& a, const Parsed& b) { return a.row->pk < b.row->pk; });
  for (const Parsed& p : parsed) states += p.row->state;
  const auto time = [](bool has, const google::protobuf::Timestamp& t) {
    return has ? absl::StrCat("\"", TimeText(FromProto(t)), "\"") : std::string("NULL");
  };
  return Run(writers_, [&](pqxx::nontransaction& t) {
    t.exec_prepared(
        "flush_summaries", shard.value, NumberArray(parsed, [](const Parsed& p) { return p.row->pk.value; }),
        NumberArray(parsed, [](const Parsed& p) { return p.row->checkpoint_seq.value; }),
        NumberArray(parsed, [](const Parsed& p) { return p.row->state.size(); }), pqxx::binarystring(states),
        TextArray(parsed, [](const Parsed& p) { return Storable(p.summary.title()); }),
        TextArray(parsed, [](const Parsed& p) { return LabelsJson(p.summary.labels()); }),
        NumberArray(parsed, [](const Parsed& p) { return static_cast<int>(p.summary.state()); }),
        NumberArray(parsed, [&](const Parsed& p) { return time(p.summary.has_opened_at(), p.summary.opened_at()); }),
        NumberArray(parsed,
                    [&](const Parsed& p) { return time(p.summary.has_last_activity(), p.summary.last_activity()); }),
        complete_through.value);
  });
}

absl::StatusOr<int32_t> PostgresEventStore::RaiseEpoch(ShardId shard, int32_t from) {
  pqxx::result rows;
  DOCKET_RETURN_IF_ERROR(Run(writers_, [&](pqxx::nontransaction& t) {
    t.exec_prepared("raise_epoch", shard.value, from);
    rows = t.exec_prepared("read_epoch", shard.value);
  }));
  if (rows.empty()) return absl::InternalError(absl::StrCat("the log has no shard ", shard.value));
  return rows[0][0].as<int32_t>();
}

}  // namespace docket::log
