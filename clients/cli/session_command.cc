#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands.h"
#include "clients/cli/event_lines.h"
#include "services/common/errors.h"

namespace docket::cli {
namespace {

struct SessionOptions {
  std::string session;
  std::string agent;
  std::vector<std::string> labels;
  std::vector<std::string> states;
  std::vector<std::string> types;
  std::string since;
  int64_t from_seq = 0;
  int64_t limit = 0;
  bool newest_first = false;
};

const std::map<std::string, log::v1::SessionState>& States() {
  static const auto* const states = new std::map<std::string, log::v1::SessionState>{
      {"open", log::v1::SESSION_STATE_OPEN},
      {"closed", log::v1::SESSION_STATE_CLOSED},
      {"erased", log::v1::SESSION_STATE_ERASED},
  };
  return *states;
}

std::string StateText(log::v1::SessionState state) {
  for (const auto& [name, value] : States()) {
    if (value == state) return name;
  }
  return "unknown";
}

std::string LabelsText(const google::protobuf::Map<std::string, std::string>& labels) {
  const std::map<std::string, std::string> sorted(labels.begin(), labels.end());
  return absl::StrJoin(sorted, ", ", absl::PairFormatter("="));
}

std::string TurnText(const log::v1::AgentSummary& agent) {
  if (!agent.has_turn()) return "no turn";
  const log::v1::TurnSummary& turn = agent.turn();
  if (turn.ended_seq() == 0) return absl::StrCat("in turn ", turn.turn_id());
  switch (turn.end_reason()) {
    case docket::v1::TURN_END_REASON_COMPLETED:
      return absl::StrCat("completed turn ", turn.turn_id());
    case docket::v1::TURN_END_REASON_FAILED:
      return absl::StrCat("failed in turn ", turn.turn_id());
    default:
      return absl::StrCat("interrupted in turn ", turn.turn_id());
  }
}

int RunList(const Globals& globals, const SessionOptions& options) {
  log::v1::ListSessionsRequest request;
  request.set_tenant_id(globals.tenant);
  absl::Status status = ParseLabels(options.labels, *request.mutable_labels());
  if (!status.ok()) return Fail(globals, status);
  for (const std::string& state : options.states) request.add_states(States().at(state));
  if (!options.since.empty()) {
    const auto since = ParseSince(options.since);
    if (!since.ok()) return Fail(globals, since.status());
    *request.mutable_active_since() = *since;
  }
  const auto log = globals.Log();
  int64_t left = options.limit;
  for (bool first = true;; first = false) {
    request.set_page_size(PageSize(options.limit, left));
    log::v1::ListSessionsResponse page;
    status = client::CallPatiently(globals.CallOptions(), [&](grpc::ClientContext& context) {
      return log->ListSessions(&context, request, &page);
    });
    if (!status.ok()) return Fail(globals, status, Server::kLog);
    std::vector<std::vector<std::string>> rows;
    if (first) rows.push_back({"SESSION", "STATE", "EVENTS", "AGENTS", "ACTIVE", "TITLE", "LABELS"});
    for (const log::v1::SessionSummary& session : page.sessions()) {
      if (globals.json) PrintJson(session);
      rows.push_back({session.session_id(), StateText(session.state()), absl::StrCat(session.head_seq()),
                      absl::StrCat(session.agents_size()), TimeText(session.last_activity()), session.title(),
                      LabelsText(session.labels())});
    }
    if (!globals.json) PrintTable(std::move(rows));
    left -= page.sessions_size();
    if (page.next_page_token().empty()) return kExitOk;
    if (options.limit > 0 && left <= 0) {
      PrintMore(globals);
      return kExitOk;
    }
    request.set_page_token(page.next_page_token());
  }
}

int RunShow(const Globals& globals, const SessionOptions& options) {
  log::v1::GetSessionRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  const auto log = globals.Log();
  log::v1::GetSessionResponse response;
  const absl::Status status = client::CallPatiently(globals.CallOptions(), [&](grpc::ClientContext& context) {
    return log->GetSession(&context, request, &response);
  });
  if (!status.ok()) return Fail(globals, status, Server::kLog);
  if (globals.json) {
    PrintJson(response);
    return kExitOk;
  }
  const log::v1::SessionSummary& session = response.session();
  std::vector<std::vector<std::string>> facts = {{"session", session.session_id()}};
  if (!session.title().empty()) facts.push_back({"title", session.title()});
  if (!session.labels().empty()) facts.push_back({"labels", LabelsText(session.labels())});
  if (!session.parent_session_id().empty()) facts.push_back({"part of", session.parent_session_id()});
  if (session.has_continues()) facts.push_back({"continues", session.continues().session_id()});
  if (session.has_forked_from()) facts.push_back({"forked from", session.forked_from().session_id()});
  facts.push_back({"state", StateText(session.state())});
  facts.push_back({"events", absl::StrCat(session.head_seq())});
  facts.push_back({"opened", TimeText(session.opened_at())});
  facts.push_back({"last event", TimeText(session.last_activity())});
  PrintTable(std::move(facts));
  if (session.agents().empty()) return kExitOk;
  std::printf("\n");
  std::vector<std::vector<std::string>> rows = {{"AGENT", "SPAWNED BY", "TURN", "ACTIVE", "NAME"}};
  for (const log::v1::AgentSummary& agent : session.agents()) {
    rows.push_back({agent.agent_id(), agent.parent_agent_id().empty() ? "-" : agent.parent_agent_id(), TurnText(agent),
                    TimeText(agent.last_activity()), agent.display_name()});
  }
  PrintTable(std::move(rows));
  return kExitOk;
}

void PrintEvents(const std::vector<log::v1::RecordedEvent>& events, bool with_head) {
  std::vector<std::vector<std::string>> rows;
  if (with_head) rows.push_back({"SEQ", "TIME", "AGENT", "TYPE", ""});
  for (const log::v1::RecordedEvent& event : events) {
    rows.push_back({absl::StrCat(event.seq()), TimeText(event.recorded_at()),
                    event.event().agent_id().empty() ? "-" : event.event().agent_id(),
                    EventTypeText(TypeOf(event.event())), EventText(event.event())});
  }
  PrintTable(std::move(rows));
}

int RunEvents(const Globals& globals, const SessionOptions& options) {
  constexpr int64_t kPageEvents = 500;
  log::v1::ReadSessionRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  request.set_agent_id(options.agent);
  request.set_from_seq(options.from_seq);
  request.set_direction(options.newest_first ? log::v1::READ_DIRECTION_BACKWARD : log::v1::READ_DIRECTION_FORWARD);
  for (const std::string& word : options.types) {
    const log::v1::EventType type = EventTypeOf(word);
    if (type == log::v1::EVENT_TYPE_UNSPECIFIED) {
      return Fail(globals, FieldError(docket::v1::ERROR_REASON_INVALID_REQUEST, "type",
                                      absl::StrCat("\"", word, "\" is no event type; todo_written is one")));
    }
    request.add_types(type);
  }
  const auto log = globals.Log();
  int64_t left = options.limit;
  for (bool first = true;; first = false) {
    request.set_limit(options.limit == 0 ? kPageEvents : std::min(left, kPageEvents));
    std::vector<log::v1::RecordedEvent> events;
    const absl::Status status = client::CallPatiently(globals.CallOptions(), [&](grpc::ClientContext& context) {
      events.clear();
      const auto reader = log->ReadSession(&context, request);
      log::v1::ReadSessionResponse response;
      while (reader->Read(&response)) events.insert(events.end(), response.events().begin(), response.events().end());
      return reader->Finish();
    });
    if (!status.ok()) return Fail(globals, status, Server::kLog);
    if (globals.json) {
      for (const log::v1::RecordedEvent& event : events) PrintJson(event);
    } else {
      PrintEvents(events, first);
    }
    left -= static_cast<int64_t>(events.size());
    if (static_cast<int64_t>(events.size()) < request.limit()) return kExitOk;
    const int64_t last = events.back().seq();
    if (options.newest_first && last == 1) return kExitOk;
    if (options.limit > 0 && left == 0) return kExitOk;
    request.set_from_seq(options.newest_first ? last - 1 : last + 1);
  }
}

}  // namespace

void AddSessionCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  CLI::App* command = app.add_subcommand("session", "Read sessions");
  command->require_subcommand(1);

  std::vector<std::string> states;
  for (const auto& [name, state] : States()) states.push_back(name);
  auto list_options = std::make_shared<SessionOptions>();
  list_options->limit = 50;
  CLI::App* list = command->add_subcommand("list", "The sessions, the latest activity first");
  list->add_option("--label", list_options->labels, "Only with this label, KEY=VALUE");
  list->add_option("--state", list_options->states, "Only in this state; left out: open and closed")
      ->check(CLI::IsMember(states));
  list->add_option("--since", list_options->since, "Only active in the last 90s, 15m, 24h ...");
  list->add_option("--limit", list_options->limit, "At most so many; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  list->callback([&globals, &exit_code, list_options] { exit_code = RunList(globals, *list_options); });

  auto show_options = std::make_shared<SessionOptions>();
  CLI::App* show = command->add_subcommand("show", "A session and its agents");
  show->add_option("SESSION", show_options->session, "The session")->required();
  show->callback([&globals, &exit_code, show_options] { exit_code = RunShow(globals, *show_options); });

  auto events_options = std::make_shared<SessionOptions>();
  CLI::App* events = command->add_subcommand("events", "The events of a session");
  events->add_option("SESSION", events_options->session, "The session")->required();
  events->add_option("--agent", events_options->agent, "Only of this agent");
  events->add_option("--type", events_options->types, "Only of this type: todo_written, turn_started, message ...");
  events->add_option("--from", events_options->from_seq, "The first seq")->check(CLI::PositiveNumber);
  events->add_option("--limit", events_options->limit, "At most so many; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  events->add_flag("--newest-first", events_options->newest_first, "Descending seq");
  events->callback([&globals, &exit_code, events_options] { exit_code = RunEvents(globals, *events_options); });
}

}  // namespace docket::cli
