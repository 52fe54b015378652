// docket-log as a program: what it acknowledged survives kills of it and of the database; what is malformed gets a
// reason.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/edge/grpc_status.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_postgres.h"

namespace docket::testing {
namespace {

namespace wire = docket::log::v1;

wire::AppendRequest Request(const std::string& session) {
  wire::AppendRequest request;
  request.set_tenant_id("tenant");
  request.set_session_id(session);
  return request;
}

wire::SessionEvent& AddEvent(wire::AppendRequest& request, const std::string& agent = "") {
  auto& event = *request.add_events();
  event.set_event_id(EventId::Random().ToString());
  event.set_agent_id(agent);
  return event;
}

wire::AppendRequest Opening(const std::string& session) {
  wire::AppendRequest request = Request(session);
  AddEvent(request).mutable_session_opened()->set_title("a title");
  return request;
}

wire::AppendRequest Saying(const std::string& session, const std::string& text) {
  wire::AppendRequest request = Request(session);
  auto& message = *AddEvent(request, "main").mutable_message();
  message.set_role(wire::MESSAGE_ROLE_USER);
  message.add_parts()->set_text(text);
  return request;
}

class LogServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto postgres = TempPostgres::Create();
    ASSERT_TRUE(postgres.ok()) << postgres.status();
    postgres_ = *std::move(postgres);
    auto migrated = RunProgram({.command = {Program(), "migrate", "--shards=4"}, .env = Env()}, absl::Seconds(60));
    ASSERT_TRUE(migrated.ok()) << migrated.status();
    ASSERT_EQ(migrated->exit_code, 0) << migrated->output;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
    channel_ = grpc::CreateCustomChannel(port_.address(), grpc::InsecureChannelCredentials(), arguments);
    stub_ = wire::LogService::NewStub(channel_);
    StartServer();
  }

  static std::string Program() { return absl::StrCat(DOCKET_BIN_DIR, "/docket-log"); }
  std::map<std::string, std::string> Env() const { return {{"DOCKET_DATABASE_URL", postgres_->connection_string()}}; }

  void StartServer() {
    auto server = Process::Start(
        {.command = {Program(), "serve", "--insecure-loopback", absl::StrCat("--listen=", port_.address())},
         .env = Env(),
         .output_path = folder_.File("docket-log.log")});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::make_unique<Process>(*std::move(server));
  }

  // A call as a patient client makes it: UNAVAILABLE is tried again, with the same request.
  template <typename Call>
  absl::Status Patiently(Call call) {
    const absl::Time deadline = absl::Now() + absl::Seconds(90);
    for (;;) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
      const absl::Status status = FromGrpc(call(context));
      const bool again = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
      if (!again || absl::Now() > deadline) return status;
      absl::SleepFor(absl::Milliseconds(20));  // paces the retries
    }
  }

  absl::Status Append(const wire::AppendRequest& request, wire::AppendResponse* response = nullptr) {
    wire::AppendResponse ignored;
    return Patiently([&](grpc::ClientContext& context) {
      return stub_->Append(&context, request, response != nullptr ? response : &ignored);
    });
  }

  absl::StatusOr<std::vector<wire::RecordedEvent>> Read(const wire::ReadSessionRequest& request) {
    std::vector<wire::RecordedEvent> events;
    const absl::Status status = Patiently([&](grpc::ClientContext& context) {
      events.clear();
      auto reader = stub_->ReadSession(&context, request);
      wire::ReadSessionResponse response;
      while (reader->Read(&response)) events.insert(events.end(), response.events().begin(), response.events().end());
      return reader->Finish();
    });
    if (!status.ok()) return status;
    return events;
  }

  absl::StatusOr<std::vector<wire::RecordedEvent>> ReadAll(const std::string& session) {
    wire::ReadSessionRequest request;
    request.set_tenant_id("tenant");
    request.set_session_id(session);
    return Read(request);
  }

  std::unique_ptr<TempPostgres> postgres_;
  ReservedPort port_;
  TempFolder folder_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::LogService::Stub> stub_;
  std::unique_ptr<Process> server_;
};

TEST_F(LogServerTest, AcknowledgedEventsSurviveKills) {
  constexpr int kWriters = 8, kEach = 60;
  std::atomic<int> done{0};
  ASSERT_TRUE(Append(Opening("s")).ok());
  std::vector<std::vector<int64_t>> seqs(kWriters);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i) {
        wire::AppendResponse response;
        const absl::Status status = Append(Saying("s", absl::StrCat(w, "-", i)), &response);
        EXPECT_TRUE(status.ok()) << status;
        seqs[static_cast<size_t>(w)].push_back(status.ok() ? response.seqs(0) : 0);
        ++done;
      }
    });
  }
  for (int kill = 1; kill <= 4; ++kill) {
    while (done < kill * kWriters * kEach / 5) absl::SleepFor(absl::Milliseconds(1));  // the load is the clock
    if (kill % 2 == 1) {
      server_->Kill();
      StartServer();
    } else {
      postgres_->Kill();
      const absl::Status started = postgres_->Start();
      EXPECT_TRUE(started.ok()) << started;
    }
  }
  for (auto& writer : writers) writer.join();
  const auto events = ReadAll("s");
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 1u + kWriters * kEach) << "everything once";
  for (size_t i = 0; i < events->size(); ++i) EXPECT_EQ((*events)[i].seq(), static_cast<int64_t>(i) + 1);
  for (int w = 0; w < kWriters; ++w) {
    for (int i = 0; i < kEach; ++i) {
      const int64_t seq = seqs[static_cast<size_t>(w)][static_cast<size_t>(i)];
      ASSERT_GT(seq, 0);
      EXPECT_EQ((*events)[static_cast<size_t>(seq) - 1].event().message().parts(0).text(), absl::StrCat(w, "-", i));
    }
  }
}

TEST_F(LogServerTest, ReadsBothWaysAndTellsTheState) {
  ASSERT_TRUE(Append(Opening("s")).ok());
  wire::AppendRequest turn = Request("s");
  auto& started = *AddEvent(turn, "main").mutable_turn_started();
  started.set_turn_id("turn");
  started.set_origin(docket::v1::TURN_ORIGIN_USER);
  ASSERT_TRUE(Append(turn).ok());
  ASSERT_TRUE(Append(Saying("s", "hello")).ok());
  wire::ReadSessionRequest read;
  read.set_tenant_id("tenant");
  read.set_session_id("s");
  read.set_direction(wire::READ_DIRECTION_BACKWARD);
  read.set_limit(2);
  auto events = Read(read);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].seq(), 3);
  read.add_types(wire::EVENT_TYPE_TURN_STARTED);
  EXPECT_EQ(Read(read)->size(), 1u);
  read.clear_types();
  read.set_agent_id("nobody");
  EXPECT_EQ(Read(read)->size(), 0u);

  wire::GetSessionRequest get;
  get.set_tenant_id("tenant");
  get.set_session_id("s");
  get.add_latest_events(wire::EVENT_TYPE_TURN_STARTED);
  wire::GetSessionResponse session;
  ASSERT_TRUE(Patiently([&](grpc::ClientContext& context) { return stub_->GetSession(&context, get, &session); }).ok());
  EXPECT_EQ(session.session().title(), "a title");
  EXPECT_EQ(session.session().head_seq(), 3);
  EXPECT_EQ(session.session().agents(0).turn().turn_id(), "turn");
  ASSERT_EQ(session.latest_events_size(), 1);
  EXPECT_EQ(session.latest_events(0).seq(), 2);
  get.set_at_least(1'000'000);
  EXPECT_EQ(
      ReasonOf(Patiently([&](grpc::ClientContext& context) { return stub_->GetSession(&context, get, &session); })),
      docket::v1::ERROR_REASON_POSITION_IN_FUTURE);
  get.set_at_least(0);
  get.set_tenant_id("other");
  EXPECT_EQ(
      ReasonOf(Patiently([&](grpc::ClientContext& context) { return stub_->GetSession(&context, get, &session); })),
      docket::v1::ERROR_REASON_SESSION_NOT_FOUND)
      << "another tenant's session is not there";
}

TEST_F(LogServerTest, RefusesWhatIsMalformedWithAReason) {
  // Bytes that are no such message, and a text that is not UTF-8.
  for (const std::string& bytes : {std::string("\xff\xff\xff"), std::string("\x0a\x02\xff\xfe")}) {
    grpc::GenericStub generic(channel_);
    grpc::Slice slice(bytes);
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    std::promise<grpc::Status> promise;
    generic.UnaryCall(&context, "/docket.log.v1.LogService/Append", {}, &request, &response,
                      [&](grpc::Status status) { promise.set_value(std::move(status)); });
    EXPECT_EQ(ReasonOf(FromGrpc(promise.get_future().get())), docket::v1::ERROR_REASON_INVALID_REQUEST);
  }
  wire::AppendRequest unknown = Opening("s");
  wire::AppendRequest::GetReflection()->MutableUnknownFields(&unknown)->AddVarint(77, 1);
  EXPECT_EQ(ReasonOf(Append(unknown)), docket::v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(ReasonOf(Append(Saying("missing", "x"))), docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
  EXPECT_EQ(ReasonOf(Append(Request("s"))), docket::v1::ERROR_REASON_INVALID_REQUEST);
}

TEST_F(LogServerTest, KeepsEventsThatItDoesNotKnow) {
  ASSERT_TRUE(Append(Opening("s")).ok());
  wire::AppendRequest later = Request("s");
  auto& event = AddEvent(later, "main");
  wire::SessionEvent::GetReflection()->MutableUnknownFields(&event)->AddLengthDelimited(500, "of a later version");
  ASSERT_TRUE(Append(later).ok());
  const auto events = ReadAll("s");
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[1].event().SerializeAsString(), event.SerializeAsString());
}

TEST_F(LogServerTest, EndsCleanlyOnSigterm) {
  ASSERT_TRUE(Append(Opening("s")).ok());
  server_->Signal(SIGTERM);
  const auto code = server_->Wait(absl::Seconds(60));
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 0);
  StartServer();
  EXPECT_EQ(ReadAll("s")->size(), 1u);
}

}  // namespace
}  // namespace docket::testing
