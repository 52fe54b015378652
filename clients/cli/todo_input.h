#ifndef DOCKET_CLIENTS_CLI_TODO_INPUT_H_
#define DOCKET_CLIENTS_CLI_TODO_INPUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "docket/todo/v1/todo_service.pb.h"

namespace docket::cli {

// Reads what a todo tool is called with: {"todos":[...]} or the array alone. An item is an object with `content`,
// `status` ("pending", "in_progress", "completed", "cancelled"), `id`, `activeForm` or `active_form`, and `priority`,
// all of them strings. Nothing is repaired. Error: INVALID_TODO with the path ("todos[2].status") and what is allowed.
// Which members an item needs is left to docket-todo.
absl::StatusOr<std::vector<todo::v1::TodoItemInput>> ParseTodos(absl::string_view json);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_TODO_INPUT_H_
