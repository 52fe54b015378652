#include "services/todo/core/plan_diff.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace docket::todo {
namespace {

using Items = google::protobuf::RepeatedPtrField<v1::TodoItem>;

// What makes two items the same. A content cannot be taken for an id, which has no control characters.
std::string IdentityOf(const v1::TodoItem& item) {
  return item.item_id().empty() ? absl::StrCat("\n", item.content()) : item.item_id();
}

v1::ItemChange Change(const v1::TodoItem& item, v1::ItemChangeKind kind) {
  v1::ItemChange change;
  change.set_item_id(item.item_id());
  change.set_kind(kind);
  change.set_content(item.content());
  return change;
}

// The values that are not on a longest increasing subsequence: the fewest that have to move for the rest to be in
// order.
absl::flat_hash_set<int> MovedPlaces(const std::vector<int>& places) {
  std::vector<size_t> ends;  // ends[n]: where the increasing run of n + 1 values with the least last value ends.
  std::vector<size_t> before(places.size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const auto run = std::lower_bound(ends.begin(), ends.end(), places[i],
                                      [&](size_t end, int place) { return places[end] < place; });
    if (run != ends.begin()) before[i] = *(run - 1);
    if (run == ends.end()) {
      ends.push_back(i);
    } else {
      *run = i;
    }
  }
  absl::flat_hash_set<int> moved(places.begin(), places.end());
  for (size_t i = ends.empty() ? places.size() : ends.back(); i < places.size(); i = before[i]) moved.erase(places[i]);
  return moved;
}

void AppendKept(const v1::TodoItem& old_item, const v1::TodoItem& new_item, bool moved,
                std::vector<v1::ItemChange>& changes) {
  if (old_item.status() != new_item.status()) {
    v1::ItemChange change = Change(new_item, v1::ITEM_CHANGE_KIND_STATUS);
    change.set_old_status(old_item.status());
    change.set_new_status(new_item.status());
    changes.push_back(std::move(change));
  }
  if (old_item.content() != new_item.content() || old_item.active_form() != new_item.active_form() ||
      old_item.priority() != new_item.priority()) {
    changes.push_back(Change(new_item, v1::ITEM_CHANGE_KIND_EDITED));
  }
  if (moved) changes.push_back(Change(new_item, v1::ITEM_CHANGE_KIND_MOVED));
}

}  // namespace

std::vector<v1::ItemChange> DiffItems(const Items& before, const Items& after) {
  absl::flat_hash_map<std::string, int> old_places;
  for (int i = 0; i < before.size(); ++i) old_places.emplace(IdentityOf(before[i]), i);
  std::vector<int> places;                                               // Of the kept items, in the new order.
  std::vector<int> old_place_of(static_cast<size_t>(after.size()), -1);  // By place in `after`; -1: new.
  absl::flat_hash_set<int> kept;
  for (int i = 0; i < after.size(); ++i) {
    const auto found = old_places.find(IdentityOf(after[i]));
    if (found == old_places.end() || !kept.insert(found->second).second) continue;
    old_place_of[static_cast<size_t>(i)] = found->second;
    places.push_back(found->second);
  }
  const absl::flat_hash_set<int> moved = MovedPlaces(places);
  std::vector<v1::ItemChange> changes;
  for (int i = 0; i < before.size(); ++i) {
    if (kept.contains(i)) continue;
    changes.push_back(Change(before[i], v1::ITEM_CHANGE_KIND_REMOVED));
    changes.back().set_old_status(before[i].status());
  }
  for (int i = 0; i < after.size(); ++i) {
    const int old_place = old_place_of[static_cast<size_t>(i)];
    if (old_place >= 0) {
      AppendKept(before[old_place], after[i], moved.contains(old_place), changes);
      continue;
    }
    changes.push_back(Change(after[i], v1::ITEM_CHANGE_KIND_ADDED));
    changes.back().set_new_status(after[i].status());
  }
  return changes;
}

}  // namespace docket::todo
