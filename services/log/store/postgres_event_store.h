#ifndef DOCKET_SERVICES_LOG_STORE_POSTGRES_EVENT_STORE_H_
#define DOCKET_SERVICES_LOG_STORE_POSTGRES_EVENT_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "services/log/core/event_store.h"
#include "services/log/store/postgres_pool.h"

namespace docket::log {

// The log in Postgres.
//
// Connects when it is first needed, and again when a connection broke. Appends and summaries have connections of their
// own, so that reads never hold them up. A read runs again, once, when its connection turns out to be broken; an append
// never does: it is in doubt. Thread-safe.
class PostgresEventStore : public EventStore {
 public:
  struct Options {
    int writers = 4;
    int readers = 4;
    absl::Duration connection_wait = absl::Seconds(5);
  };

  // One whose database can be reached and has this program's schema. Fails as CheckSchema().
  static absl::StatusOr<std::unique_ptr<PostgresEventStore>> Create(const std::string& connection_string,
                                                                    const Options& options);
  // Does not connect yet.
  PostgresEventStore(const std::string& connection_string, const Options& options);

  absl::StatusOr<LogInfo> ReadLogInfo() override;
  absl::StatusOr<ShardHead> ReadHead(ShardId shard) override;
  absl::StatusOr<std::vector<std::pair<ShardId, ShardHead>>> ReadHeads(const std::vector<ShardId>& shards) override;
  AppendOutcome Append(const AppendBatch& batch) override;
  absl::StatusOr<EventPage> ReadShard(ShardId shard, const ShardRange& range) override;
  absl::StatusOr<TouchedPage> ReadTouched(ShardId shard, Position after, int limit) override;
  absl::StatusOr<std::vector<StoredEvent>> ReadSession(ShardId shard, SessionPk pk, const SessionRange& range) override;
  absl::StatusOr<std::vector<StoredEvent>> ReadSeqs(ShardId shard, SessionPk pk, const std::vector<Seq>& seqs) override;
  absl::StatusOr<std::vector<StoredEvent>> FindEvents(ShardId shard, SessionPk pk,
                                                      const std::vector<EventId>& ids) override;
  absl::StatusOr<std::optional<SessionRow>> FindSession(ShardId shard, absl::string_view tenant_id,
                                                        absl::string_view session_id) override;
  absl::StatusOr<std::vector<SessionRow>> FindSessions(ShardId shard, const std::vector<SessionPk>& pks) override;
  absl::StatusOr<std::vector<SessionRow>> ListSessions(ShardId shard, absl::string_view tenant_id,
                                                       const SessionFilter& filter) override;
  absl::Status FlushSummaries(ShardId shard, const std::vector<SessionRow>& rows, Position complete_through) override;
  absl::StatusOr<int32_t> RaiseEpoch(ShardId shard, int32_t from) override;

 private:
  using Statement = absl::FunctionRef<void(pqxx::nontransaction&)>;

  // Runs statements that can be run twice.
  absl::Status Run(PostgresPool& pool, Statement statement);

  PostgresPool writers_;
  PostgresPool readers_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_POSTGRES_EVENT_STORE_H_
