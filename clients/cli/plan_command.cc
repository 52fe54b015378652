#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.h"
#include "clients/cli/terminal_text.h"

namespace docket::cli {
namespace {

struct PlanOptions {
  std::string session;
  std::string agent = "main";
  std::vector<std::string> labels;
  std::vector<std::string> states;
  std::string since;
  int64_t limit = 0;
};

const std::map<std::string, todo::v1::PlanState>& States() {
  static const auto* const states = new std::map<std::string, todo::v1::PlanState>{
      {"never-written", todo::v1::PLAN_STATE_NEVER_WRITTEN},
      {"empty", todo::v1::PLAN_STATE_EMPTY},
      {"active", todo::v1::PLAN_STATE_ACTIVE},
      {"all-completed", todo::v1::PLAN_STATE_ALL_COMPLETED},
      {"cleared", todo::v1::PLAN_STATE_CLEARED},
  };
  return *states;
}

void PrintStale(bool is_stale) {
  if (is_stale) std::fprintf(stderr, "docket: docket-log is away; this is what was known before\n");
}

int RunGet(const Globals& globals, const PlanOptions& options) {
  todo::v1::GetPlanRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  request.set_agent_id(options.agent);
  const auto todo = globals.Todo();
  todo::v1::GetPlanResponse response;
  const absl::Status status = client::CallPatiently(
      globals.CallOptions(), [&](grpc::ClientContext& context) { return todo->GetPlan(&context, request, &response); });
  if (!status.ok()) return Fail(globals, status, Server::kTodo);
  if (globals.json) {
    PrintJson(response);
    return kExitOk;
  }
  PrintLines(SessionLines(BySession({response.plan()}).front(), absl::Now(), Detail::kFull));
  if (response.plan().version() > 0) {
    std::printf("\nversion %lld", static_cast<long long>(response.plan().version()));
    for (int i = 0; i < response.plan().items_size(); ++i) {
      std::printf("%s%s", i == 0 ? ", ids: " : ", ", SafeText(response.plan().items(i).item_id()).c_str());
    }
    std::printf("\n");
  }
  PrintStale(response.has_stale_for());
  return kExitOk;
}

void PrintPlans(const todo::v1::ListPlansResponse& page, bool with_head) {
  std::vector<std::vector<std::string>> rows;
  if (with_head) rows.push_back({"SESSION", "AGENT", "STATE", "DONE", "RUN", "WRITTEN", "NAME"});
  for (const todo::v1::Plan& plan : page.plans()) {
    const std::string run = RunStateText(plan);
    rows.push_back({plan.session_id(), plan.agent_id(), PlanStateText(plan.state()),
                    plan.version() == 0 ? "-" : CountsText(plan.counts()), run.empty() ? "-" : run,
                    TimeText(plan.last_written_at()),
                    plan.agent_display_name().empty() ? plan.session_title() : plan.agent_display_name()});
  }
  PrintTable(std::move(rows));
}

int RunList(const Globals& globals, const PlanOptions& options) {
  todo::v1::ListPlansRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  absl::Status status = ParseLabels(options.labels, *request.mutable_session_labels());
  if (!status.ok()) return Fail(globals, status);
  for (const std::string& state : options.states) request.add_states(States().at(state));
  if (!options.since.empty()) {
    const auto since = ParseSince(options.since);
    if (!since.ok()) return Fail(globals, since.status());
    *request.mutable_active_since() = *since;
  }
  const auto todo = globals.Todo();
  int64_t left = options.limit;
  for (bool first = true;; first = false) {
    request.set_page_size(PageSize(options.limit, left));
    todo::v1::ListPlansResponse page;
    status = client::CallPatiently(
        globals.CallOptions(), [&](grpc::ClientContext& context) { return todo->ListPlans(&context, request, &page); });
    if (!status.ok()) return Fail(globals, status, Server::kTodo);
    if (globals.json) {
      for (const todo::v1::Plan& plan : page.plans()) PrintJson(plan);
    } else {
      PrintPlans(page, first);
      PrintStale(page.has_stale_for());
    }
    left -= request.page_size();
    if (page.next_page_token().empty()) return kExitOk;
    if (options.limit > 0 && left <= 0) {
      PrintMore(globals);
      return kExitOk;
    }
    request.set_page_token(page.next_page_token());
  }
}

void PrintVersion(const todo::v1::PlanVersion& version) {
  todo::v1::Plan counted;
  for (const todo::v1::TodoItem& item : version.todo_written().items()) {
    todo::v1::TodoCounts& counts = *counted.mutable_counts();
    if (item.status() == todo::v1::TODO_STATUS_IN_PROGRESS) counts.set_in_progress(counts.in_progress() + 1);
    if (item.status() == todo::v1::TODO_STATUS_PENDING) counts.set_pending(counts.pending() + 1);
    if (item.status() == todo::v1::TODO_STATUS_COMPLETED) counts.set_completed(counts.completed() + 1);
    if (item.status() == todo::v1::TODO_STATUS_CANCELLED) counts.set_cancelled(counts.cancelled() + 1);
  }
  const todo::v1::Actor& actor = version.todo_written().actor();
  const std::string name = SafeText(actor.name());
  Line head = {{absl::StrCat("version ", version.version()), Style::kBold},
               {absl::StrCat("  ", TimeText(version.recorded_at()), "  ", ActorText(actor.kind()),
                             name.empty() ? "" : " ", name, "  ")},
               {version.todo_written().items().empty() ? "empty plan" : CountsText(counted.counts())}};
  std::vector<Line> lines = {std::move(head)};
  for (const todo::v1::ItemChange& change : version.changes()) lines.push_back({{"  "}, ChangeSpan(change)});
  PrintLines(lines);
}

int RunHistory(const Globals& globals, const PlanOptions& options) {
  todo::v1::GetPlanHistoryRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  request.set_agent_id(options.agent);
  const auto todo = globals.Todo();
  int64_t left = options.limit;
  for (;;) {
    request.set_page_size(PageSize(options.limit, left));
    todo::v1::GetPlanHistoryResponse page;
    const absl::Status status = client::CallPatiently(globals.CallOptions(), [&](grpc::ClientContext& context) {
      return todo->GetPlanHistory(&context, request, &page);
    });
    if (!status.ok()) return Fail(globals, status, Server::kTodo);
    for (const todo::v1::PlanVersion& version : page.versions()) {
      if (globals.json) {
        PrintJson(version);
      } else {
        PrintVersion(version);
      }
    }
    left -= page.versions_size();
    if (page.next_page_token().empty()) return kExitOk;
    if (options.limit > 0 && left <= 0) {
      PrintMore(globals);
      return kExitOk;
    }
    request.set_page_token(page.next_page_token());
  }
}

}  // namespace

void AddPlanCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  CLI::App* command = app.add_subcommand("plan", "Read plans");
  command->require_subcommand(1);

  auto get_options = std::make_shared<PlanOptions>();
  CLI::App* get = command->add_subcommand("get", "The plan of one agent");
  get->add_option("SESSION", get_options->session, "The session")->required();
  get->add_option("--agent", get_options->agent, "The agent")->capture_default_str();
  get->callback([&globals, &exit_code, get_options] { exit_code = RunGet(globals, *get_options); });

  std::vector<std::string> states;
  for (const auto& [name, state] : States()) states.push_back(name);
  auto list_options = std::make_shared<PlanOptions>();
  list_options->limit = 50;
  CLI::App* list = command->add_subcommand("list", "The plans of all agents, sessions with the latest activity first");
  list->add_option("--session", list_options->session, "Only of this session");
  list->add_option("--label", list_options->labels, "Only of sessions with this label, KEY=VALUE");
  list->add_option("--state", list_options->states, "Only plans in this state")->check(CLI::IsMember(states));
  list->add_option("--since", list_options->since, "Only of sessions active in the last 90s, 15m, 24h ...");
  list->add_option("--limit", list_options->limit, "At most so many sessions; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  list->callback([&globals, &exit_code, list_options] { exit_code = RunList(globals, *list_options); });

  auto history_options = std::make_shared<PlanOptions>();
  history_options->limit = 20;
  CLI::App* history = command->add_subcommand("history", "The versions of one agent's list, the newest first");
  history->add_option("SESSION", history_options->session, "The session")->required();
  history->add_option("--agent", history_options->agent, "The agent")->capture_default_str();
  history->add_option("--limit", history_options->limit, "At most so many versions; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  history->callback([&globals, &exit_code, history_options] { exit_code = RunHistory(globals, *history_options); });
}

}  // namespace docket::cli
