#include "services/todo/core/plan_writer.h"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/common/errors.h"
#include "services/common/status_macros.h"
#include "services/todo/core/plan_diff.h"
#include "services/todo/core/plan_view.h"
#include "services/todo/core/todo_text.h"
#include "services/todo/core/write_checks.h"
#include "services/todo/core/write_events.h"

namespace docket::todo {
namespace {

// How long the feed may take to bring what the log already has.
constexpr absl::Duration kFeedDelay = absl::Seconds(5);
// The events before a write that tell what stood. A list further back counts as gone.
constexpr int64_t kEventsBefore = 64;
constexpr size_t kReadBytes = 4 << 20;
// Recorded refusals of a session: so many at once, then one a second.
constexpr double kRecordBurst = 10;
constexpr size_t kMaxAllowances = 10'000;

absl::StatusOr<JudgedWrite> Judge(const v1::WriteTodosRequest& request, const SessionFold* fold, const Policy& policy) {
  DOCKET_RETURN_IF_ERROR(CheckOwner(request, fold, policy));
  DOCKET_RETURN_IF_ERROR(CheckExpectedVersion(request, fold));
  return JudgeWrite(request, fold, policy);
}

// Whether a newer state of the session could lift the refusal.
bool DependsOnState(const v1::WriteTodosRequest& request, const absl::Status& refusal) {
  switch (ReasonOf(refusal).value_or(docket::v1::ERROR_REASON_UNSPECIFIED)) {
    case docket::v1::ERROR_REASON_SESSION_NOT_FOUND:
    case docket::v1::ERROR_REASON_SESSION_CLOSED:
    case docket::v1::ERROR_REASON_AGENT_UNKNOWN:
    case docket::v1::ERROR_REASON_NO_OPEN_TURN:
    case docket::v1::ERROR_REASON_REVISION_CONFLICT:
      return true;
    case docket::v1::ERROR_REASON_INVALID_TODO:
    case docket::v1::ERROR_REASON_TODO_RULE:
      return request.mode() == v1::WRITE_MODE_MERGE;
    default:
      return false;
  }
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<v1::WriteTodosResponse> PlanWriter::Write(const v1::WriteTodosRequest& request, absl::Time deadline) {
  DOCKET_RETURN_IF_ERROR(CheckRequest(request));
  for (;;) {
    DOCKET_ASSIGN_OR_RETURN(const SessionRef session,
                            cache_.Await(request.tenant_id(), request.session_id(), deadline));
    const auto policy = policies_.ForTenant(request.tenant_id());
    const SessionFold fold = cache_.FoldOf(session);
    const SessionFold* known = fold.state() == log::v1::SESSION_STATE_UNSPECIFIED ? nullptr : &fold;
    absl::StatusOr<JudgedWrite> judged = Judge(request, known, *policy);
    absl::Status refusal = judged.status();
    if (judged.ok()) {
      const auto appended = log_.Append(WriteRequest(request, *judged, known, *policy), deadline);
      if (appended.ok() && appended->seqs().empty()) return absl::InternalError("the log answered without a seq");
      if (appended.ok()) {
        const int64_t version = *appended->seqs().rbegin();
        if (appended->deduplicated()) return AnswerAgain(request, session, version, deadline);
        return Answer(request, session, *judged, version, deadline);
      }
      refusal = FromAppendError(request, appended.status());
      if (IsAway(refusal) || ReasonOf(refusal) == docket::v1::ERROR_REASON_CALL_ID_REUSED) return refusal;
    }
    if (ReasonOf(refusal) == docket::v1::ERROR_REASON_INVALID_REQUEST) return refusal;
    if (DependsOnState(request, refusal)) {
      DOCKET_ASSIGN_OR_RETURN(const bool judge_again, CatchUp(request, session, fold, deadline));
      if (judge_again) continue;
    }
    return Refuse(request, session, fold, refusal, deadline);
  }
}

absl::StatusOr<bool> PlanWriter::CatchUp(const v1::WriteTodosRequest& request, const SessionRef& session,
                                         const SessionFold& fold, absl::Time deadline) {
  // Shared: the answer may come after the deadline.
  auto promise = std::make_shared<std::promise<absl::StatusOr<EventLog::Session>>>();
  auto answer = promise->get_future();
  log_.LoadSession(request.tenant_id(), request.session_id(), /*at_least=*/0,
                   [promise](absl::StatusOr<EventLog::Session> loaded) { promise->set_value(std::move(loaded)); });
  const absl::StatusOr<EventLog::Session> loaded = answer.get();
  if (ReasonOf(loaded.status()) == docket::v1::ERROR_REASON_SESSION_NOT_FOUND) return false;
  DOCKET_RETURN_IF_ERROR(loaded.status());
  const SessionFold newest = SessionFold::FromSummary(loaded->summary, loaded->latest_events);
  const PlanFold* agent = newest.FindAgent(request.agent_id());
  if (agent == nullptr) agent = newest.FindAgent(kMainAgent);
  if (agent == nullptr) return false;
  const PlanFold* held = fold.FindAgent(agent->agent_id);
  if (held != nullptr && fold.Revision(*held) >= newest.Revision(*agent)) return false;
  DOCKET_RETURN_IF_ERROR(cache_.AwaitRevision(session, agent->agent_id, newest.Revision(*agent),
                                              std::min(deadline, clock_.Now() + kFeedDelay)));
  return true;
}

absl::StatusOr<v1::WriteTodosResponse> PlanWriter::Refuse(const v1::WriteTodosRequest& request,
                                                          const SessionRef& session, const SessionFold& fold,
                                                          const absl::Status& refusal, absl::Time deadline) {
  const auto known = log_.Append(ProbeRequest(request), deadline);
  if (known.ok() && known->deduplicated() && !known->seqs().empty()) {
    return AnswerAgain(request, session, *known->seqs().rbegin(), deadline);
  }
  const absl::Status reused = FromAppendError(request, known.status());
  if (ReasonOf(reused) == docket::v1::ERROR_REASON_CALL_ID_REUSED || IsAway(reused)) return reused;
  Record(request, fold, refusal, deadline);
  return refusal;
}

absl::StatusOr<v1::WriteTodosResponse> PlanWriter::Answer(const v1::WriteTodosRequest& request,
                                                          const SessionRef& session, const JudgedWrite& judged,
                                                          int64_t version, absl::Time deadline) {
  DOCKET_RETURN_IF_ERROR(
      cache_.AwaitRevision(session, request.agent_id(), version, std::min(deadline, clock_.Now() + kFeedDelay)));
  const auto plan = cache_.PlanOf(session, request.agent_id());
  if (plan == nullptr) return NoPlanError(cache_.FoldOf(session), request.agent_id());
  v1::WriteTodosResponse response;
  *response.mutable_plan() = *plan;
  response.set_model_text(ModelText(judged.todo.items(), judged.changes, judged.dropped_unfinished,
                                    *policies_.ForTenant(request.tenant_id())));
  *response.mutable_normalizations() = judged.todo.normalizations();
  response.mutable_changes()->Add(judged.changes.begin(), judged.changes.end());
  response.set_version(version);
  response.mutable_dropped_unfinished()->Add(judged.dropped_unfinished.begin(), judged.dropped_unfinished.end());
  return response;
}

absl::StatusOr<v1::WriteTodosResponse> PlanWriter::AnswerAgain(const v1::WriteTodosRequest& request,
                                                               const SessionRef& session, int64_t version,
                                                               absl::Time deadline) {
  DOCKET_ASSIGN_OR_RETURN(const JudgedWrite judged, Reconstruct(request, version, deadline));
  DOCKET_ASSIGN_OR_RETURN(v1::WriteTodosResponse response, Answer(request, session, judged, version, deadline));
  response.set_deduplicated(true);
  return response;
}

absl::StatusOr<JudgedWrite> PlanWriter::Reconstruct(const v1::WriteTodosRequest& request, int64_t version,
                                                    absl::Time deadline) {
  log::v1::ReadSessionRequest read;
  read.set_tenant_id(request.tenant_id());
  read.set_session_id(request.session_id());
  read.set_agent_id(request.agent_id());
  read.set_from_seq(version);
  read.set_direction(log::v1::READ_DIRECTION_BACKWARD);
  read.set_limit(kEventsBefore);
  read.add_types(log::v1::EVENT_TYPE_TODO_WRITTEN);
  read.add_types(log::v1::EVENT_TYPE_TURN_STARTED);
  read.add_types(log::v1::EVENT_TYPE_TURN_ENDED);
  DOCKET_ASSIGN_OR_RETURN(auto events, log_.Read(read, kReadBytes, deadline));
  if (events.empty() || !events.front().event().has_todo_written()) {
    return absl::InternalError("the log does not have the write that it knows");
  }
  JudgedWrite judged;
  judged.todo = events.front().event().todo_written();
  events.erase(events.begin());
  // An implicit turn of the same append did not end what stood.
  if (!events.empty() && events.front().seq() == version - 1 &&
      events.front().event().turn_started().origin() == docket::v1::TURN_ORIGIN_IMPLICIT) {
    events.erase(events.begin());
  }
  SessionFold before(request.tenant_id(), request.session_id());
  for (auto event = events.rbegin(); event != events.rend(); ++event) before.Apply(*event);
  const PlanFold* agent = before.FindAgent(request.agent_id());
  const TodoItems stood =
      agent == nullptr ? TodoItems() : StandingItems(*agent, *policies_.ForTenant(request.tenant_id()));
  judged.changes = DiffItems(stood, judged.todo.items());
  for (const v1::TodoItem& item : stood) {
    const auto& dropped = judged.todo.dropped_unfinished();
    if (std::find(dropped.begin(), dropped.end(), item.item_id()) != dropped.end()) {
      judged.dropped_unfinished.push_back(item);
    }
  }
  return judged;
}

void PlanWriter::Record(const v1::WriteTodosRequest& request, const SessionFold& fold, const absl::Status& refusal,
                        absl::Time deadline) {
  if (!IsRecordedRefusal(refusal) || fold.state() != log::v1::SESSION_STATE_OPEN) return;
  if (fold.FindAgent(request.agent_id()) == nullptr) return;
  if (!MayRecord({request.tenant_id(), request.session_id()})) return;
  // The record is for people who look later; the answer does not depend on it.
  log_.Append(RejectedRequest(request, refusal), deadline).status().IgnoreError();
}

bool PlanWriter::MayRecord(const SessionName& session) {
  MutexLock lock(&mutex_);
  // Forgetting them all only allows a few more.
  if (allowances_.size() >= kMaxAllowances) allowances_.clear();
  const absl::Time now = clock_.Now();
  const auto [found, is_new] = allowances_.try_emplace(session, Allowance{kRecordBurst, now});
  Allowance& allowance = found->second;
  allowance.tokens = std::min(kRecordBurst, allowance.tokens + absl::ToDoubleSeconds(now - allowance.at));
  allowance.at = now;
  if (allowance.tokens < 1) return false;
  allowance.tokens -= 1;
  return true;
}

}  // namespace docket::todo
