#include "services/log/store/sql_errors.h"

#include <pqxx/pqxx>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/errors.h"

namespace docket::log {
namespace {

struct Rule {
  absl::string_view prefix;
  SqlFailure failure;
};

// The first rule whose prefix fits holds.
constexpr Rule kRules[] = {
    {"DK001", SqlFailure::kDiverged},     // raised by append_events_v1
    {"23505", SqlFailure::kDuplicate},    // unique_violation
    {"40003", SqlFailure::kLost},         // statement_completion_unknown
    {"57P01", SqlFailure::kLost},         // admin_shutdown
    {"57P02", SqlFailure::kLost},         // crash_shutdown
    {"57P05", SqlFailure::kLost},         // idle_session_timeout
    {"57P03", SqlFailure::kUnavailable},  // cannot_connect_now
    {"08", SqlFailure::kLost},            // connection exceptions
    {"22", SqlFailure::kBadData},         // data exceptions
    {"23", SqlFailure::kBadData},         // other integrity violations
    {"54", SqlFailure::kBadData},         // program limits
};

}  // namespace

SqlFailure ClassifySqlState(absl::string_view sqlstate) {
  if (sqlstate.empty()) return SqlFailure::kLost;
  for (const Rule& rule : kRules) {
    if (absl::StartsWith(sqlstate, rule.prefix)) return rule.failure;
  }
  return SqlFailure::kUnavailable;
}

SqlError CurrentSqlError() {
  try {
    throw;
  } catch (const pqxx::sql_error& e) {
    return {ClassifySqlState(e.sqlstate()), e.sqlstate()};
  } catch (const pqxx::serialization_failure&) {
    return {SqlFailure::kUnavailable, "40001"};
  } catch (const pqxx::deadlock_detected&) {
    return {SqlFailure::kUnavailable, "40P01"};
  } catch (const pqxx::too_many_connections&) {
    return {SqlFailure::kUnavailable, "53300"};
  } catch (const std::exception&) {
    return {SqlFailure::kLost, ""};
  }
}

absl::Status ToStatus(const SqlError& error) {
  const std::string code = error.sqlstate.empty() ? "no connection" : absl::StrCat("SQLSTATE ", error.sqlstate);
  switch (error.failure) {
    case SqlFailure::kLost:
    case SqlFailure::kUnavailable:
      return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_STORE_UNAVAILABLE,
                                      absl::StrCat("the database is not available (", code, ")")),
                            kRetryAfter);
    case SqlFailure::kDuplicate:
    case SqlFailure::kDiverged:
    case SqlFailure::kBadData:
      break;
  }
  return absl::InternalError(absl::StrCat("the database refuses the statement (", code, ")"));
}

}  // namespace docket::log
