#include "clients/cli/plan_lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/terminal_text.h"
#include "services/common/proto_time.h"

namespace docket::cli {
namespace {

using todo::v1::Plan;

constexpr int kBarColumns = 20;
constexpr char kMainAgent[] = "main";

Style StyleOf(todo::v1::TodoStatus status) {
  switch (status) {
    case todo::v1::TODO_STATUS_IN_PROGRESS:
      return Style::kInProgress;
    case todo::v1::TODO_STATUS_COMPLETED:
      return Style::kCompleted;
    case todo::v1::TODO_STATUS_CANCELLED:
      return Style::kCancelled;
    default:
      return Style::kPending;
  }
}

int Total(const todo::v1::TodoCounts& counts) {
  return counts.pending() + counts.in_progress() + counts.completed() + counts.cancelled();
}

// How deep each agent stands in the tree, and all of them in its order.
void AppendTree(const std::multimap<std::string, const Plan*>& children, const std::string& agent,
                std::set<std::string>& seen, std::vector<const Plan*>& order) {
  const auto [begin, end] = children.equal_range(agent);
  for (auto it = begin; it != end; ++it) {
    if (!seen.insert(it->second->agent_id()).second) continue;
    order.push_back(it->second);
    AppendTree(children, it->second->agent_id(), seen, order);
  }
}

bool AppearedBefore(const Plan& a, const Plan& b) {
  const bool a_sub = a.agent_id() != kMainAgent, b_sub = b.agent_id() != kMainAgent;
  const absl::Time a_at = FromProto(a.created_at()), b_at = FromProto(b.created_at());
  return std::tie(a_sub, a_at, a.agent_id()) < std::tie(b_sub, b_at, b.agent_id());
}

std::vector<Plan> InTreeOrder(std::vector<Plan> plans) {
  std::stable_sort(plans.begin(), plans.end(), AppearedBefore);
  std::set<std::string> ids;
  for (const Plan& plan : plans) ids.insert(plan.agent_id());
  std::multimap<std::string, const Plan*> children;
  for (const Plan& plan : plans) {
    const std::string& parent = plan.parent_agent_id();
    const bool known = parent != plan.agent_id() && parent != kMainAgent && ids.contains(parent);
    children.emplace(known ? parent : "", &plan);
  }
  std::set<std::string> seen;
  std::vector<const Plan*> order;
  AppendTree(children, "", seen, order);
  for (const Plan& plan : plans) {  // parents in a circle
    if (seen.insert(plan.agent_id()).second) order.push_back(&plan);
  }
  std::vector<Plan> sorted;
  for (const Plan* plan : order) sorted.push_back(*plan);
  return sorted;
}

// How many agents stand above this one among those of its session, `main` included.
int DepthOf(const SessionPlans& session, const Plan& plan) {
  if (plan.agent_id() == kMainAgent) return 0;
  int depth = 1;
  const Plan* at = &plan;
  while (depth < 8) {
    const auto parent = std::find_if(session.plans.begin(), session.plans.end(), [at](const Plan& candidate) {
      return candidate.agent_id() == at->parent_agent_id() && candidate.agent_id() != kMainAgent;
    });
    if (parent == session.plans.end()) break;
    at = &*parent;
    ++depth;
  }
  return depth;
}

std::string Bar(const todo::v1::TodoCounts& counts) {
  const int total = Total(counts);
  const int filled = total == 0 ? 0 : kBarColumns * (counts.completed() + counts.cancelled()) / total;
  std::string bar;
  for (int i = 0; i < kBarColumns; ++i) absl::StrAppend(&bar, i < filled ? "━" : "─");
  return bar;
}

std::string TimeText(const Plan& plan, absl::Time now) {
  if (!plan.has_last_written_at()) return "";
  const absl::Duration age = now - FromProto(plan.last_written_at());
  const bool idle = plan.run_state() == todo::v1::RUN_STATE_TURN_OPEN && age > kIdleAfter;
  return absl::StrCat(idle ? "idle, " : "", "written ", age < absl::Seconds(1) ? "now" : AgeText(age) + " ago");
}

// What an agent's line says behind its name.
void AppendFacts(const Plan& plan, absl::Time now, Line& line) {
  const bool counted = Total(plan.counts()) > 0;
  if (counted) {
    line.push_back({absl::StrCat("  ", Bar(plan.counts()), " "), Style::kCompleted});
    line.push_back({CountsText(plan.counts())});
  }
  std::vector<std::string> facts;
  if (plan.state() == todo::v1::PLAN_STATE_EMPTY) facts.push_back("empty plan");
  if (plan.state() == todo::v1::PLAN_STATE_NEVER_WRITTEN) facts.push_back("no plan");
  if (plan.state() == todo::v1::PLAN_STATE_CLEARED) facts.push_back("of an earlier turn");
  if (const std::string run = RunStateText(plan); !run.empty()) facts.push_back(run);
  if (const std::string time = TimeText(plan, now); !time.empty()) facts.push_back(time);
  for (size_t i = 0; i < facts.size(); ++i)
    line.push_back({absl::StrCat(i == 0 && !counted ? "  " : " · ", facts[i]), Style::kDim});
}

}  // namespace

std::string PlainText(const Line& line) {
  std::string text;
  for (const Span& span : line) absl::StrAppend(&text, span.text);
  return text;
}

Line CutLine(const Line& line, int columns) {
  if (TextWidth(PlainText(line)) <= columns) return line;
  Line cut;
  int left = columns;
  for (const Span& span : line) {
    const int width = TextWidth(span.text);
    if (width < left) {
      cut.push_back(span);
      left -= width;
      continue;
    }
    // What follows is left out, so the ellipsis is due even where the span itself would fit.
    cut.push_back({CutText(absl::StrCat(span.text, "  "), left), span.style});
    break;
  }
  return cut;
}

std::vector<SessionPlans> BySession(std::vector<Plan> plans) {
  std::map<std::string, SessionPlans> sessions;
  for (Plan& plan : plans) {
    SessionPlans& session = sessions[plan.session_id()];
    session.session_id = plan.session_id();
    if (plan.has_changed_at()) session.changed_at = std::max(session.changed_at, FromProto(plan.changed_at()));
    session.plans.push_back(std::move(plan));
  }
  std::vector<SessionPlans> sorted;
  for (auto& [id, session] : sessions) {
    session.plans = InTreeOrder(std::move(session.plans));
    sorted.push_back(std::move(session));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const SessionPlans& a, const SessionPlans& b) { return a.changed_at > b.changed_at; });
  return sorted;
}

std::vector<Line> SessionLines(const SessionPlans& session, absl::Time now, Detail detail) {
  std::vector<Line> lines;
  const std::string title = session.plans.empty() ? "" : SafeText(session.plans.front().session_title());
  Line head;
  if (!title.empty()) head.push_back({absl::StrCat(title, "  "), Style::kBold});
  head.push_back({SafeText(session.session_id), title.empty() ? Style::kBold : Style::kDim});
  lines.push_back(std::move(head));
  for (const Plan& plan : session.plans) {
    const std::string indent(static_cast<size_t>(2 * DepthOf(session, plan)), ' ');
    const std::string name = SafeText(plan.agent_display_name());
    const bool is_main = plan.agent_id() == kMainAgent;
    Line line = {{absl::StrCat("  ", indent, is_main ? "" : "└ ")},
                 {name.empty() ? SafeText(plan.agent_id()) : name, is_main ? Style::kPlain : Style::kBold}};
    AppendFacts(plan, now, line);
    lines.push_back(std::move(line));
    for (const todo::v1::TodoItem& item : plan.items()) {
      if (detail == Detail::kCurrent && item.status() != todo::v1::TODO_STATUS_IN_PROGRESS) continue;
      lines.push_back({{absl::StrCat("    ", indent, is_main ? "" : "  ")}, ItemSpan(item)});
    }
  }
  return lines;
}

Span ItemSpan(const todo::v1::TodoItem& item) {
  const bool active = item.status() == todo::v1::TODO_STATUS_IN_PROGRESS && !item.active_form().empty();
  return {absl::StrCat(StatusMark(item.status()), " ", SafeText(active ? item.active_form() : item.content())),
          StyleOf(item.status())};
}

Span ChangeSpan(const todo::v1::ItemChange& change) {
  const std::string content = SafeText(change.content());
  switch (change.kind()) {
    case todo::v1::ITEM_CHANGE_KIND_ADDED:
      return {absl::StrCat("+ ", StatusMark(change.new_status()), " ", content), StyleOf(change.new_status())};
    case todo::v1::ITEM_CHANGE_KIND_REMOVED:
      return {absl::StrCat("- ", StatusMark(change.old_status()), " ", content), Style::kDim};
    case todo::v1::ITEM_CHANGE_KIND_STATUS:
      return {absl::StrCat(StatusMark(change.new_status()), " ", content), StyleOf(change.new_status())};
    case todo::v1::ITEM_CHANGE_KIND_EDITED:
      return {absl::StrCat("~ ", content)};
    default:
      return {absl::StrCat("↕ ", content), Style::kDim};
  }
}

absl::string_view StatusMark(todo::v1::TodoStatus status) {
  switch (status) {
    case todo::v1::TODO_STATUS_IN_PROGRESS:
      return "◉";
    case todo::v1::TODO_STATUS_COMPLETED:
      return "✓";
    case todo::v1::TODO_STATUS_CANCELLED:
      return "✗";
    default:
      return "○";
  }
}

std::string CountsText(const todo::v1::TodoCounts& counts) {
  std::string text = absl::StrCat(counts.completed(), "/", Total(counts), " done");
  if (counts.cancelled() > 0) absl::StrAppend(&text, ", ", counts.cancelled(), " cancelled");
  return text;
}

std::string RunStateText(const Plan& plan) {
  switch (plan.run_state()) {
    case todo::v1::RUN_STATE_TURN_OPEN:
      return "working";
    case todo::v1::RUN_STATE_TURN_COMPLETED:
      return "turn completed";
    case todo::v1::RUN_STATE_TURN_FAILED:
      return "turn failed";
    case todo::v1::RUN_STATE_TURN_INTERRUPTED:
      return "turn interrupted";
    case todo::v1::RUN_STATE_SESSION_CLOSED:
      return "session closed";
    default:
      return "";
  }
}

std::string PlanStateText(todo::v1::PlanState state) {
  switch (state) {
    case todo::v1::PLAN_STATE_NEVER_WRITTEN:
      return "never written";
    case todo::v1::PLAN_STATE_EMPTY:
      return "empty";
    case todo::v1::PLAN_STATE_ACTIVE:
      return "active";
    case todo::v1::PLAN_STATE_ALL_COMPLETED:
      return "all completed";
    case todo::v1::PLAN_STATE_CLEARED:
      return "cleared";
    default:
      return "unknown";
  }
}

std::string ActorText(todo::v1::ActorKind kind) {
  switch (kind) {
    case todo::v1::ACTOR_KIND_AGENT:
      return "agent";
    case todo::v1::ACTOR_KIND_USER:
      return "user";
    case todo::v1::ACTOR_KIND_HOOK:
      return "hook";
    case todo::v1::ACTOR_KIND_IMPORT:
      return "import";
    case todo::v1::ACTOR_KIND_SYSTEM:
      return "system";
    default:
      return "unknown";
  }
}

std::string AgeText(absl::Duration age) {
  if (age < absl::Seconds(1)) return "now";
  if (age < absl::Minutes(2)) return absl::StrCat(absl::ToInt64Seconds(age), "s");
  if (age < absl::Hours(2)) return absl::StrCat(absl::ToInt64Minutes(age), "m");
  if (age < absl::Hours(48)) return absl::StrCat(absl::ToInt64Hours(age), "h");
  return absl::StrCat(absl::ToInt64Hours(age) / 24, "d");
}

}  // namespace docket::cli
