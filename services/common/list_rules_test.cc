#include "services/common/list_rules.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"

namespace docket {
namespace {

todo::v1::TodoWritten List(const std::string& text) {
  todo::v1::TodoWritten list;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &list)) << text;
  return list;
}

// The rule and the path that a list breaks; empty if it is fine.
std::string Broken(const todo::v1::TodoWritten& list) {
  const absl::Status status = CheckList(v1::ERROR_REASON_INVALID_TODO, list.items());
  if (status.ok()) return "";
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_INVALID_TODO);
  EXPECT_FALSE(MetadataOf(status)["allowed"].empty());
  return MetadataOf(status)["rule"] + " " + MetadataOf(status)["path"];
}

TEST(ListRulesTest, KnowsWellFormedUtf8) {
  for (const char* good : {"", "plain", "\u00e9", "\u20ac", "\U0001f600", "\uffff", "\U0010ffff"})
    EXPECT_TRUE(IsValidUtf8(good)) << good;
  // A lone continuation, overlong forms, a surrogate, beyond the last character, cut sequences.
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe2\x82", "\xf0\x9f\x98", "\xff"}) {
    EXPECT_FALSE(IsValidUtf8(bad));
  }
}

TEST(ListRulesTest, TrimsEverySpace) {
  EXPECT_EQ(TrimText(" \t\n a b \u00a0\u3000\u2003"), "a b");
  EXPECT_EQ(TrimText(" \u2028 "), "");
  EXPECT_EQ(TrimText("\u00e9"), "\u00e9");
}

TEST(ListRulesTest, FindsAndRemovesControlCharacters) {
  EXPECT_EQ(FindControlCharacter("a\tb\nc"), absl::string_view::npos);
  EXPECT_EQ(FindControlCharacter("a\x1b[0m"), 1u);
  EXPECT_EQ(FindControlCharacter("ab\x7f"), 2u);
  EXPECT_EQ(FindControlCharacter("\u0085"), 0u);
  EXPECT_EQ(RemoveControlCharacters("a\x1b\u0085b\n"), "ab\n");
}

TEST(ListRulesTest, ChecksIds) {
  const auto ok = [](absl::string_view id) { return CheckId(v1::ERROR_REASON_INVALID_REQUEST, "session_id", id).ok(); };
  EXPECT_TRUE(ok("a"));
  EXPECT_TRUE(ok(std::string(256, 'x')));
  EXPECT_FALSE(ok(""));
  EXPECT_FALSE(ok(std::string(257, 'x')));
  EXPECT_FALSE(ok("a\nb"));
  EXPECT_FALSE(ok("\xff"));
}

TEST(ListRulesTest, NamesTheRuleAndTheItem) {
  EXPECT_EQ(Broken(List("")), "");
  EXPECT_EQ(
      Broken(List(
          "items { content: 'a' status: TODO_STATUS_PENDING } items { content: 'b' status: TODO_STATUS_CANCELLED }")),
      "");
  EXPECT_EQ(
      Broken(List(
          "items { content: 'a' status: TODO_STATUS_PENDING } items { content: 'a' status: TODO_STATUS_PENDING }")),
      "unique_content items[1].content");
  EXPECT_EQ(Broken(List("items { content: ' ' status: TODO_STATUS_PENDING }")), "content_required items[0].content");
  EXPECT_EQ(Broken(List("items { content: ' a' status: TODO_STATUS_PENDING }")), "trimmed items[0].content");
  EXPECT_EQ(Broken(List("items { content: 'a' }")), "known_status items[0].status");
  EXPECT_EQ(Broken(List("items { content: 'a\\x01' status: TODO_STATUS_PENDING }")),
            "control_characters items[0].content");
  EXPECT_EQ(Broken(List("items { item_id: '1' content: 'a' status: TODO_STATUS_PENDING }"
                        "items { item_id: '1' content: 'b' status: TODO_STATUS_PENDING }")),
            "unique_id items[1].item_id");
}

TEST(ListRulesTest, BoundsTheList) {
  todo::v1::TodoWritten list;
  for (int i = 0; i <= kMaxListItems; ++i) {
    auto* item = list.add_items();
    item->set_content(std::to_string(i));
    item->set_status(todo::v1::TODO_STATUS_PENDING);
  }
  EXPECT_EQ(Broken(list), "max_items items");
  list.mutable_items()->RemoveLast();
  EXPECT_EQ(Broken(list), "");
  for (int i = 0; i < 20; ++i) list.mutable_items(i)->mutable_content()->append(60000, 'x');
  EXPECT_EQ(Broken(list), "max_bytes items");
  list.mutable_items(0)->mutable_content()->append(60000, 'x');
  EXPECT_EQ(Broken(list), "content_too_long items[0].content");
}

}  // namespace
}  // namespace docket
