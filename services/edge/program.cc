#include "services/edge/program.h"

#include <cstdlib>
#include <iostream>

#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace docket {
namespace {

// The library's names have underscores.
void UseUnderscores(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-' || argv[i][1] != '-') continue;
    for (char* c = argv[i] + 2; *c != '\0' && *c != '='; ++c) {
      if (*c == '-') *c = '_';
    }
  }
}

void ReadEnvironment() {
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    const std::string variable = absl::StrCat("DOCKET_", absl::AsciiStrToUpper(name));
    const char* value = std::getenv(variable.c_str());
    std::string error;
    if (value == nullptr || flag->ParseFrom(value, &error)) continue;
    std::cerr << "ERROR: " << variable << ": " << error << std::endl;
    std::exit(1);
  }
}

}  // namespace

std::vector<std::string> ParseFlags(absl::string_view usage, int argc, char** argv) {
  absl::SetProgramUsageMessage(usage);
  UseUnderscores(argc, argv);
  ReadEnvironment();
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  return {rest.begin() + 1, rest.end()};
}

}  // namespace docket
