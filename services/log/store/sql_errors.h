#ifndef DOCKET_SERVICES_LOG_STORE_SQL_ERRORS_H_
#define DOCKET_SERVICES_LOG_STORE_SQL_ERRORS_H_

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// What errors of the database mean for a statement.

namespace docket::log {

// What callers are told to wait while the database is away: a restart or failover takes longer, a lost connection less.
inline constexpr absl::Duration kRetryAfter = absl::Milliseconds(500);

enum class SqlFailure {
  kLost,         // the connection is gone, or going: the statement was carried out or not
  kUnavailable,  // not carried out; may work later: no resources, no lock in time, cancelled, a standby, no such table
  kDuplicate,    // not carried out: a key is there already
  kDiverged,     // not carried out: the append function does not know the caller's tail
  kBadData,      // not carried out: the database refuses the values
};

// The meaning of a SQLSTATE; "": the connection broke before there was one.
SqlFailure ClassifySqlState(absl::string_view sqlstate);

// A failure without the database's own words, which can hold what tenants wrote.
struct SqlError {
  SqlFailure failure = SqlFailure::kLost;
  std::string sqlstate;  // empty: there was none
};

// What an exception of libpqxx means. Call it inside a catch block.
SqlError CurrentSqlError();

// STORE_UNAVAILABLE for a read or write that failed, or INTERNAL where a retry cannot help.
absl::Status ToStatus(const SqlError& error);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_SQL_ERRORS_H_
