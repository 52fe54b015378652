#include "services/todo/core/plan_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/todo/core/plan_diff.h"
#include "services/todo/core/plan_view.h"

namespace docket::todo {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

constexpr int kDefaultPage = 50;
constexpr int kMaxPage = 1000;
constexpr size_t kMaxLabels = 16;
// A page ends early rather than grow beyond about this.
constexpr size_t kListBytes = 2 << 20;
constexpr size_t kHistoryBytes = 4 << 20;

absl::Status CheckPage(int32_t page_size) {
  if (page_size >= 0 && page_size <= kMaxPage) return absl::OkStatus();
  return FieldError(ERROR_REASON_INVALID_REQUEST, "page_size",
                    absl::StrCat("it is ", page_size, "; allowed: 0 to ", kMaxPage));
}

absl::Status TokenInvalid() {
  return FieldError(docket::v1::ERROR_REASON_TOKEN_INVALID, "page_token", "it is not from an answer to this request");
}

template <typename Request>
absl::Status CheckPlanNames(const Request& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "session_id", request.session_id()));
  return CheckId(ERROR_REASON_INVALID_REQUEST, "agent_id", request.agent_id());
}

absl::Status CheckList(const v1::ListPlansRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  if (!request.session_id().empty()) {
    DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "session_id", request.session_id()));
  }
  if (request.session_labels().size() > kMaxLabels) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "session_labels",
                      absl::StrCat("at most ", kMaxLabels, " labels are allowed"));
  }
  for (int i = 0; i < request.states_size(); ++i) {
    if (!v1::PlanState_IsValid(request.states(i)) || request.states(i) == v1::PLAN_STATE_UNSPECIFIED) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, absl::StrCat("states[", i, "]"), "it is no known state");
    }
  }
  return CheckPage(request.page_size());
}

// Where a list goes on: after the first `skip` sessions of the log's page `log_token`.
struct ListToken {
  int skip = 0;
  std::string log_token;
};

std::optional<ListToken> ParseListToken(const std::string& text) {
  if (text.empty()) return ListToken();
  const size_t colon = text.find(':');
  ListToken token;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(0, colon), &token.skip) || token.skip < 0 ||
      token.skip > kMaxPage) {
    return std::nullopt;
  }
  token.log_token = text.substr(colon + 1);
  return token;
}

bool HasState(const v1::ListPlansRequest& request, v1::PlanState state) {
  return request.states().empty() ||
         std::find(request.states().begin(), request.states().end(), state) != request.states().end();
}

}  // namespace

absl::Status PlanReader::GetPlan(const v1::GetPlanRequest& request, absl::Time deadline,
                                 v1::GetPlanResponse& response) {
  DOCKET_RETURN_IF_ERROR(CheckPlanNames(request));
  if (request.min_revision() < 0) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "min_revision", "it is negative; allowed: 0 and more");
  }
  DOCKET_ASSIGN_OR_RETURN(const SessionRef session, cache_.Await(request.tenant_id(), request.session_id(), deadline));
  if (request.min_revision() > 0) {
    DOCKET_RETURN_IF_ERROR(cache_.AwaitRevision(session, request.agent_id(), request.min_revision(), deadline));
  }
  const auto plan = cache_.PlanOf(session, request.agent_id());
  if (plan == nullptr) return NoPlanError(cache_.FoldOf(session), request.agent_id());
  *response.mutable_plan() = *plan;
  if (const auto stale = cache_.StaleFor(request.tenant_id())) *response.mutable_stale_for() = ToProto(*stale);
  return absl::OkStatus();
}

absl::Status PlanReader::ListPlans(const v1::ListPlansRequest& request, absl::Time deadline,
                                   v1::ListPlansResponse& response) {
  DOCKET_RETURN_IF_ERROR(CheckList(request));
  if (request.session_id().empty()) {
    DOCKET_RETURN_IF_ERROR(ListTenant(request, deadline, response));
  } else {
    if (!request.page_token().empty()) return TokenInvalid();
    DOCKET_RETURN_IF_ERROR(AddSession(request, request.session_id(), deadline, response));
  }
  if (const auto stale = cache_.StaleFor(request.tenant_id())) *response.mutable_stale_for() = ToProto(*stale);
  return absl::OkStatus();
}

absl::Status PlanReader::ListTenant(const v1::ListPlansRequest& request, absl::Time deadline,
                                    v1::ListPlansResponse& response) {
  const auto token = ParseListToken(request.page_token());
  if (!token.has_value()) return TokenInvalid();
  log::v1::ListSessionsRequest list;
  list.set_tenant_id(request.tenant_id());
  list.set_page_size(request.page_size() == 0 ? kDefaultPage : request.page_size());
  list.set_page_token(token->log_token);
  *list.mutable_labels() = request.session_labels();
  if (request.has_active_since()) *list.mutable_active_since() = request.active_since();
  DOCKET_ASSIGN_OR_RETURN(const log::v1::ListSessionsResponse page, log_.ListSessions(list, deadline));
  // They are read side by side.
  std::vector<SessionRef> held;
  for (const log::v1::SessionSummary& session : page.sessions()) {
    held.push_back(cache_.Find(request.tenant_id(), session.session_id()));
  }
  for (int i = token->skip; i < page.sessions_size(); ++i) {
    if (response.ByteSizeLong() >= kListBytes) {
      response.set_next_page_token(absl::StrCat(i, ":", token->log_token));
      return absl::OkStatus();
    }
    const absl::Status added = AddSession(request, page.sessions(i).session_id(), deadline, response);
    // It was erased since.
    if (ReasonOf(added) == docket::v1::ERROR_REASON_SESSION_ERASED) continue;
    DOCKET_RETURN_IF_ERROR(added);
  }
  if (!page.next_page_token().empty()) response.set_next_page_token(absl::StrCat("0:", page.next_page_token()));
  return absl::OkStatus();
}

absl::Status PlanReader::AddSession(const v1::ListPlansRequest& request, const std::string& session_id,
                                    absl::Time deadline, v1::ListPlansResponse& response) {
  DOCKET_ASSIGN_OR_RETURN(const SessionRef session, cache_.Await(request.tenant_id(), session_id, deadline));
  const auto plans = cache_.PlansOf(session);
  if (plans.empty()) return NoPlanError(cache_.FoldOf(session), kMainAgent);
  for (const auto& plan : plans) {
    if (HasState(request, plan->state())) *response.add_plans() = *plan;
  }
  return absl::OkStatus();
}

absl::Status PlanReader::GetPlanHistory(const v1::GetPlanHistoryRequest& request, absl::Time deadline,
                                        v1::GetPlanHistoryResponse& response) {
  DOCKET_RETURN_IF_ERROR(CheckPlanNames(request));
  DOCKET_RETURN_IF_ERROR(CheckPage(request.page_size()));
  int64_t before = 0;
  if (!request.page_token().empty() && (!absl::SimpleAtoi(request.page_token(), &before) || before < 2)) {
    return TokenInvalid();
  }
  DOCKET_ASSIGN_OR_RETURN(const SessionRef session, cache_.Await(request.tenant_id(), request.session_id(), deadline));
  if (cache_.PlanOf(session, request.agent_id()) == nullptr) {
    return NoPlanError(cache_.FoldOf(session), request.agent_id());
  }
  const size_t page = static_cast<size_t>(request.page_size() == 0 ? kDefaultPage : request.page_size());
  log::v1::ReadSessionRequest read;
  read.set_tenant_id(request.tenant_id());
  read.set_session_id(request.session_id());
  read.set_agent_id(request.agent_id());
  read.set_from_seq(before == 0 ? 0 : before - 1);
  read.set_direction(log::v1::READ_DIRECTION_BACKWARD);
  // One more than is shown, to tell what the last one changed.
  read.set_limit(static_cast<int64_t>(page) + 1);
  read.add_types(log::v1::EVENT_TYPE_TODO_WRITTEN);
  DOCKET_ASSIGN_OR_RETURN(const auto events, log_.Read(read, kHistoryBytes, deadline));
  size_t bytes = 0;
  for (const log::v1::RecordedEvent& event : events) bytes += event.ByteSizeLong();
  const bool cut = events.size() > page || (bytes >= kHistoryBytes && events.size() > 1);
  const size_t shown = cut ? events.size() - 1 : events.size();
  for (size_t i = 0; i < shown; ++i) {
    const log::v1::RecordedEvent& event = events[i];
    v1::PlanVersion& version = *response.add_versions();
    version.set_version(event.seq());
    *version.mutable_todo_written() = event.event().todo_written();
    *version.mutable_recorded_at() = event.recorded_at();
    if (event.event().has_occurred_at()) *version.mutable_occurred_at() = event.event().occurred_at();
    const TodoItems none;
    const auto changes = DiffItems(i + 1 < events.size() ? events[i + 1].event().todo_written().items() : none,
                                   event.event().todo_written().items());
    version.mutable_changes()->Add(changes.begin(), changes.end());
  }
  if (cut) response.set_next_page_token(absl::StrCat(events[shown - 1].seq()));
  return absl::OkStatus();
}

}  // namespace docket::todo
