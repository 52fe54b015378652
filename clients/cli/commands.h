#ifndef DOCKET_CLIENTS_CLI_COMMANDS_H_
#define DOCKET_CLIENTS_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "clients/cli/command.h"

namespace docket::cli {

// Each adds its command to `app`. When the command line names it, it runs and sets `exit_code`. `globals` and
// `exit_code` must outlive `app`.
void AddWriteCommand(CLI::App& app, const Globals& globals, int& exit_code);
void AddPlanCommand(CLI::App& app, const Globals& globals, int& exit_code);
void AddSessionCommand(CLI::App& app, const Globals& globals, int& exit_code);
void AddWatchCommand(CLI::App& app, const Globals& globals, int& exit_code);
void AddImportCommand(CLI::App& app, const Globals& globals, int& exit_code);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_COMMANDS_H_
