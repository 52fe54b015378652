#ifndef DOCKET_SERVICES_TODO_CORE_TODO_RULES_H_
#define DOCKET_SERVICES_TODO_CORE_TODO_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "docket/todo/v1/todo.pb.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy.h"
#include "services/todo/core/write_checks.h"

// Judges writes of todo lists. Pure functions; the order is: CheckRequest, CheckOwner, CheckExpectedVersion,
// JudgeWrite.

namespace docket::todo {

// A write that was accepted.
struct JudgedWrite {
  // What is to be stored.
  v1::TodoWritten todo;
  // What it changes in the standing list.
  std::vector<v1::ItemChange> changes;
  // The unfinished items of the standing list that it leaves out.
  std::vector<v1::TodoItem> dropped_unfinished;
  // The agent's newest TodoWritten or TurnStarted, which it was judged against. 0: there is none.
  int64_t judged_seq = 0;
};

// Turns what was sent into the list to store: checks each item, merges, keeps the identity of items, applies the
// policy. `fold` is null if the session does not exist yet. Includes CheckRequest(). Deterministic: the same request
// against the same fold gives the same list, item ids included.
//
// An item keeps the identity of the standing item that its id names (`item_id` or `source_id`), else, when replacing or
// without an id, of the one with exactly its content; any other is new. A merge changes only the fields that are set.
//
// Errors: INVALID_REQUEST; TODO_DISABLED; INVALID_TODO (metadata: path, index, rule, allowed; rules: those of
// list_rules.h, and id_or_content, status_required); TODO_RULE (the same metadata; the rule is the policy's field).
// Each message is one sentence that a model can act on.
absl::StatusOr<JudgedWrite> JudgeWrite(const v1::WriteTodosRequest& request, const SessionFold* fold,
                                       const Policy& policy);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_TODO_RULES_H_
