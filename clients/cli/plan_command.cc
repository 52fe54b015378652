#include <cstdio>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "clients/cli/commands.h"

namespace docket::cli {
namespace {

struct GetOptions {
  std::string session;
  std::string agent = "main";
};

int RunGet(const Globals& globals, const GetOptions& options) {
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
  if (response.has_stale_for()) std::printf("docket-log is away; this is what was known before\n");
  return kExitOk;
}

}  // namespace

void AddPlanCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  CLI::App* command = app.add_subcommand("plan", "Read plans");
  command->require_subcommand(1);
  auto options = std::make_shared<GetOptions>();
  CLI::App* get = command->add_subcommand("get", "The plan of one agent");
  get->add_option("SESSION", options->session, "The session")->required();
  get->add_option("--agent", options->agent, "The agent")->capture_default_str();
  get->callback([&globals, &exit_code, options] { exit_code = RunGet(globals, *options); });
}

}  // namespace docket::cli
