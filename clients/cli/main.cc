// docket: the command line.

#include <string>

#include "clients/cli/commands.h"

int main(int argc, char** argv) {
  docket::cli::Globals globals;
  int exit_code = docket::cli::kExitOk;
  std::string output = "table";
  CLI::App app("Plans of coding agents. Exit codes: 0 ok, 1 refused or failed, 2 usage, 3 unavailable.", "docket");
  app.fallthrough();
  app.require_subcommand(1);
  app.add_option("--tenant", globals.tenant, "The tenant")->envname("DOCKET_TENANT")->default_val("local");
  app.add_option("--log-address", globals.log_address, "Where docket-log listens")
      ->envname("DOCKET_LOG_ADDRESS")
      ->default_val("127.0.0.1:7401");
  app.add_option("--todo-address", globals.todo_address, "Where docket-todo listens")
      ->envname("DOCKET_TODO_ADDRESS")
      ->default_val("127.0.0.1:7402");
  app.add_option("--output", output, "table, or json: one protobuf JSON object a line")
      ->check(CLI::IsMember({"table", "json"}))
      ->default_val("table");
  app.add_option("--patience", globals.patience_seconds, "Seconds to try again while a server is away")
      ->check(CLI::Range(0.0, 3600.0))
      ->default_val("5");
  app.parse_complete_callback([&globals, &output] { globals.json = output == "json"; });
  docket::cli::AddWriteCommand(app, globals, exit_code);
  docket::cli::AddPlanCommand(app, globals, exit_code);
  docket::cli::AddSessionCommand(app, globals, exit_code);
  docket::cli::AddWatchCommand(app, globals, exit_code);
  docket::cli::AddImportCommand(app, globals, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? docket::cli::kExitOk : docket::cli::kExitUsage;
  }
  return exit_code;
}
