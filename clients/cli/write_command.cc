#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/terminal_text.h"
#include "clients/cli/todo_input.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/common/status_macros.h"

namespace docket::cli {
namespace {

// What docket-todo takes is smaller; this only bounds what is read.
constexpr size_t kMaxInputBytes = 8 << 20;

struct WriteOptions {
  std::string session;
  std::string agent = "main";
  std::string file;
  std::string call_id;
  std::string actor = "user";
  std::string actor_name;
  bool merge = false;
  std::optional<int64_t> expected_version;
  bool open_session = false;
  std::string title;
  std::vector<std::string> labels;
  std::string parent;
};

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof(buffer)) || in.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
    if (text.size() > kMaxInputBytes) {
      return MakeError(docket::v1::ERROR_REASON_REQUEST_TOO_LARGE,
                       absl::StrCat("the input is larger than ", kMaxInputBytes, " bytes"));
    }
  }
  return text;
}

todo::v1::ActorKind ActorOf(const std::string& word) {
  if (word == "agent") return todo::v1::ACTOR_KIND_AGENT;
  if (word == "system") return todo::v1::ACTOR_KIND_SYSTEM;
  return todo::v1::ACTOR_KIND_USER;
}

absl::StatusOr<todo::v1::WriteTodosRequest> MakeRequest(const Globals& globals, const WriteOptions& options) {
  DOCKET_ASSIGN_OR_RETURN(const std::string text, ReadInput(options.file));
  DOCKET_ASSIGN_OR_RETURN(std::vector<todo::v1::TodoItemInput> items, ParseTodos(text));
  todo::v1::WriteTodosRequest request;
  request.set_tenant_id(globals.tenant);
  request.set_session_id(options.session);
  request.set_agent_id(options.agent);
  request.set_call_id(options.call_id.empty() ? absl::StrCat("cli-", EventId::Random().ToString()) : options.call_id);
  request.set_mode(options.merge ? todo::v1::WRITE_MODE_MERGE : todo::v1::WRITE_MODE_REPLACE);
  for (todo::v1::TodoItemInput& item : items) *request.add_items() = std::move(item);
  if (options.expected_version.has_value()) request.set_expected_version(*options.expected_version);
  request.mutable_actor()->set_kind(ActorOf(options.actor));
  request.mutable_actor()->set_name(options.actor_name);
  request.set_tool("docket write");
  if (options.open_session) {
    request.mutable_open_session()->set_title(options.title);
    request.mutable_open_session()->set_parent_session_id(options.parent);
    DOCKET_RETURN_IF_ERROR(ParseLabels(options.labels, *request.mutable_open_session()->mutable_labels()));
  }
  return request;
}

int RunWrite(const Globals& globals, const WriteOptions& options) {
  const absl::StatusOr<todo::v1::WriteTodosRequest> request = MakeRequest(globals, options);
  if (!request.ok()) return Fail(globals, request.status());
  const auto todo = globals.Todo();
  todo::v1::WriteTodosResponse response;
  const absl::Status status = client::CallPatiently(globals.CallOptions(), [&](grpc::ClientContext& context) {
    return todo->WriteTodos(&context, *request, &response);
  });
  if (!status.ok()) return Fail(globals, status, Server::kTodo);
  if (globals.json) {
    PrintJson(response);
    return kExitOk;
  }
  std::printf("version %lld%s\n", static_cast<long long>(response.version()),
              response.deduplicated() ? " (written before)" : "");
  std::vector<Line> lines;
  for (const todo::v1::ItemChange& change : response.changes()) lines.push_back({{"  "}, ChangeSpan(change)});
  for (const todo::v1::Normalization& made : response.normalizations())
    lines.push_back({{absl::StrCat("  trimmed: ", SafeText(made.path())), Style::kDim}});
  for (const todo::v1::TodoItem& item : response.dropped_unfinished())
    lines.push_back({{absl::StrCat("  left out, unfinished: ", SafeText(item.content())), Style::kWarning}});
  PrintLines(lines);
  std::printf("%s\n", SafeText(response.model_text()).c_str());
  return kExitOk;
}

}  // namespace

void AddWriteCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  auto options = std::make_shared<WriteOptions>();
  CLI::App* command = app.add_subcommand("write", "Write an agent's todo list");
  command->add_option("--session", options->session, "The session")->required();
  command->add_option("--agent", options->agent, "The agent")->capture_default_str();
  command->add_flag("--merge", options->merge, "Change or extend the standing list, by item id");
  command
      ->add_option("--expected-version", options->expected_version,
                   "Refuse unless this is the version that stands; 0: unless none was ever written")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--call-id", options->call_id, "Names this write: a repeat is answered, not written again");
  command->add_option("--actor", options->actor, "Who writes; a user also between turns")
      ->check(CLI::IsMember({"user", "agent", "system"}))
      ->capture_default_str();
  command->add_option("--actor-name", options->actor_name, "Who exactly")->envname("USER");
  CLI::Option* open = command->add_flag("--open-session", options->open_session, "Open the session if it is missing");
  command->add_option("--title", options->title, "The new session's title")->needs(open);
  command->add_option("--label", options->labels, "The new session's labels, KEY=VALUE")->needs(open);
  command->add_option("--parent", options->parent, "The session that the new one is a part of")->needs(open);
  command
      ->add_option("FILE", options->file, R"(A file with {"todos":[...]} or [...]; - for standard input. An item:
{"content":"...","status":"pending|in_progress|completed|cancelled"}, and if wanted id, activeForm, priority)")
      ->required();
  command->callback([&globals, &exit_code, options] { exit_code = RunWrite(globals, *options); });
}

}  // namespace docket::cli
