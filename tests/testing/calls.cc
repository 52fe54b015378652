#include "tests/testing/calls.h"

#include "absl/strings/match.h"
#include "services/common/event_id.h"

namespace docket::testing {

wire::AppendRequest AppendTo(const std::string& session) {
  wire::AppendRequest request;
  request.set_tenant_id(kTenant);
  request.set_session_id(session);
  return request;
}

wire::SessionEvent& AddEvent(wire::AppendRequest& request, const std::string& agent) {
  wire::SessionEvent& event = *request.add_events();
  event.set_event_id(EventId::Random().ToString());
  event.set_agent_id(agent);
  return event;
}

wire::AppendRequest Opening(const std::string& session) {
  wire::AppendRequest request = AppendTo(session);
  AddEvent(request).mutable_session_opened()->set_title("a title");
  return request;
}

wire::AppendRequest Saying(const std::string& session, const std::string& text) {
  wire::AppendRequest request = AppendTo(session);
  auto& message = *AddEvent(request, "main").mutable_message();
  message.set_role(wire::MESSAGE_ROLE_USER);
  message.add_parts()->set_text(text);
  return request;
}

wire::AppendRequest Turn(const std::string& session, const std::string& turn, const std::string& agent,
                         const std::string& supersedes) {
  wire::AppendRequest request = AppendTo(session);
  auto& started = *AddEvent(request, agent).mutable_turn_started();
  started.set_turn_id(turn);
  started.set_origin(agent == "main" ? docket::v1::TURN_ORIGIN_USER : docket::v1::TURN_ORIGIN_SUBAGENT);
  started.set_supersedes(supersedes);
  return request;
}

wire::AppendRequest TurnEnd(const std::string& session, const std::string& turn, const std::string& agent) {
  wire::AppendRequest request = AppendTo(session);
  auto& ended = *AddEvent(request, agent).mutable_turn_ended();
  ended.set_turn_id(turn);
  ended.set_reason(docket::v1::TURN_END_REASON_COMPLETED);
  return request;
}

wire::AppendRequest Spawning(const std::string& session, const std::string& agent) {
  wire::AppendRequest request = AppendTo(session);
  AddEvent(request, agent).mutable_agent_spawned()->set_parent_agent_id("main");
  return request;
}

wire::AppendRequest Closing(const std::string& session) {
  wire::AppendRequest request = AppendTo(session);
  AddEvent(request).mutable_session_closed()->set_reason("done");
  return request;
}

todo_wire::WriteTodosRequest Writing(const std::string& session, const std::string& call_id,
                                     const std::vector<std::string>& items, const std::string& agent) {
  todo_wire::WriteTodosRequest request;
  request.set_tenant_id(kTenant);
  request.set_session_id(session);
  request.set_agent_id(agent);
  request.set_call_id(call_id);
  for (const std::string& item : items) {
    todo_wire::TodoItemInput& input = *request.add_items();
    input.set_status(todo_wire::TODO_STATUS_PENDING);
    if (absl::StartsWith(item, "x:")) input.set_status(todo_wire::TODO_STATUS_COMPLETED);
    if (absl::StartsWith(item, ">:")) input.set_status(todo_wire::TODO_STATUS_IN_PROGRESS);
    input.set_content(input.status() == todo_wire::TODO_STATUS_PENDING ? item : item.substr(2));
  }
  return request;
}

absl::StatusOr<wire::AppendResponse> Append(wire::LogService::Stub& log, const wire::AppendRequest& request,
                                            client::CallOptions options) {
  wire::AppendResponse response;
  const absl::Status status = client::CallPatiently(
      options, [&](grpc::ClientContext& context) { return log.Append(&context, request, &response); });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<std::vector<wire::RecordedEvent>> Read(wire::LogService::Stub& log,
                                                      const wire::ReadSessionRequest& request,
                                                      client::CallOptions options) {
  std::vector<wire::RecordedEvent> events;
  const absl::Status status = client::CallPatiently(options, [&](grpc::ClientContext& context) {
    events.clear();
    const auto reader = log.ReadSession(&context, request);
    wire::ReadSessionResponse response;
    while (reader->Read(&response)) events.insert(events.end(), response.events().begin(), response.events().end());
    return reader->Finish();
  });
  if (!status.ok()) return status;
  return events;
}

absl::StatusOr<std::vector<wire::RecordedEvent>> ReadAll(wire::LogService::Stub& log, const std::string& session,
                                                         const std::string& tenant) {
  wire::ReadSessionRequest request;
  request.set_tenant_id(tenant);
  request.set_session_id(session);
  return Read(log, request);
}

absl::StatusOr<todo_wire::WriteTodosResponse> Write(todo_wire::TodoService::Stub& todo,
                                                    const todo_wire::WriteTodosRequest& request,
                                                    client::CallOptions options) {
  todo_wire::WriteTodosResponse response;
  const absl::Status status = client::CallPatiently(
      options, [&](grpc::ClientContext& context) { return todo.WriteTodos(&context, request, &response); });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<todo_wire::GetPlanResponse> Get(todo_wire::TodoService::Stub& todo, const std::string& session,
                                               const std::string& agent, int64_t min_revision,
                                               client::CallOptions options) {
  todo_wire::GetPlanRequest request;
  request.set_tenant_id(kTenant);
  request.set_session_id(session);
  request.set_agent_id(agent);
  request.set_min_revision(min_revision);
  todo_wire::GetPlanResponse response;
  const absl::Status status = client::CallPatiently(
      options, [&](grpc::ClientContext& context) { return todo.GetPlan(&context, request, &response); });
  if (!status.ok()) return status;
  return response;
}

std::vector<std::string> ItemsOf(const google::protobuf::RepeatedPtrField<todo_wire::TodoItem>& items) {
  std::vector<std::string> texts;
  for (const todo_wire::TodoItem& item : items) {
    const bool done = item.status() == todo_wire::TODO_STATUS_COMPLETED;
    const bool going = item.status() == todo_wire::TODO_STATUS_IN_PROGRESS;
    texts.push_back((done ? "x:" : going ? ">:" : "") + item.content());
  }
  return texts;
}

}  // namespace docket::testing
