#include "clients/cli/todo_input.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/harness/json_lines.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/status_macros.h"

namespace docket::cli {
namespace {

using nlohmann::json;
using todo::v1::TodoItemInput;

absl::Status Wrong(absl::string_view path, absl::string_view description, absl::string_view allowed) {
  return FieldError(docket::v1::ERROR_REASON_INVALID_TODO, path, description, {{"allowed", std::string(allowed)}});
}

absl::StatusOr<todo::v1::TodoStatus> ParseStatus(absl::string_view path, absl::string_view word) {
  if (word == "pending") return todo::v1::TODO_STATUS_PENDING;
  if (word == "in_progress") return todo::v1::TODO_STATUS_IN_PROGRESS;
  if (word == "completed") return todo::v1::TODO_STATUS_COMPLETED;
  if (word == "cancelled") return todo::v1::TODO_STATUS_CANCELLED;
  return Wrong(path, absl::StrCat("\"", word, "\" is no status; allowed: ", kStatusWords), kStatusWords);
}

absl::StatusOr<TodoItemInput> ParseItem(const std::string& path, const json& value) {
  constexpr absl::string_view kMembers = "content, status, id, activeForm, active_form, priority";
  if (!value.is_object()) return Wrong(path, "is not an object", "an object");
  TodoItemInput item;
  for (const auto& [name, member] : value.items()) {
    const std::string member_path = absl::StrCat(path, ".", name);
    const bool known = name == "content" || name == "status" || name == "id" || name == "activeForm" ||
                       name == "active_form" || name == "priority";
    if (!known) return Wrong(member_path, absl::StrCat("is not known; allowed: ", kMembers), kMembers);
    if (!member.is_string()) return Wrong(member_path, "is not a string", "a string");
    const std::string& text = member.get_ref<const std::string&>();
    if (name == "content") item.set_content(text);
    if (name == "id") item.set_id(text);
    if (name == "activeForm" || name == "active_form") item.set_active_form(text);
    if (name == "priority") item.set_priority(text);
    if (name == "status") {
      DOCKET_ASSIGN_OR_RETURN(const todo::v1::TodoStatus status, ParseStatus(member_path, text));
      item.set_status(status);
    }
  }
  return item;
}

}  // namespace

absl::StatusOr<std::vector<TodoItemInput>> ParseTodos(absl::string_view text) {
  const json value = harness::ParseJson(text);
  if (value.is_discarded()) return Wrong("todos", "the input is not JSON in UTF-8", R"({"todos":[...]} or [...])");
  const json* list = &value;
  if (value.is_object()) {
    const auto found = value.find("todos");
    if (found == value.end() || value.size() != 1)
      return Wrong("todos", R"(the input must be {"todos":[...]} or [...])", R"({"todos":[...]} or [...])");
    list = &*found;
  }
  if (!list->is_array()) return Wrong("todos", "is not an array", "an array of items");
  std::vector<TodoItemInput> items;
  for (size_t i = 0; i < list->size(); ++i) {
    DOCKET_ASSIGN_OR_RETURN(TodoItemInput item, ParseItem(absl::StrCat("todos[", i, "]"), (*list)[i]));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace docket::cli
