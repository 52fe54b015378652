#ifndef DOCKET_CLIENTS_CLI_WATCH_VIEW_H_
#define DOCKET_CLIENTS_CLI_WATCH_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/plan_lines.h"
#include "docket/todo/v1/todo_service.pb.h"

// What `docket watch` shows. Pure.

namespace docket::cli {

// All that is known at one moment.
struct WatchState {
  std::string title;  // what is watched
  std::vector<todo::v1::Plan> plans;
  bool synced = false;
  // Since when docket-log has been away, as docket-todo said.
  std::optional<absl::Time> stale_since;
  // Why there is no connection to docket-todo, and since when.
  std::string disconnected;
  absl::Time disconnected_at;
};

// The whole screen: at most `rows` lines of at most `columns`, the first `scroll` lines of the body left out (`scroll`
// is brought into its range). Sessions are shown in full, the latest activity first, as long as they fit; the others
// with what is in progress.
std::vector<Line> ScreenLines(const WatchState& state, absl::Time now, int rows, int columns, int& scroll);

// The same for a terminal that cannot be drawn on, or a file: what a message says, a line a fact. `snapshot` is what
// became known when the first snapshot was complete.
std::vector<Line> SnapshotLines(const std::vector<todo::v1::Plan>& plans, absl::Time now);
std::vector<Line> ChangeLines(const todo::v1::WatchPlansResponse::PlanChanged& changed, absl::Time now,
                              absl::TimeZone zone);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_WATCH_VIEW_H_
