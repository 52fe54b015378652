// docket-log: `docket-log migrate` prepares the database, `docket-log serve` serves it. The database is named by
// DOCKET_DATABASE_URL alone, since a command line is seen by everybody.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/edge/program.h"
#include "services/edge/server.h"
#include "services/edge/stream_set.h"
#include "services/edge/worker_pool.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/shard_set.h"
#include "services/log/rpc/log_service.h"
#include "services/log/store/migrate.h"
#include "services/log/store/postgres_event_store.h"
#include "services/log/store/tail_follower.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:7401", "where to listen; port 0 takes a free one");
ABSL_FLAG(bool, insecure_loopback, false, "serve a loopback address without TLS and authentication");
ABSL_FLAG(std::string, port_file, "", "write the port to this file");
ABSL_FLAG(int, shards, 64, "migrate: how many shards a new log gets");
ABSL_FLAG(int, readers, 4, "serve: connections to the database for reads");
ABSL_FLAG(int, writers, 4, "serve: connections to the database for appends");
ABSL_FLAG(absl::Duration, startup_timeout, absl::Seconds(30), "serve: how long to wait for the database");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(10), "serve: how long calls may go on after SIGTERM");

namespace {

int Fail(const absl::Status& status) {
  docket::LogError(status.message());
  return 1;
}

int Serve(const std::string& database) {
  using docket::log::PostgresEventStore;
  const absl::Time give_up_at = absl::Now() + absl::GetFlag(FLAGS_startup_timeout);
  const PostgresEventStore::Options options = {.writers = absl::GetFlag(FLAGS_writers),
                                               .readers = absl::GetFlag(FLAGS_readers)};
  auto store = PostgresEventStore::Create(database, options);
  while (!store.ok() && absl::IsUnavailable(store.status()) && absl::Now() < give_up_at) {
    absl::SleepFor(absl::Milliseconds(200));
    store = PostgresEventStore::Create(database, options);
  }
  if (!store.ok()) return Fail(store.status());
  const auto info = (*store)->ReadLogInfo();
  if (!info.ok()) return Fail(info.status());
  // Each is used by those below it; they end in reverse.
  docket::log::FeedSet feeds(**store, {});
  docket::log::TailFollower follower(database, feeds, {});
  docket::log::ShardSet shards(**store, feeds, info->shard_count,
                               {.committed = [&follower](docket::log::ShardId shard) { follower.Committed(shard); }});
  docket::WorkerPool pool(8, 4096);
  docket::WorkerPool stream_pool(4, 65536);
  docket::StreamSet streams;
  docket::log::LogService service(**store, shards, feeds, pool, stream_pool, streams);
  auto server = docket::EdgeServer::Start({.listen = absl::GetFlag(FLAGS_listen),
                                           .insecure_loopback = absl::GetFlag(FLAGS_insecure_loopback),
                                           .port_file = absl::GetFlag(FLAGS_port_file)},
                                          {&service});
  if (!server.ok()) return Fail(server.status());
  (*server)->WaitForSignal();
  docket::LogInfo("draining");
  (*server)->Drain(
      [&] {
        streams.EndAll();
        shards.Drain();
      },
      absl::GetFlag(FLAGS_drain_timeout));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  docket::EdgeServer::BlockSignals();
  docket::StartLogging("docket-log", docket::LogLevel::kInfo);
  const std::vector<std::string> arguments = docket::ParseFlags(
      "docket-log migrate|serve [flags]\nThe database: DOCKET_DATABASE_URL, a libpq connection string.", argc, argv);
  const std::string command = arguments.size() == 1 ? arguments[0] : "";
  if (command != "migrate" && command != "serve") {
    std::cerr << "usage: docket-log migrate|serve [flags]" << std::endl;
    return 2;
  }
  const char* database = std::getenv("DOCKET_DATABASE_URL");
  if (database == nullptr)
    return Fail(absl::InvalidArgumentError("DOCKET_DATABASE_URL is not set: a libpq connection string"));
  if (command == "serve") return Serve(database);
  const absl::Status migrated = docket::log::Migrate(database, absl::GetFlag(FLAGS_shards));
  return migrated.ok() ? 0 : Fail(migrated);
}
