#include "services/log/core/session_lister.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/proto_time.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/log/core/limits.h"
#include "services/log/core/session_reader.h"
#include "services/log/core/session_state.h"

namespace docket::log {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

// Events looked at, and rows folded, at a time.
constexpr int kTouchedEvents = 20'000;
constexpr size_t kFoldedRows = 200;

// What a token is bound to: everything that selects and orders.
std::string FilterDigest(const v1::ListSessionsRequest& request) {
  std::string filter;
  std::map<std::string, std::string> labels(request.labels().begin(), request.labels().end());
  for (const auto& [key, value] : labels) absl::StrAppend(&filter, key.size(), ":", key, value.size(), ":", value);
  for (const int state : request.states()) absl::StrAppend(&filter, "s", state);
  if (request.has_active_since()) absl::StrAppend(&filter, "a", request.active_since().SerializeAsString());
  return absl::BytesToHexString(Sha256OfParts({request.tenant_id(), filter}).substr(0, 12));
}

std::string MakeToken(const v1::ListSessionsRequest& request, absl::Time activity, SessionPk pk) {
  return absl::WebSafeBase64Escape(
      absl::StrCat("1/", FilterDigest(request), "/", absl::ToUnixMicros(activity), "/", pk.value));
}

absl::StatusOr<std::pair<absl::Time, SessionPk>> ReadToken(const v1::ListSessionsRequest& request) {
  std::string text;
  int64_t micros = 0, pk = 0;
  std::vector<std::string> parts;
  if (absl::WebSafeBase64Unescape(request.page_token(), &text)) parts = absl::StrSplit(text, '/');
  if (parts.size() != 4 || parts[0] != "1" || parts[1] != FilterDigest(request) ||
      !absl::SimpleAtoi(parts[2], &micros) || !absl::SimpleAtoi(parts[3], &pk)) {
    return FieldError(docket::v1::ERROR_REASON_TOKEN_INVALID, "page_token",
                      "the token is not one that this list, with this filter, was answered with");
  }
  return std::pair(absl::FromUnixMicros(micros), SessionPk{pk});
}

absl::StatusOr<SessionFilter> ReadFilter(const v1::ListSessionsRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  SessionFilter filter;
  if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "page_size",
                      absl::StrCat("the page size must be 0 (for ", kDefaultPageSize, ") to ", kMaxPageSize));
  }
  filter.limit = request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  if (request.labels_size() > kMaxFilterLabels) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "labels",
                      absl::StrCat("at most ", kMaxFilterLabels, " labels are allowed"));
  }
  filter.labels.assign(request.labels().begin(), request.labels().end());
  for (int i = 0; i < request.states_size(); ++i) {
    const int state = request.states(i);
    if (state < v1::SESSION_STATE_OPEN || state > v1::SESSION_STATE_ERASED || request.states_size() > 3) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, absl::StrCat("states[", i, "]"),
                        "the states are OPEN, CLOSED and ERASED, each once",
                        {{"allowed", "SESSION_STATE_OPEN, SESSION_STATE_CLOSED, SESSION_STATE_ERASED"}});
    }
    filter.states.push_back(static_cast<v1::SessionState>(state));
  }
  if (filter.states.empty()) filter.states = {v1::SESSION_STATE_OPEN, v1::SESSION_STATE_CLOSED};
  if (request.has_active_since()) filter.active_since = FromProto(request.active_since());
  if (!request.page_token().empty()) {
    DOCKET_ASSIGN_OR_RETURN(filter.after, ReadToken(request));
  }
  return filter;
}

}  // namespace

absl::StatusOr<v1::ListSessionsResponse> SessionLister::List(ShardId shard, const v1::ListSessionsRequest& request) {
  DOCKET_ASSIGN_OR_RETURN(SessionFilter filter, ReadFilter(request));
  const int page_size = filter.limit++;  // one more says whether there is a next page
  v1::ListSessionsResponse response;
  DOCKET_ASSIGN_OR_RETURN(const Position position, TakeUp(shard));
  response.set_position(position.value);
  DOCKET_ASSIGN_OR_RETURN(const std::vector<SessionRow> rows, store_.ListSessions(shard, request.tenant_id(), filter));
  SessionPk last;
  for (const SessionRow& row : rows) {
    if (response.sessions_size() == page_size) {
      const v1::SessionSummary& shown = response.sessions(page_size - 1);
      response.set_next_page_token(MakeToken(request, FromProto(shown.last_activity()), last));
      break;
    }
    if (row.checkpoint_seq.value > 0) {
      *response.add_sessions() = SessionState::FromRow(row).summary();
    } else {
      // Opened since the rows were completed.
      DOCKET_ASSIGN_OR_RETURN(const SessionState state, FoldOn(store_, shard, row));
      *response.add_sessions() = state.summary();
    }
    last = row.pk;
  }
  return response;
}

absl::StatusOr<Position> SessionLister::TakeUp(ShardId shard) {
  Shard* known = nullptr;
  {
    MutexLock lock(&mutex_);
    auto& entry = shards_[shard];
    if (entry == nullptr) entry = std::make_unique<Shard>();
    known = entry.get();
  }
  MutexLock lock(&known->mutex);
  const absl::Time now = absl::Now();
  if (now - known->at < kFresh) return known->complete;
  DOCKET_ASSIGN_OR_RETURN(const ShardHead head, store_.ReadHead(shard));
  Position after = head.summary_position;
  while (after < head.tail) {
    DOCKET_ASSIGN_OR_RETURN(const TouchedPage page, store_.ReadTouched(shard, after, kTouchedEvents));
    DOCKET_RETURN_IF_ERROR(Complete(shard, page));
    if (page.through <= after) break;  // what was there was erased
    after = page.through;
  }
  known->complete = head.tail;
  known->at = now;
  return head.tail;
}

absl::Status SessionLister::Complete(ShardId shard, const TouchedPage& page) {
  for (size_t i = 0; i < page.sessions.size(); i += kFoldedRows) {
    const size_t end = std::min(page.sessions.size(), i + kFoldedRows);
    std::vector<SessionPk> pks;
    absl::flat_hash_map<SessionPk, Seq> newest;
    for (size_t k = i; k < end; ++k) {
      pks.push_back(page.sessions[k].pk);
      newest[page.sessions[k].pk] = page.sessions[k].newest;
    }
    DOCKET_ASSIGN_OR_RETURN(const std::vector<SessionRow> rows, store_.FindSessions(shard, pks));
    std::vector<SessionRow> folded;
    for (const SessionRow& row : rows) {
      if (row.checkpoint_seq >= newest[row.pk]) continue;
      DOCKET_ASSIGN_OR_RETURN(const SessionState state, FoldOn(store_, shard, row));
      folded.push_back(state.ToRow());
    }
    const bool last = end == page.sessions.size();
    if (folded.empty() && !last) continue;
    DOCKET_RETURN_IF_ERROR(store_.FlushSummaries(shard, folded, last ? page.through : Position{}));
  }
  return absl::OkStatus();
}

}  // namespace docket::log
