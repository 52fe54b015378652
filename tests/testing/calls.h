#ifndef DOCKET_TESTS_TESTING_CALLS_H_
#define DOCKET_TESTS_TESTING_CALLS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/call.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"

// Requests and calls of the tenant `t`, as a patient client makes them: what may pass is tried again, with the same
// request.

namespace docket::testing {

namespace wire = docket::log::v1;
namespace todo_wire = docket::todo::v1;

inline constexpr char kTenant[] = "t";
inline constexpr client::CallOptions kPatient = {.patience = absl::Seconds(90), .one_try = absl::Seconds(20)};
// For calls that are expected to fail while a server is away.
inline constexpr client::CallOptions kOnce = {.patience = absl::ZeroDuration(), .one_try = absl::Seconds(20)};

// An empty request for the session.
wire::AppendRequest AppendTo(const std::string& session);
// Adds an event with a random id.
wire::SessionEvent& AddEvent(wire::AppendRequest& request, const std::string& agent = "");
wire::AppendRequest Opening(const std::string& session);
wire::AppendRequest Saying(const std::string& session, const std::string& text);
wire::AppendRequest Turn(const std::string& session, const std::string& turn, const std::string& agent = "main",
                         const std::string& supersedes = "");
wire::AppendRequest TurnEnd(const std::string& session, const std::string& turn, const std::string& agent = "main");
wire::AppendRequest Spawning(const std::string& session, const std::string& agent);
wire::AppendRequest Closing(const std::string& session);

// A write of pending items with these contents; a content of "x:text" is completed, ">:text" in progress.
todo_wire::WriteTodosRequest Writing(const std::string& session, const std::string& call_id,
                                     const std::vector<std::string>& items, const std::string& agent = "main");

absl::StatusOr<wire::AppendResponse> Append(wire::LogService::Stub& log, const wire::AppendRequest& request,
                                            client::CallOptions options = kPatient);
absl::StatusOr<std::vector<wire::RecordedEvent>> Read(wire::LogService::Stub& log,
                                                      const wire::ReadSessionRequest& request,
                                                      client::CallOptions options = kPatient);
absl::StatusOr<std::vector<wire::RecordedEvent>> ReadAll(wire::LogService::Stub& log, const std::string& session,
                                                         const std::string& tenant = kTenant);
absl::StatusOr<todo_wire::WriteTodosResponse> Write(todo_wire::TodoService::Stub& todo,
                                                    const todo_wire::WriteTodosRequest& request,
                                                    client::CallOptions options = kPatient);
absl::StatusOr<todo_wire::GetPlanResponse> Get(todo_wire::TodoService::Stub& todo, const std::string& session,
                                               const std::string& agent = "main", int64_t min_revision = 0,
                                               client::CallOptions options = kPatient);

// The items' contents, marked as Writing() takes them.
std::vector<std::string> ItemsOf(const google::protobuf::RepeatedPtrField<todo_wire::TodoItem>& items);

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_CALLS_H_
