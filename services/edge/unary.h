#ifndef DOCKET_SERVICES_EDGE_UNARY_H_
#define DOCKET_SERVICES_EDGE_UNARY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "services/edge/worker_pool.h"

// Unary methods that take raw bytes, so that a malformed request gets a reason like every other refusal: gRPC's own
// parser would answer INTERNAL with none.

namespace docket {

// The bytes of a buffer; empty if it cannot be read.
std::string ToString(const grpc::ByteBuffer& buffer);

grpc::ByteBuffer ToByteBuffer(absl::string_view bytes);
grpc::ByteBuffer ToByteBuffer(const google::protobuf::Message& message);

// ParseRequest() and RefuseUnknownFields() of services/common/proto_check.h.
absl::Status ParseStrictly(const grpc::ByteBuffer& in, google::protobuf::Message& request,
                           absl::string_view except_unknown);

// The answer to one unary call: given at most once, the first one counts. One that nobody gives is INTERNAL, so that no
// call hangs. Thread-safe.
class UnaryAnswer {
 public:
  // `out` must live until the call is finished, as what gRPC hands to a method does.
  UnaryAnswer(grpc::ServerUnaryReactor* reactor, grpc::ByteBuffer* out) : reactor_(reactor), out_(out) {}
  ~UnaryAnswer();
  UnaryAnswer(const UnaryAnswer&) = delete;
  UnaryAnswer& operator=(const UnaryAnswer&) = delete;

  void Give(const google::protobuf::Message& response);
  void Refuse(const absl::Status& status);

 private:
  std::atomic<bool> given_{false};
  grpc::ServerUnaryReactor* const reactor_;
  grpc::ByteBuffer* const out_;
};

// Answers a unary call with what `handler` makes of the request, through `done`, which it may call later and on any
// thread. Parsing and `handler` run on `pool`, which must outlive the server. Messages of type `except_unknown` may
// have unknown fields. Returns the reactor for the method to return.
//
// Errors: INVALID_REQUEST, QUEUE_FULL, and those of `handler`.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* RunUnaryAsync(
    grpc::CallbackServerContext* context, WorkerPool& pool, const grpc::ByteBuffer* in, grpc::ByteBuffer* out,
    std::function<void(Request request, std::function<void(absl::StatusOr<Response>)> done)> handler,
    absl::string_view except_unknown = "") {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  auto answer = std::make_shared<UnaryAnswer>(reactor, out);
  const absl::Status queued =
      pool.Run([answer, in, handler = std::move(handler), except = std::string(except_unknown)]() {
        Request request;
        if (absl::Status parsed = ParseStrictly(*in, request, except); !parsed.ok()) return answer->Refuse(parsed);
        handler(std::move(request), [answer](absl::StatusOr<Response> response) {
          if (response.ok()) {
            answer->Give(*response);
          } else {
            answer->Refuse(response.status());
          }
        });
      });
  if (!queued.ok()) answer->Refuse(queued);
  return reactor;
}

// RunUnaryAsync() with a handler that fills in the response, and may block, before it returns.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context, WorkerPool& pool, const grpc::ByteBuffer* in,
                                   grpc::ByteBuffer* out,
                                   std::function<absl::Status(const Request& request, Response& response)> handler,
                                   absl::string_view except_unknown = "") {
  return RunUnaryAsync<Request, Response>(
      context, pool, in, out,
      [handler = std::move(handler)](const Request& request, std::function<void(absl::StatusOr<Response>)> done) {
        Response response;
        absl::Status status = handler(request, response);
        if (status.ok()) {
          done(std::move(response));
        } else {
          done(std::move(status));
        }
      },
      except_unknown);
}

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_UNARY_H_
