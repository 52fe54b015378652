#include "clients/cli/todo_input.h"

#include <gtest/gtest.h>

#include "services/common/errors.h"
#include "tests/testing/status_matchers.h"

namespace docket::cli {
namespace {

using docket::testing::HasReason;
using docket::testing::IsOk;

TEST(ParseTodosTest, ReadsBothForms) {
  for (const char* text :
       {R"({"todos":[{"content":"a","status":"in_progress","activeForm":"b","priority":"c","id":"d"}]})",
        R"([{"content":"a","status":"in_progress","active_form":"b","priority":"c","id":"d"}])"}) {
    const auto items = ParseTodos(text);
    ASSERT_THAT(items, IsOk());
    ASSERT_EQ(items->size(), 1u);
    EXPECT_EQ(items->front().ShortDebugString(),
              R"(id: "d" content: "a" status: TODO_STATUS_IN_PROGRESS active_form: "b" priority: "c")");
  }
}

TEST(ParseTodosTest, AnEmptyListIsAList) {
  const auto items = ParseTodos("[]");
  ASSERT_THAT(items, IsOk());
  EXPECT_TRUE(items->empty());
}

TEST(ParseTodosTest, LeavesOutWhatIsNotGiven) {
  const auto items = ParseTodos(R"([{"id":"d"}])");
  ASSERT_THAT(items, IsOk());
  EXPECT_FALSE(items->front().has_content());
  EXPECT_FALSE(items->front().has_status());
}

TEST(ParseTodosTest, NamesWhatIsWrong) {
  const struct {
    const char* text;
    const char* path;
  } cases[] = {
      {"", "todos"},
      {"{", "todos"},
      {"[\"\xff\"]", "todos"},
      {"3", "todos"},
      {"{}", "todos"},
      {R"({"todos":[],"more":1})", "todos"},
      {R"({"todos":"[]"})", "todos"},
      {"[3]", "todos[0]"},
      {R"([{"content":"a"},{"content":4}])", "todos[1].content"},
      {R"([{"status":"done"}])", "todos[0].status"},
      {R"([{"text":"a"}])", "todos[0].text"},
  };
  for (const auto& c : cases) {
    const auto items = ParseTodos(c.text);
    EXPECT_THAT(items, HasReason(docket::v1::ERROR_REASON_INVALID_TODO)) << c.text;
    EXPECT_EQ(MetadataOf(items.status())["path"], c.path) << c.text;
    EXPECT_FALSE(MetadataOf(items.status())["allowed"].empty()) << c.text;
  }
}

}  // namespace
}  // namespace docket::cli
