#ifndef DOCKET_CLIENTS_CLI_PLAN_LINES_H_
#define DOCKET_CLIENTS_CLI_PLAN_LINES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/todo/v1/todo.pb.h"

// Plans as lines of text. Pure: the same plans at the same time give the same lines. All text of plans is safe for a
// terminal.

namespace docket::cli {

enum class Style { kPlain, kBold, kDim, kPending, kInProgress, kCompleted, kCancelled, kWarning };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};

using Line = std::vector<Span>;

// The line's text alone.
std::string PlainText(const Line& line);
// The line cut to `columns`.
Line CutLine(const Line& line, int columns);

// An agent longer without a write than this is idle, though its turn be open.
inline constexpr absl::Duration kIdleAfter = absl::Minutes(10);

// The plans of one session: `main` first, the others below the agents that spawned them.
struct SessionPlans {
  std::string session_id;
  std::vector<todo::v1::Plan> plans;
  absl::Time changed_at = absl::InfinitePast();
};

// Groups plans by session, the latest activity first. The agents of a session are in the order of a tree: each behind
// its parent, siblings by first appearance. An agent whose parent is not among them stands on the first level.
std::vector<SessionPlans> BySession(std::vector<todo::v1::Plan> plans);

enum class Detail {
  kFull,     // every item
  kCurrent,  // what is in progress
};

// A session with the plans of its agents.
std::vector<Line> SessionLines(const SessionPlans& session, absl::Time now, Detail detail);

// One item: its mark and its text.
Span ItemSpan(const todo::v1::TodoItem& item);
// What happened to an item: "✓ Read the notes", "+ ○ Write the summary".
Span ChangeSpan(const todo::v1::ItemChange& change);

// "○", "◉", "✓", "✗".
absl::string_view StatusMark(todo::v1::TodoStatus status);
// "2/5 done", "2/5 done, 1 cancelled".
std::string CountsText(const todo::v1::TodoCounts& counts);
// "working", "turn completed", ...; empty where it cannot be told.
std::string RunStateText(const todo::v1::Plan& plan);
// "active", "never written", "empty", "all completed", "cleared".
std::string PlanStateText(todo::v1::PlanState state);
// "agent", "user", ...
std::string ActorText(todo::v1::ActorKind kind);
// "4s", "3m", "2h", "5d"; "now" below a second.
std::string AgeText(absl::Duration age);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_PLAN_LINES_H_
