#include "services/edge/server.h"

#include <arpa/inet.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "grpc/grpc.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"

namespace docket {
namespace {

struct Address {
  // As in a URL: IPv6 in brackets.
  std::string host;
  int port = 0;
};

bool IsLoopback(const std::string& host) {
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "[::1]";
}

absl::StatusOr<Address> ParseAddress(const ServerOptions& options) {
  const absl::string_view listen = options.listen;
  const size_t colon = listen.rfind(':');
  Address address;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(listen.substr(colon + 1), &address.port) ||
      address.port < 0 || address.port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("the listen address \"", listen, "\" is not HOST:PORT with a port up to 65535"));
  }
  address.host = std::string(listen.substr(0, colon));
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (!IsLoopback(address.host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("will not listen on ", listen,
                     ": without encryption only a loopback address is served (127.0.0.1, localhost or [::1])"));
  }
  if (!options.insecure_loopback) {
    return absl::InvalidArgumentError(
        absl::StrCat("will not listen on ", listen, " without encryption unless insecure loopback is asked for"));
  }
  return address;
}

// Readers never see a part of it.
absl::Status WritePortFile(const std::string& path, int port) {
  const std::string part = path + ".part";
  {
    std::ofstream file(part, std::ios::trunc);
    file << port << '\n';
    file.close();
    if (!file) return absl::UnavailableError(absl::StrCat("cannot write the port file ", part));
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot write the port file ", path));
  }
  return absl::OkStatus();
}

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void EdgeServer::BlockSignals() {
  const sigset_t signals = EndSignals();
  CrashUnless(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "cannot block signals");
}

absl::StatusOr<std::unique_ptr<EdgeServer>> EdgeServer::Start(ServerOptions options,
                                                              std::vector<grpc::Service*> services) {
  DOCKET_ASSIGN_OR_RETURN(const Address address, ParseAddress(options));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(absl::StrCat(address.host, ":", address.port), grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  // Two servers on one port would each get some of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  std::unique_ptr<grpc::Server> grpc_server = builder.BuildAndStart();
  if (grpc_server == nullptr || port <= 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen));
  }
  std::unique_ptr<EdgeServer> server(new EdgeServer(std::move(grpc_server), port));
  if (!options.port_file.empty()) DOCKET_RETURN_IF_ERROR(WritePortFile(options.port_file, port));
  std::printf("listening on %s:%d\n", address.host.c_str(), port);
  std::fflush(stdout);
  return server;
}

EdgeServer::EdgeServer(std::unique_ptr<grpc::Server> server, int port) : server_(std::move(server)), port_(port) {}

EdgeServer::~EdgeServer() {
  Drain([] {}, absl::ZeroDuration());
}

void EdgeServer::SetServing(const std::string& service, bool serving) {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(service, serving);
}

void EdgeServer::WaitForSignal() {
  const sigset_t signals = EndSignals();
  int signal = 0;
  CrashUnless(sigwait(&signals, &signal) == 0, "cannot wait for signals");
  LogInfo("stopping on signal ", signal);
}

void EdgeServer::Drain(std::function<void()> end_streams, absl::Duration patience) {
  if (std::exchange(drained_, true)) return;
  if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
  end_streams();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + patience));
  server_->Wait();
}

}  // namespace docket
