#include "clients/cli/watch_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/terminal_text.h"

namespace docket::cli {
namespace {

Line HeadLine(const WatchState& state, size_t sessions) {
  return {{SafeText(state.title), Style::kBold},
          {absl::StrCat("  ", sessions, sessions == 1 ? " session" : " sessions", ", ", state.plans.size(),
                        state.plans.size() == 1 ? " plan" : " plans"),
           Style::kDim}};
}

// What is wrong, if anything.
Line TroubleLine(const WatchState& state, absl::Time now) {
  if (!state.disconnected.empty()) {
    return {
        {absl::StrCat("not connected for ", AgeText(now - state.disconnected_at), ": ", SafeText(state.disconnected)),
         Style::kWarning}};
  }
  if (!state.synced) return {{"connecting ...", Style::kDim}};
  if (state.stale_since.has_value()) {
    return {
        {absl::StrCat("docket-log is away for ", AgeText(now - *state.stale_since), "; plans are as they were then"),
         Style::kWarning}};
  }
  return {};
}

std::vector<Line> BodyLines(const std::vector<SessionPlans>& sessions, absl::Time now, size_t rows) {
  std::vector<std::vector<Line>> shown;
  size_t used = 0;
  for (const SessionPlans& session : sessions) {
    shown.push_back(SessionLines(session, now, Detail::kCurrent));
    used += shown.back().size() + 1;
  }
  for (size_t i = 0; i < sessions.size(); ++i) {
    std::vector<Line> full = SessionLines(sessions[i], now, Detail::kFull);
    const size_t grown = used - shown[i].size() + full.size();
    if (grown > rows && sessions.size() > 1) break;
    used = grown;
    shown[i] = std::move(full);
  }
  std::vector<Line> lines;
  for (std::vector<Line>& session : shown) {
    lines.push_back({});
    for (Line& line : session) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<Line> ScreenLines(const WatchState& state, absl::Time now, int rows, int columns, int& scroll) {
  const std::vector<SessionPlans> sessions = BySession(state.plans);
  std::vector<Line> lines = {HeadLine(state, sessions.size())};
  if (Line trouble = TroubleLine(state, now); !trouble.empty()) lines.push_back(std::move(trouble));
  if (state.synced && sessions.empty()) lines.push_back({{"no session yet", Style::kDim}});
  const size_t room = static_cast<size_t>(std::max(rows - static_cast<int>(lines.size()) - 1, 0));
  std::vector<Line> body = BodyLines(sessions, now, room);
  const int last_scroll = std::max(static_cast<int>(body.size()) - static_cast<int>(room), 0);
  scroll = std::clamp(scroll, 0, last_scroll);
  body.erase(body.begin(), body.begin() + scroll);
  if (body.size() > room) body.resize(room);
  while (body.size() < room) body.push_back({});
  for (Line& line : body) lines.push_back(std::move(line));
  lines.push_back({{last_scroll == 0 ? "q quit" : "q quit · arrows and page keys scroll", Style::kDim}});
  if (lines.size() > static_cast<size_t>(std::max(rows, 0))) lines.resize(static_cast<size_t>(std::max(rows, 0)));
  for (Line& line : lines) line = CutLine(line, columns);
  return lines;
}

std::vector<Line> SnapshotLines(const std::vector<todo::v1::Plan>& plans, absl::Time now) {
  std::vector<Line> lines;
  for (const SessionPlans& session : BySession(plans)) {
    for (Line& line : SessionLines(session, now, Detail::kFull)) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> ChangeLines(const todo::v1::WatchPlansResponse::PlanChanged& changed, absl::Time now,
                              absl::TimeZone zone) {
  const todo::v1::Plan& plan = changed.plan();
  Line head = {{absl::FormatTime("%H:%M:%S ", now, zone), Style::kDim},
               {SafeText(absl::StrCat(plan.session_id(), " ", plan.agent_id())), Style::kBold}};
  if (changed.erased()) {
    head.push_back({"  erased", Style::kWarning});
    return {std::move(head)};
  }
  head.push_back({absl::StrCat("  ", PlanStateText(plan.state()))});
  if (const std::string run = RunStateText(plan); !run.empty()) head.push_back({absl::StrCat(", ", run)});
  head.push_back({absl::StrCat(", ", CountsText(plan.counts()))});
  std::vector<Line> lines = {std::move(head)};
  for (const todo::v1::ItemChange& change : changed.changes()) lines.push_back({{"  "}, ChangeSpan(change)});
  return lines;
}

}  // namespace docket::cli
