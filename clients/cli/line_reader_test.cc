#include "clients/cli/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace docket::cli {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Lines(const std::string& text, size_t max) {
  std::istringstream in(text);
  LineReader reader(in, max);
  std::vector<std::string> lines;
  for (std::string line; reader.Next(line);) lines.push_back(line);
  EXPECT_EQ(reader.bytes(), static_cast<int64_t>(text.size()));
  return lines;
}

TEST(LineReaderTest, GivesLines) {
  EXPECT_THAT(Lines("", 10), ElementsAre());
  EXPECT_THAT(Lines("a\n\nb\n", 10), ElementsAre("a", "", "b"));
  EXPECT_THAT(Lines("a\nb", 10), ElementsAre("a", "b"));
  EXPECT_THAT(Lines(std::string("a\0b\n", 4), 10), ElementsAre(std::string("a\0b", 3)));
}

TEST(LineReaderTest, KeepsOneByteTooManyOfALineThatIsTooLong) {
  EXPECT_THAT(Lines("1234567\nab\n", 4), ElementsAre("12345", "ab"));
  EXPECT_THAT(Lines("1234\n", 4), ElementsAre("1234"));
}

}  // namespace
}  // namespace docket::cli
