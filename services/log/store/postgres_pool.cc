#include "services/log/store/postgres_pool.h"

#include <poll.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/errors.h"
#include "services/common/log.h"
#include "services/log/store/sql_errors.h"

namespace docket::log {

std::string WithConnectionLimits(const std::string& connection_string) {
  const bool is_uri =
      absl::StartsWith(connection_string, "postgresql://") || absl::StartsWith(connection_string, "postgres://");
  std::string result = connection_string;
  for (const auto& [name, value] : {std::pair("connect_timeout", "5"), std::pair("tcp_user_timeout", "10000"),
                                    std::pair("application_name", "docket-log")}) {
    if (absl::StrContains(connection_string, name)) continue;
    const char* const separator = !is_uri ? " " : absl::StrContains(result, '?') ? "&" : "?";
    absl::StrAppend(&result, separator, name, "=", value);
  }
  return result;
}

// Notes that the server, asked for nothing below, sent a warning. Its text is in the server's language and may quote
// data.
class PostgresConnection::Warnings : public pqxx::errorhandler {
 public:
  explicit Warnings(pqxx::connection& connection) : pqxx::errorhandler(connection) {}
  bool operator()(const char[]) noexcept override {
    warned = true;
    return false;  // goes no further; by default it would be printed
  }

  bool warned = false;
};

PostgresConnection::PostgresConnection(const std::string& connection_string, const std::string& settings)
    : connection_(connection_string), warnings_(std::make_unique<Warnings>(connection_)) {
  // The library would reconnect in silence, and repeat what was in doubt. It has no other switch for that.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
  pqxx::nontransaction transaction(connection_);
  transaction.exec("set client_encoding = 'UTF8'; set client_min_messages = warning; " + settings);
}

PostgresConnection::~PostgresConnection() = default;

bool PostgresConnection::Stale() const {
  pollfd socket = {.fd = connection_.sock(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return !connection_.is_open() || poll(&socket, 1, 0) != 0;
}

bool PostgresConnection::TakeWarned() {
  return std::exchange(warnings_->warned, false);
}

PostgresPool::PostgresPool(std::string connection_string, Options options)
    : connection_string_(WithConnectionLimits(connection_string)), options_(std::move(options)) {}

PostgresPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  if (discard_) connection_.reset();
  pool_->GiveBack(std::move(connection_));
}

absl::StatusOr<PostgresPool::Lease> PostgresPool::Acquire() {
  std::unique_ptr<PostgresConnection> connection;
  {
    const absl::Time deadline = absl::Now() + options_.wait;
    MutexLock lock(&mutex_);
    while (out_ >= options_.size) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration())
        return WithRetryAfter(
            MakeError(docket::v1::ERROR_REASON_STORE_UNAVAILABLE, "every connection to the database is busy"),
            kRetryAfter);
      freed_.WaitWithTimeout(&mutex_, left);
    }
    ++out_;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  Lease lease(this, std::move(connection));
  if (lease.connection_ != nullptr && !lease->Stale()) return lease;
  lease.Discard();
  try {
    auto opened = std::make_unique<PostgresConnection>(connection_string_, options_.settings);
    if (options_.prepare) options_.prepare(opened->get());
    opened->TakeWarned();
    lease.connection_ = std::move(opened);
    lease.discard_ = false;
    return lease;
  } catch (const std::exception& e) {
    const SqlError error = CurrentSqlError();
    LogWarning("cannot connect to the database: ", e.what());
    return ToStatus({SqlFailure::kUnavailable, error.sqlstate});
  }
}

void PostgresPool::GiveBack(std::unique_ptr<PostgresConnection> connection) {
  MutexLock lock(&mutex_);
  --out_;
  if (connection != nullptr) idle_.push_back(std::move(connection));
  freed_.Signal();
}

}  // namespace docket::log
