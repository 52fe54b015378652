#include "services/log/core/append_judge.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/errors.h"
#include "services/common/status_macros.h"
#include "services/log/core/event_shape.h"

namespace docket::log {
namespace {

// What a precondition expects and what is; equal if it holds.
struct Compared {
  std::string subject;
  int64_t expected = 0;
  int64_t actual = 0;
};

Compared Compare(const v1::Precondition& condition, const SessionState& state) {
  if (condition.has_no_session()) return {"no_session", 0, state.head().value};
  if (condition.has_head_seq()) return {"head_seq", condition.head_seq().seq(), state.head().value};
  const auto& latest = condition.latest_seq();
  return {absl::StrCat("latest_seq of ", latest.agent_id()), latest.seq(),
          state.Latest(latest.agent_id(), latest.types()).value};
}

bool SameContent(const v1::SessionEvent& event, const StoredEvent& stored) {
  v1::SessionEvent before;
  if (!event.content_digest().empty() && before.ParseFromString(stored.payload) && !before.content_digest().empty()) {
    return before.content_digest() == event.content_digest();
  }
  return PayloadOf(event) == stored.payload;
}

}  // namespace

absl::Status CheckPreconditions(const v1::AppendRequest& request, const SessionState& state) {
  absl::Status failed;
  for (const auto& condition : request.preconditions()) {
    const Compared compared = Compare(condition, state);
    if (compared.expected == compared.actual) continue;
    const std::string text = absl::StrCat(compared.subject, ": expected ", compared.expected, ", is ", compared.actual);
    if (failed.ok()) {
      failed = MakeError(docket::v1::ERROR_REASON_REVISION_CONFLICT, text,
                         {{"expected", absl::StrCat(compared.expected)}, {"actual", absl::StrCat(compared.actual)}});
    }
    failed = WithPreconditionViolation(failed, "REVISION_CONFLICT", compared.subject, text);
  }
  return failed;
}

absl::Status Judge(const v1::AppendRequest& request, int first, absl::Time now, SessionState& state) {
  DOCKET_RETURN_IF_ERROR(CheckPreconditions(request, state));
  const auto add = [&](int i, SessionState& to) {
    const absl::Status status = to.Check(request.events(i), absl::StrCat("events[", i, "]"));
    if (status.ok()) to.Apply(Seq{to.head().value + 1}, now, request.events(i));
    return status;
  };
  if (request.events_size() - first == 1) return add(first, state);
  SessionState next = state;
  for (int i = first; i < request.events_size(); ++i) DOCKET_RETURN_IF_ERROR(add(i, next));
  state = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<int> KnownPrefix(const v1::AppendRequest& request, const std::vector<StoredEvent>& stored) {
  absl::flat_hash_map<std::string, const StoredEvent*> by_id;
  for (const StoredEvent& event : stored) by_id[event.id.ToString()] = &event;
  int known = 0;
  bool prefix = true, new_seen = false;
  for (int i = 0; i < request.events_size(); ++i) {
    const auto& event = request.events(i);
    auto found = by_id.find(event.event_id());
    if (found == by_id.end()) {
      new_seen = true;
      continue;
    }
    if (!SameContent(event, *found->second)) {
      return MakeError(docket::v1::ERROR_REASON_EVENT_ID_REUSED, "the event id is stored already with other content",
                       {{"event_id", event.event_id()}, {"seq", absl::StrCat(found->second->seq.value)}});
    }
    prefix = prefix && !new_seen;
    ++known;
  }
  if (prefix || known == 0) return known;
  const std::string seqs = absl::StrJoin(
      stored, ",", [](std::string* out, const StoredEvent& event) { absl::StrAppend(out, event.seq.value); });
  return MakeError(docket::v1::ERROR_REASON_PARTIAL_DUPLICATE,
                   "some of the events are stored already, but they are not the first ones of the request",
                   {{"known_seqs", seqs}});
}

}  // namespace docket::log
