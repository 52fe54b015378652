#ifndef DOCKET_SERVICES_EDGE_PROGRAM_H_
#define DOCKET_SERVICES_EDGE_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace docket {

// Reads the flags of a server: from the environment (DOCKET_LISTEN for --listen), then from the command line, which
// wins. Flags may be written with dashes or underscores; --flagfile and --help work. Returns what is not a flag,
// without the program's name. Ends the process with code 1 and a message for a flag that is unknown or malformed.
std::vector<std::string> ParseFlags(absl::string_view usage, int argc, char** argv);

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_PROGRAM_H_
