// docket-todo: judges writes of todo lists and serves the plans that stand, from the events in docket-log.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/clock.h"
#include "services/common/log.h"
#include "services/edge/channel.h"
#include "services/edge/program.h"
#include "services/edge/server.h"
#include "services/edge/stream_set.h"
#include "services/edge/worker_pool.h"
#include "services/todo/core/plan_cache.h"
#include "services/todo/core/policy_source.h"
#include "services/todo/logclient/grpc_event_log.h"
#include "services/todo/policy_file.h"
#include "services/todo/rpc/todo_service.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:7402", "where to listen; port 0 takes a free one");
ABSL_FLAG(bool, insecure_loopback, false, "serve a loopback address without TLS and authentication");
ABSL_FLAG(std::string, port_file, "", "write the port to this file");
ABSL_FLAG(std::string, log_address, "127.0.0.1:7401", "docket-log, as a gRPC name");
ABSL_FLAG(std::string, policy_file, "", "the TodoPolicyFile, in the protobuf text format; read again when it changes");
ABSL_FLAG(int64_t, cache_bytes, 256 << 20, "about how much memory the held sessions may take");
ABSL_FLAG(absl::Duration, startup_timeout, absl::Seconds(60), "how long to wait for docket-log");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(10), "how long calls may go on after SIGTERM");

namespace {

int Fail(const absl::Status& status) {
  docket::LogError(status.message());
  return 1;
}

int Serve() {
  const std::string policy_path = absl::GetFlag(FLAGS_policy_file);
  if (policy_path.empty()) {
    return Fail(absl::InvalidArgumentError("--policy-file is not set: the file with the rules for todo lists"));
  }
  auto policies_read = docket::todo::ReadPolicyFile(policy_path);
  if (!policies_read.ok()) return Fail(policies_read.status());
  // Each is used by those below it; they end in reverse, the log first of all.
  docket::SystemClock clock;
  docket::todo::PolicySource policies(*std::move(policies_read));
  auto log = docket::todo::GrpcEventLog::Create(docket::MakeChannel(absl::GetFlag(FLAGS_log_address)),
                                                absl::GetFlag(FLAGS_startup_timeout));
  if (!log.ok()) return Fail(log.status());
  docket::todo::PlanCache cache(**log, policies, clock,
                                {.max_bytes = static_cast<size_t>(absl::GetFlag(FLAGS_cache_bytes))});
  docket::todo::PolicyFile policy_file(policy_path, policies, [&cache] { cache.PoliciesChanged(); });
  docket::WorkerPool writes(64, 4096);
  docket::WorkerPool reads(32, 4096);
  docket::WorkerPool stream_pool(16, 65536);
  docket::StreamSet streams;
  docket::todo::TodoService service(**log, cache, policies, clock, {writes, reads, stream_pool}, streams);
  auto server = docket::EdgeServer::Start({.listen = absl::GetFlag(FLAGS_listen),
                                           .insecure_loopback = absl::GetFlag(FLAGS_insecure_loopback),
                                           .port_file = absl::GetFlag(FLAGS_port_file)},
                                          {&service});
  if (!server.ok()) return Fail(server.status());
  (*server)->WaitForSignal();
  docket::LogInfo("draining");
  (*server)->Drain([&] { streams.EndAll(); }, absl::GetFlag(FLAGS_drain_timeout));
  (*log)->Stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  docket::EdgeServer::BlockSignals();
  docket::StartLogging("docket-todo", docket::LogLevel::kInfo);
  if (!docket::ParseFlags("docket-todo [flags]", argc, argv).empty()) {
    std::cerr << "usage: docket-todo [flags]" << std::endl;
    return 2;
  }
  return Serve();
}
