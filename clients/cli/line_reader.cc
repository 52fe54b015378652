#include "clients/cli/line_reader.h"

#include <streambuf>

namespace docket::cli {

bool LineReader::Next(std::string& line) {
  line.clear();
  std::streambuf& buffer = *in_.rdbuf();
  bool any = false;
  for (;;) {
    const int c = buffer.sbumpc();
    if (c == std::char_traits<char>::eof()) return any;
    any = true;
    ++bytes_;
    if (c == '\n') return true;
    if (line.size() <= max_line_bytes_) line.push_back(static_cast<char>(c));
  }
}

}  // namespace docket::cli
