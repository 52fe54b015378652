#ifndef DOCKET_SERVICES_EDGE_SERVER_H_
#define DOCKET_SERVICES_EDGE_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"

namespace docket {

// Requests are at most 4 MiB. Up to twice that is read, to be refused with a reason; more is refused by gRPC without
// one.
inline constexpr int kMaxReceiveBytes = 8 * 1024 * 1024;

struct ServerOptions {
  // "127.0.0.1:7100", "localhost:7100" or "[::1]:7100"; port 0 takes a free one.
  std::string listen;
  // The peer is not authenticated and nothing is encrypted: only a loopback address may be served that way.
  bool insecure_loopback = false;
  // Where to write the port, once calls are taken; empty: nowhere.
  std::string port_file;
};

// A gRPC server with health and reflection.
//
// From Start() on it takes calls and is SERVING. Everything the services use must outlive it, since the destructor
// waits for calls. Thread-safe, but for WaitForSignal() and Drain(), which are main's.
class EdgeServer {
 public:
  // Blocks SIGTERM and SIGINT for this thread and those it starts. Call first in main.
  static void BlockSignals();

  // Starts a server and prints "listening on 127.0.0.1:PORT" on standard output. Errors: INVALID_ARGUMENT for an
  // address that may not be served, UNAVAILABLE if it cannot be listened on or the port file cannot be written.
  static absl::StatusOr<std::unique_ptr<EdgeServer>> Start(ServerOptions options, std::vector<grpc::Service*> services);

  // Cancels the calls that are still running.
  ~EdgeServer();
  EdgeServer(const EdgeServer&) = delete;
  EdgeServer& operator=(const EdgeServer&) = delete;

  int port() const { return port_; }

  // What the health service says of a service, such as "docket.todo.v1.TodoService". Ignored after Drain().
  void SetServing(const std::string& service, bool serving);

  // Waits for SIGTERM or SIGINT, which must be blocked in every thread.
  void WaitForSignal();

  // Says NOT_SERVING, calls `end_streams`, takes no more calls and gives those that run until `patience` from then; the
  // rest are cancelled. The second call does nothing.
  void Drain(std::function<void()> end_streams, absl::Duration patience);

 private:
  EdgeServer(std::unique_ptr<grpc::Server> server, int port);

  const std::unique_ptr<grpc::Server> server_;
  const int port_;
  bool drained_ = false;
};

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_SERVER_H_
