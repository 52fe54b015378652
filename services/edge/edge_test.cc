#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/edge/grpc_status.h"
#include "services/edge/server.h"
#include "services/edge/unary.h"
#include "services/edge/worker_pool.h"

namespace docket {
namespace {

using testing::HasSubstr;
using todo::v1::GetPlanRequest;
using todo::v1::GetPlanResponse;
using todo::v1::TodoService;

TEST(GrpcStatusTest, EveryReasonSurvivesTheWire) {
  const auto* reasons = v1::ErrorReason_descriptor();
  for (int i = 1; i < reasons->value_count(); ++i) {
    const auto reason = static_cast<v1::ErrorReason>(reasons->value(i)->number());
    absl::Status status = FieldError(reason, "items[2]", "is wrong", {{"allowed", "yes"}});
    status = WithRetryAfter(WithPreconditionViolation(status, "SEQ", "s", "is 4"), absl::Milliseconds(1500));
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
    EXPECT_EQ(FromRpcStatus(ToRpcStatus(status)), status);
    EXPECT_EQ(ReasonOf(FromGrpc(ToGrpc(status))), reason);
    EXPECT_EQ(static_cast<int>(ToGrpc(status).error_code()), static_cast<int>(CodeOf(reason)));
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(GrpcStatusTest, ErrorInfoComesFirstAndOthersPayloadsStayInside) {
  absl::Status status = FieldError(v1::ERROR_REASON_INVALID_TODO, "a", "b");
  status.SetPayload("type.googleapis.com/other.Secret", absl::Cord("x"));
  const google::rpc::Status rpc = ToRpcStatus(status);
  ASSERT_EQ(rpc.details_size(), 2);
  EXPECT_EQ(rpc.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(rpc.details(1).type_url(), "type.googleapis.com/google.rpc.BadRequest");
}

TEST(GrpcStatusTest, CutsMessagesBetweenCharacters) {
  for (const std::string character : {"a", "é", "€", "😀"}) {
    for (size_t before = 0; before < 4; ++before) {
      std::string text(before, 'x');
      while (text.size() < 2000) text += character;
      const std::string message = ToGrpc(absl::InternalError(text)).error_message();
      EXPECT_LE(message.size(), kMaxStatusMessage);
      EXPECT_GT(message.size() + character.size(), kMaxStatusMessage);
      EXPECT_TRUE(IsValidUtf8(message));
      EXPECT_EQ(text.compare(0, message.size(), message), 0);
    }
  }
  const std::string exact(kMaxStatusMessage, 'x');
  EXPECT_EQ(ToRpcStatus(absl::InternalError(exact)).message(), exact);
  EXPECT_EQ(ToRpcStatus(absl::InternalError("a\xff"
                                            "b"))
                .message(),
            "a?b");
  EXPECT_TRUE(IsValidUtf8(ToRpcStatus(absl::InternalError(std::string(3000, '\x80'))).message()));
}

TEST(GrpcStatusTest, KeepsTheReasonWhenDetailsAreTooLarge) {
  absl::Status status = WithRetryAfter(MakeError(v1::ERROR_REASON_REVISION_CONFLICT, "m"), absl::Seconds(1));
  for (int i = 0; i < 100; ++i) {
    status = WithPreconditionViolation(status, "SEQ", absl::StrCat(i), std::string(100, 'd'));
  }
  EXPECT_LE(ToGrpc(status).error_details().size(), kMaxStatusDetails);
  EXPECT_EQ(ReasonOf(FromGrpc(ToGrpc(status))), v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(RetryAfterOf(FromGrpc(ToGrpc(status))), absl::Seconds(1));
  status = WithMetadata(status, "long", std::string(9000, 'm'));
  EXPECT_LE(ToGrpc(status).error_details().size(), kMaxStatusDetails);
  EXPECT_EQ(ReasonOf(FromGrpc(ToGrpc(status))), v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(RetryAfterOf(FromGrpc(ToGrpc(status))), absl::Seconds(1));
}

TEST(GrpcStatusTest, TakesStrangeStatuses) {
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "m", "\xff not a status")),
            absl::UnavailableError("m"));
  const auto details = ToGrpc(MakeError(v1::ERROR_REASON_QUEUE_FULL, "m")).error_details();
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "m", details)), absl::UnavailableError("m"));
  google::rpc::Status unknown;
  unknown.set_code(99);
  EXPECT_EQ(FromRpcStatus(unknown).code(), absl::StatusCode::kUnknown);
}

TEST(WorkerPoolTest, RefusesWhenFullAndFinishesWhatIsQueued) {
  std::promise<void> started;
  std::promise<void> release;
  int ran = 0;
  {
    WorkerPool pool(1, 2);
    ASSERT_TRUE(pool.Run([&] {
                      started.set_value();
                      release.get_future().wait();
                    })
                    .ok());
    started.get_future().wait();
    EXPECT_TRUE(pool.Run([&] { ++ran; }).ok());
    EXPECT_TRUE(pool.Run([&] { ++ran; }).ok());
    const absl::Status full = pool.Run([&] { ran += 100; });
    EXPECT_EQ(ReasonOf(full), v1::ERROR_REASON_QUEUE_FULL);
    EXPECT_TRUE(RetryAfterOf(full).has_value());
    release.set_value();
  }
  EXPECT_EQ(ran, 2);
}

TEST(EdgeServerTest, RefusesAddressesItMayNotServe) {
  for (const char* listen : {"0.0.0.0:0", "10.0.0.1:7100", "[::]:0", "example.com:1", "127.0.0.1.example.com:1"}) {
    const auto server = EdgeServer::Start({.listen = listen, .insecure_loopback = true}, {});
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("only a loopback address")) << listen;
  }
  for (const char* listen :
       {"", "127.0.0.1", ":7100", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1"}) {
    const auto server = EdgeServer::Start({.listen = listen, .insecure_loopback = true}, {});
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("HOST:PORT")) << listen;
  }
  const auto unasked = EdgeServer::Start({.listen = "127.0.0.1:0"}, {});
  EXPECT_EQ(unasked.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unasked.status().message()), HasSubstr("insecure loopback"));
}

// Answers GetPlan in the ways a handler can, by session.
class PlanService : public TodoService::WithRawCallbackMethod_GetPlan<TodoService::Service> {
 public:
  explicit PlanService(WorkerPool& pool) : pool_(pool) {}

  using TodoService::WithRawCallbackMethod_GetPlan<TodoService::Service>::GetPlan;
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                    grpc::ByteBuffer* out) override {
    if (async) {
      return RunUnaryAsync<GetPlanRequest, GetPlanResponse>(
          context, pool_, in, out,
          [](const GetPlanRequest& request, std::function<void(absl::StatusOr<GetPlanResponse>)> done) {
            if (request.session_id() == "forgotten") return;
            done(GetPlanResponse());
            done(absl::InternalError("a second answer"));
          });
    }
    return RunUnary<GetPlanRequest, GetPlanResponse>(
        context, pool_, in, out, [](const GetPlanRequest& request, GetPlanResponse& response) -> absl::Status {
          if (request.session_id() == "none") return MakeError(v1::ERROR_REASON_SESSION_NOT_FOUND, "no such session");
          response.mutable_stale_for()->set_seconds(request.min_revision());
          return absl::OkStatus();
        });
  }

  bool async = false;

 private:
  WorkerPool& pool_;
};

class EdgeCallTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = EdgeServer::Start({.listen = "127.0.0.1:0", .insecure_loopback = true}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials(), arguments));
  }

  absl::StatusOr<std::string> Call(const std::string& method, absl::string_view bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const grpc::ByteBuffer in = ToByteBuffer(bytes);
    grpc::ByteBuffer out;
    std::promise<grpc::Status> finished;
    stub_->UnaryCall(&context, method, {}, &in, &out, [&](grpc::Status status) { finished.set_value(status); });
    if (absl::Status status = FromGrpc(finished.get_future().get()); !status.ok()) return status;
    return ToString(out);
  }

  absl::StatusOr<std::string> GetPlan(absl::string_view bytes) {
    return Call("/docket.todo.v1.TodoService/GetPlan", bytes);
  }

  WorkerPool pool_{2, 16};
  PlanService service_{pool_};
  std::unique_ptr<EdgeServer> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

TEST_F(EdgeCallTest, AnswersAndRefuses) {
  GetPlanRequest request;
  request.set_min_revision(7);
  const auto bytes = GetPlan(request.SerializeAsString());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  GetPlanResponse response;
  ASSERT_TRUE(response.ParseFromString(*bytes));
  EXPECT_EQ(response.stale_for().seconds(), 7);
  request.set_session_id("none");
  EXPECT_EQ(GetPlan(request.SerializeAsString()).status(),
            MakeError(v1::ERROR_REASON_SESSION_NOT_FOUND, "no such session"));
}

TEST_F(EdgeCallTest, GivesReasonsForMalformedRequests) {
  // A length beyond the end; a tenant that is not UTF-8; a field that does not exist.
  const absl::Status cut = GetPlan("\x0a\x7f").status();
  EXPECT_EQ(ReasonOf(cut), v1::ERROR_REASON_INVALID_REQUEST) << cut;
  const absl::Status text = GetPlan("\x0a\x01\xff").status();
  EXPECT_EQ(ReasonOf(text), v1::ERROR_REASON_INVALID_REQUEST) << text;
  EXPECT_EQ(MetadataOf(text)["path"], "tenant_id");
  const absl::Status unknown = GetPlan("\xa0\x06\x01").status();
  EXPECT_EQ(ReasonOf(unknown), v1::ERROR_REASON_INVALID_REQUEST) << unknown;
  EXPECT_EQ(MetadataOf(unknown)["path"], "#100");
  // The server still answers.
  EXPECT_TRUE(GetPlan("").ok());
}

TEST_F(EdgeCallTest, TakesTheFirstAnswerAndMissesNone) {
  service_.async = true;
  EXPECT_TRUE(GetPlan("").ok());
  GetPlanRequest request;
  request.set_session_id("forgotten");
  EXPECT_EQ(GetPlan(request.SerializeAsString()).status().code(), absl::StatusCode::kInternal);
}

TEST_F(EdgeCallTest, RefusesWhenThePoolIsFull) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> started[2];
  for (auto& start : started) {
    ASSERT_TRUE(pool_
                    .Run([&start, released] {
                      start.set_value();
                      released.wait();
                    })
                    .ok());
  }
  // No thread is left to take from the queue.
  for (auto& start : started) start.get_future().wait();
  while (pool_.Run([] {}).ok()) {
  }
  EXPECT_EQ(ReasonOf(GetPlan("").status()), v1::ERROR_REASON_QUEUE_FULL);
  release.set_value();
}

TEST_F(EdgeCallTest, RefusesRequestsThatAreTooLarge) {
  EXPECT_EQ(GetPlan(std::string(static_cast<size_t>(kMaxReceiveBytes) + 1, 'x')).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(EdgeCallTest, SaysHealthAndDrains) {
  const std::string check = "/grpc.health.v1.Health/Check";
  const std::string serving("\x08\x01");
  const std::string not_serving("\x08\x02");
  EXPECT_EQ(Call(check, "").value_or("refused"), serving);
  server_->SetServing("docket.todo.v1.TodoService", true);
  EXPECT_EQ(Call(check,
                 "\x0a\x1a"
                 "docket.todo.v1.TodoService")
                .value_or("refused"),
            serving);
  int ended = 0;
  server_->Drain(
      [&] {
        ++ended;
        EXPECT_EQ(Call(check, "").value_or("refused"), not_serving);
      },
      absl::Seconds(60));
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(GetPlan("").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(EdgeCallTest, WaitsForSignals) {
  EdgeServer::BlockSignals();
  for (const int signal : {SIGTERM, SIGINT}) {
    // For this thread only, and blocked: it stays pending until the wait.
    ASSERT_EQ(raise(signal), 0);
    server_->WaitForSignal();
  }
}

TEST_F(EdgeCallTest, TellsItsPortAndKeepsItToItself) {
  const std::string path = absl::StrCat(testing::TempDir(), "/edge_test_port_", getpid());
  {
    const auto other = EdgeServer::Start({.listen = "localhost:0", .insecure_loopback = true, .port_file = path}, {});
    ASSERT_TRUE(other.ok()) << other.status();
    int port = 0;
    std::ifstream(path) >> port;
    EXPECT_EQ(port, (*other)->port());
    EXPECT_NE(port, server_->port());
  }
  std::remove(path.c_str());
  const auto taken =
      EdgeServer::Start({.listen = absl::StrCat("127.0.0.1:", server_->port()), .insecure_loopback = true}, {});
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace docket
