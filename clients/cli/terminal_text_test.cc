#include "clients/cli/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/random/random.h"

namespace docket::cli {
namespace {

TEST(SafeTextTest, KeepsOrdinaryText) {
  EXPECT_EQ(SafeText("Read the notes, café, 日本語, 👩‍🔧"), "Read the notes, café, 日本語, 👩‍🔧");
}

TEST(SafeTextTest, DisarmsEscapeSequences) {
  EXPECT_EQ(SafeText("a\x1b[2Jb\x07"), "a\uFFFD[2Jb\uFFFD");
  EXPECT_EQ(SafeText("\xc2\x9b"
                     "31m"),
            "\uFFFD31m")
      << "the one-byte form of the escape";
}

TEST(SafeTextTest, PutsEverythingOnOneLine) {
  EXPECT_EQ(SafeText("a\nb\tc\rd\u2028e"), "a b c d e");
}

TEST(SafeTextTest, StopsChangesOfDirection) {
  EXPECT_EQ(SafeText("a\u202E\u2066\u200Fb"), "a\uFFFD\uFFFD\uFFFDb");
}

TEST(SafeTextTest, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(SafeText("a\xff\xc3"), "a\uFFFD\uFFFD");
}

TEST(TextWidthTest, CountsColumns) {
  EXPECT_EQ(TextWidth(""), 0);
  EXPECT_EQ(TextWidth("abc"), 3);
  EXPECT_EQ(TextWidth("日本"), 4);
  EXPECT_EQ(TextWidth("e\u0301"), 1) << "a combining accent";
  EXPECT_EQ(TextWidth("👩‍🔧"), 2) << "a joined emoji";
  EXPECT_EQ(TextWidth("○◉✓✗…"), 5);
}

TEST(CutTextTest, CutsBetweenClusters) {
  EXPECT_EQ(CutText("abc", 3), "abc");
  EXPECT_EQ(CutText("abcd", 3), "ab…");
  EXPECT_EQ(CutText("日本語", 5), "日本…");
  EXPECT_EQ(CutText("日本語", 4), "日…");
  EXPECT_EQ(CutText("e\u0301e\u0301e\u0301", 2), "e\u0301…");
  EXPECT_EQ(CutText("abc", 1), "…");
  EXPECT_EQ(CutText("abc", 0), "");
}

TEST(PadTextTest, FillsUp) {
  EXPECT_EQ(PadText("ab", 4), "ab  ");
  EXPECT_EQ(PadText("日本語", 4), "日… ");
}

TEST(TerminalTextTest, AnyBytesAreSafeAndFit) {
  absl::BitGen random;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(absl::Uniform<size_t>(random, 0, 40), ' ');
    for (char& byte : bytes) byte = static_cast<char>(absl::Uniform<int>(random, 0, 256));
    const std::string safe = SafeText(bytes);
    EXPECT_EQ(SafeText(safe), safe);
    for (const char byte : safe) EXPECT_TRUE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f);
    const int columns = absl::Uniform<int>(random, 0, 20);
    EXPECT_LE(TextWidth(CutText(safe, columns)), columns);
    EXPECT_EQ(TextWidth(PadText(safe, columns)), columns);
  }
}

}  // namespace
}  // namespace docket::cli
