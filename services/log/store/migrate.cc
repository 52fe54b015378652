#include "services/log/store/migrate.h"

#include <pqxx/pqxx>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/log/store/migrations.h"
#include "services/log/store/postgres_pool.h"
#include "services/log/store/sql_errors.h"

namespace docket::log {
namespace {

constexpr int64_t kMigrationLock = 0x646f636b6574;  // "docket"

std::string Checksum(const Migration& migration) {
  return absl::BytesToHexString(Sha256(migration.sql));
}

// The step that the database is at, if its steps are the first ones of this program's.
absl::StatusOr<size_t> AppliedSteps(pqxx::transaction_base& transaction) {
  const std::vector<Migration>& steps = Migrations();
  const pqxx::result rows = transaction.exec("select version, checksum from schema_migration order by version");
  if (rows.size() > steps.size())
    return absl::FailedPreconditionError("the database has a newer schema than this program");
  size_t applied = 0;
  for (const auto& row : rows) {
    const Migration& step = steps[applied];
    if (row[0].as<int>() != step.version || row[1].as<std::string>() != Checksum(step))
      return absl::FailedPreconditionError(absl::StrCat("step ", row[0].as<int>(), " of the database is not step ",
                                                        step.version, " of this program (", step.name, ")"));
    ++applied;
  }
  return applied;
}

absl::Status CreateShards(pqxx::transaction_base& transaction, int shard_count) {
  const pqxx::result info = transaction.exec("select shard_count from log_info");
  if (!info.empty()) {
    const int found = info[0][0].as<int>();
    if (found == shard_count) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the log has ", found, " shards, not ", shard_count, "; the number never changes"));
  }
  transaction.exec_params("insert into log_info(shard_count) values ($1)", shard_count);
  transaction.exec_params("insert into shard(shard_id) select generate_series(0, $1::int - 1)", shard_count);
  return absl::OkStatus();
}

absl::Status MigrateIn(pqxx::transaction_base& transaction, int shard_count) {
  transaction.exec_params("select pg_advisory_xact_lock($1::bigint)", kMigrationLock);
  transaction.exec(
      "create table if not exists schema_migration(version int primary key, name text not null, checksum text not "
      "null, "
      "applied_at timestamptz not null default now())");
  DOCKET_ASSIGN_OR_RETURN(size_t applied, AppliedSteps(transaction));
  for (const std::vector<Migration>& steps = Migrations(); applied < steps.size(); ++applied) {
    const Migration& step = steps[applied];
    transaction.exec(step.sql);
    transaction.exec_params("insert into schema_migration(version, name, checksum) values ($1, $2, $3)", step.version,
                            step.name, Checksum(step));
  }
  return CreateShards(transaction, shard_count);
}

// The status of the exception that is being handled. An operator reads the log, so it has the database's own words.
absl::Status Failed(const std::exception& e) {
  LogError("the database refuses: ", e.what());
  const SqlError error = CurrentSqlError();
  return ToStatus({SqlFailure::kUnavailable, error.sqlstate});
}

}  // namespace

absl::Status Migrate(const std::string& connection_string, int shard_count) {
  if (shard_count < 1) return absl::InvalidArgumentError("a log has at least one shard");
  try {
    PostgresConnection connection(WithConnectionLimits(connection_string), "set lock_timeout = '60s'");
    pqxx::work transaction(connection.get());
    DOCKET_RETURN_IF_ERROR(MigrateIn(transaction, shard_count));
    transaction.commit();
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return Failed(e);
  }
}

absl::Status CheckSchema(const std::string& connection_string) {
  try {
    PostgresConnection connection(WithConnectionLimits(connection_string), "set statement_timeout = '10s'");
    pqxx::nontransaction transaction(connection.get());
    const pqxx::result table = transaction.exec("select to_regclass('schema_migration') is not null");
    if (!table[0][0].as<bool>()) return absl::FailedPreconditionError("the database has no log yet: migrate it");
    DOCKET_ASSIGN_OR_RETURN(const size_t applied, AppliedSteps(transaction));
    if (applied < Migrations().size())
      return absl::FailedPreconditionError("the database has an older schema than this program: migrate it");
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return Failed(e);
  }
}

}  // namespace docket::log
