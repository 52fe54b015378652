#include "services/log/core/shard_tail.h"

#include <iterator>
#include <optional>

#include "services/common/status_macros.h"
#include "services/log/core/session_reader.h"

namespace docket::log {
absl::Status ShardTail::Start() {
  if (started_) return absl::OkStatus();
  DOCKET_ASSIGN_OR_RETURN(const ShardHead head, store_.ReadHead(shard_));
  Reset(head);
  return absl::OkStatus();
}

void ShardTail::Reset(const ShardHead& head) {
  states_.clear();
  keys_.clear();
  uses_.clear();
  dirty_.clear();
  epoch_ = head.epoch;
  position_ = head.tail;
  id_ = head.tail_id;
  started_ = true;
  feed_.Begin({head.tail, head.epoch});
}

void ShardTail::Advance(const std::vector<StoredEvent>& events) {
  const Position before = position_;
  for (const StoredEvent& event : events) {
    if (event.position <= position_) continue;
    position_ = event.position;
    id_ = event.id;
    auto key = keys_.find(event.session_pk);
    if (key == keys_.end()) continue;
    Entry& entry = states_.at(key->second);
    // A copy for whoever still holds the old one.
    auto next = std::make_shared<SessionState>(*entry.state);
    next->Apply(event);
    entry.state = next;
    dirty_[event.session_pk] = next;
  }
  feed_.Advance(before, position_, events);
}

absl::Status ShardTail::CatchUp() {
  for (;;) {
    DOCKET_ASSIGN_OR_RETURN(const EventPage page, store_.ReadShard(shard_, {.after = position_}));
    Advance(page.events);
    if (page.reached_tail) return absl::OkStatus();
    if (page.events.empty() && page.through <= position_) return absl::OkStatus();
  }
}

ShardTail::Entry& ShardTail::Insert(SessionState state) {
  Key key(state.summary().tenant_id(), state.summary().session_id());
  while (states_.size() >= options_.cached_states) {
    const Key& oldest = uses_.front();
    keys_.erase(states_.at(oldest).state->pk());
    states_.erase(oldest);
    uses_.pop_front();
  }
  uses_.push_back(key);
  keys_[state.pk()] = key;
  Entry& entry = states_[key];
  entry = {std::make_shared<SessionState>(std::move(state)), std::prev(uses_.end())};
  return entry;
}

absl::StatusOr<std::shared_ptr<const SessionState>> ShardTail::State(absl::string_view tenant_id,
                                                                     absl::string_view session_id) {
  auto found = states_.find(Key(tenant_id, session_id));
  if (found != states_.end()) {
    uses_.splice(uses_.end(), uses_, found->second.use);
    return found->second.state;
  }
  DOCKET_ASSIGN_OR_RETURN(const std::optional<SessionRow> row, store_.FindSession(shard_, tenant_id, session_id));
  if (!row.has_value()) return nullptr;
  DOCKET_ASSIGN_OR_RETURN(SessionState state, FoldOn(store_, shard_, *row));
  return Insert(std::move(state)).state;
}

void ShardTail::Keep(SessionState state) {
  Insert(std::move(state));
}

std::vector<SessionRow> ShardTail::DirtyRows() const {
  std::vector<SessionRow> rows;
  for (const auto& [pk, state] : dirty_) rows.push_back(state->ToRow());
  return rows;
}

void ShardTail::Flushed(const std::vector<SessionRow>& rows) {
  for (const SessionRow& row : rows) {
    auto found = dirty_.find(row.pk);
    if (found != dirty_.end() && found->second->head() <= row.checkpoint_seq) dirty_.erase(found);
  }
}

}  // namespace docket::log
