#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_DIFF_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_DIFF_H_

#include <vector>

#include "docket/todo/v1/todo.pb.h"

namespace docket::todo {

// What happened to the items between two lists. Items are the same if their item ids are; items without one, if their
// contents are. First the removed ones in their old order, then the others in their new order; an item that
// changed in several ways has a change for each (STATUS, EDITED, MOVED). As few items as possible count as MOVED.
std::vector<v1::ItemChange> DiffItems(const google::protobuf::RepeatedPtrField<v1::TodoItem>& before,
                                      const google::protobuf::RepeatedPtrField<v1::TodoItem>& after);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_DIFF_H_
