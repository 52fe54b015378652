#ifndef DOCKET_SERVICES_LOG_STORE_POSTGRES_POOL_H_
#define DOCKET_SERVICES_LOG_STORE_POSTGRES_POOL_H_

#include <functional>
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace docket::log {

// How to connect, with the limits that libpq applies itself added unless `connection_string` names them.
std::string WithConnectionLimits(const std::string& connection_string);

// A connection that is never opened anew behind its owner's back, and that tells whether the server warned.
class PostgresConnection {
 public:
  // Connects, and runs `settings`. Throws what libpqxx throws.
  PostgresConnection(const std::string& connection_string, const std::string& settings);
  ~PostgresConnection();

  pqxx::connection& get() { return connection_; }
  // Whether the server closed it, or said something unasked, which it does before it closes it. Only while it is idle.
  bool Stale() const;
  // Whether a warning came since the last call.
  bool TakeWarned();

 private:
  class Warnings;

  pqxx::connection connection_;
  std::unique_ptr<Warnings> warnings_;
};

// A bounded set of connections to one database, opened when they are needed. Broken ones are replaced. Thread-safe.
class PostgresPool {
 public:
  struct Options {
    int size = 4;
    absl::Duration wait = absl::Seconds(5);  // for a connection to become free
    std::string settings;                    // run on each new connection
    std::function<void(pqxx::connection&)> prepare;
  };

  // A connection that is this holder's alone, given back in the end.
  class Lease {
   public:
    Lease(PostgresPool* pool, std::unique_ptr<PostgresConnection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    PostgresConnection& operator*() { return *connection_; }
    PostgresConnection* operator->() { return connection_.get(); }
    // It is closed instead of given back.
    void Discard() { discard_ = true; }

   private:
    friend class PostgresPool;
    struct NoDelete {
      void operator()(PostgresPool*) const {}
    };
    std::unique_ptr<PostgresPool, NoDelete> pool_;  // null once moved from
    std::unique_ptr<PostgresConnection> connection_;
    bool discard_ = false;
  };

  PostgresPool(std::string connection_string, Options options);

  // STORE_UNAVAILABLE if none becomes free in time or the database cannot be reached.
  absl::StatusOr<Lease> Acquire();

 private:
  void GiveBack(std::unique_ptr<PostgresConnection> connection);

  const std::string connection_string_;
  const Options options_;
  Mutex mutex_;
  CondVar freed_;
  std::vector<std::unique_ptr<PostgresConnection>> idle_ ABSL_GUARDED_BY(mutex_);
  int out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_POSTGRES_POOL_H_
