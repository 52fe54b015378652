#ifndef DOCKET_TESTS_TESTING_TEMP_POSTGRES_H_
#define DOCKET_TESTS_TESTING_TEMP_POSTGRES_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/testing/process.h"

namespace docket::testing {

// A Postgres server of the test's own, with an empty database. It listens on a Unix socket in its folder alone, and
// ends with the test. Runs as user `postgres` when the test runs as root, which Postgres refuses. Not thread-safe, but
// for connection_string().
class TempPostgres {
 public:
  // Creates and starts one.
  static absl::StatusOr<std::unique_ptr<TempPostgres>> Create();
  ~TempPostgres();
  TempPostgres(const TempPostgres&) = delete;
  TempPostgres& operator=(const TempPostgres&) = delete;

  // How libpq connects to it; stays the same over Kill() and Start().
  const std::string& connection_string() const { return connection_string_; }
  // kill -9 to the server and all its processes, and waits until they are gone.
  void Kill();
  // Starts it again and waits until it takes connections.
  absl::Status Start();

 private:
  explicit TempPostgres(std::string folder);

  const std::string folder_;
  const std::string connection_string_;
  std::optional<Process> server_;
};

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_TEMP_POSTGRES_H_
