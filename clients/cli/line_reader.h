#ifndef DOCKET_CLIENTS_CLI_LINE_READER_H_
#define DOCKET_CLIENTS_CLI_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

namespace docket::cli {

// Reads lines of bounded memory. Not thread-safe.
class LineReader {
 public:
  // Of a line longer than `max_line_bytes`, the first `max_line_bytes` + 1 are kept. `in` must outlive it.
  LineReader(std::istream& in, size_t max_line_bytes) : in_(in), max_line_bytes_(max_line_bytes) {}

  // The next line without its end. False: there is none.
  bool Next(std::string& line);
  // How many bytes were read.
  int64_t bytes() const { return bytes_; }

 private:
  std::istream& in_;
  const size_t max_line_bytes_;
  int64_t bytes_ = 0;
};

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_LINE_READER_H_
