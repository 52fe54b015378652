#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.h"
#include "clients/cli/screen.h"
#include "clients/cli/watch_view.h"
#include "clients/cpp/plan_watcher.h"
#include "services/common/mutex.h"
#include "services/edge/channel.h"

namespace docket::cli {
namespace {

using client::WatchedKey;
using client::WatchedPlans;

// Ages on the screen are in seconds; changes are drawn sooner.
constexpr absl::Duration kFrame = absl::Milliseconds(50);
constexpr absl::Duration kRedrawAfter = absl::Seconds(1);
constexpr int kEnd = 1 << 30;

struct WatchOptions {
  std::string session;
  std::vector<std::string> labels;
  bool plain = false;
};

// Keeps what is shown, for the thread that draws.
class ScreenObserver : public client::PlanObserver {
 public:
  explicit ScreenObserver(std::string title) { state_.title = std::move(title); }

  void Updated(const WatchedPlans& plans, const std::vector<WatchedKey>& changed,
               const todo::v1::WatchPlansResponse& /*message*/) override {
    MutexLock lock(&mutex_);
    for (const WatchedKey& key : changed) {
      const auto plan = plans.plans().find(key);
      if (plan == plans.plans().end()) {
        plans_.erase(key);
      } else {
        plans_[key] = plan->second;
      }
    }
    state_.synced = plans.synced();
    state_.disconnected.clear();
    if (const auto stale = plans.stale_for()) {
      if (!state_.stale_since.has_value()) state_.stale_since = absl::Now() - *stale;
    } else {
      state_.stale_since.reset();
    }
    ++updates_;
  }

  void Disconnected(const absl::Status& why) override {
    MutexLock lock(&mutex_);
    if (state_.disconnected.empty()) state_.disconnected_at = absl::Now();
    state_.disconnected = why.message().empty() ? "the connection ended" : std::string(why.message());
    ++updates_;
  }

  void Failed(const absl::Status& why) override {
    MutexLock lock(&mutex_);
    failed_ = why;
    ++updates_;
  }

  // Changes with everything that was told.
  int64_t updates() {
    MutexLock lock(&mutex_);
    return updates_;
  }
  absl::Status failed() {
    MutexLock lock(&mutex_);
    return failed_;
  }
  WatchState state() {
    MutexLock lock(&mutex_);
    WatchState state = state_;
    for (const auto& [key, plan] : plans_) state.plans.push_back(plan);
    return state;
  }

 private:
  Mutex mutex_;
  WatchState state_ ABSL_GUARDED_BY(mutex_);  // without the plans
  std::map<WatchedKey, todo::v1::Plan> plans_ ABSL_GUARDED_BY(mutex_);
  int64_t updates_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
};

// Prints what comes, as lines or as JSON.
class LineObserver : public client::PlanObserver {
 public:
  explicit LineObserver(bool json) : json_(json) {}

  void Updated(const WatchedPlans& plans, const std::vector<WatchedKey>& changed,
               const todo::v1::WatchPlansResponse& message) override {
    disconnected_ = false;
    if (json_) {
      // A change that a newer revision was shown of before is not one.
      if (!message.has_plan_changed() || !changed.empty()) PrintJson(message);
    } else if (plans.synced() && !std::exchange(synced_, true)) {
      std::vector<todo::v1::Plan> all;
      for (const auto& [key, plan] : plans.plans()) all.push_back(plan);
      PrintLines(SnapshotLines(all, absl::Now()));
    } else {
      for (const WatchedKey& key : changed) PrintChange(plans, key, message);
    }
    std::fflush(stdout);
  }

  void Disconnected(const absl::Status& why) override {
    if (std::exchange(disconnected_, true)) return;
    std::fprintf(stderr, "docket: not connected, trying again: %s\n", std::string(why.message()).c_str());
  }

  void Failed(const absl::Status& why) override {
    MutexLock lock(&mutex_);
    failed_ = why;
    changed_.SignalAll();
  }

  // Waits until the watch has ended for good; why.
  absl::Status WaitForFailure() {
    MutexLock lock(&mutex_);
    while (failed_.ok()) changed_.Wait(&mutex_);
    return failed_;
  }

 private:
  static void PrintChange(const WatchedPlans& plans, const WatchedKey& key,
                          const todo::v1::WatchPlansResponse& message) {
    todo::v1::WatchPlansResponse::PlanChanged change;
    if (message.has_plan_changed()) {
      change = message.plan_changed();
    } else if (const auto plan = plans.plans().find(key); plan != plans.plans().end()) {
      *change.mutable_plan() = plan->second;  // from the snapshot of a later stream
    } else {
      change.mutable_plan()->set_session_id(key.session_id);
      change.mutable_plan()->set_agent_id(key.agent_id);
      change.set_erased(true);
    }
    PrintLines(ChangeLines(change, absl::Now(), absl::LocalTimeZone()));
  }

  const bool json_;
  bool synced_ = false;        // the watcher's thread alone
  bool disconnected_ = false;  // the watcher's thread alone
  Mutex mutex_;
  CondVar changed_;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
};

int WatchOnScreen(const Globals& globals, const todo::v1::WatchPlansRequest& request, Screen& screen,
                  ScreenObserver& observer) {
  client::PlanWatcher watcher(MakeChannel(globals.todo_address), request, observer, {});
  int scroll = 0;
  int64_t drawn = -1;
  absl::Time drawn_at = absl::InfinitePast();
  for (;;) {
    const int64_t updates = observer.updates();
    if (!observer.failed().ok()) return kExitRefused;
    const absl::Time now = absl::Now();
    if (updates != drawn || now - drawn_at >= kRedrawAfter) {
      screen.Draw(ScreenLines(observer.state(), now, screen.rows(), screen.columns(), scroll));
      drawn = updates;
      drawn_at = now;
    }
    const int page = std::max(screen.rows() - 3, 1);
    const Key key = screen.Wait(kFrame);
    if (key == Key::kNone) continue;
    if (key == Key::kQuit) return kExitOk;
    if (key == Key::kUp) --scroll;
    if (key == Key::kDown) ++scroll;
    if (key == Key::kPageUp) scroll -= page;
    if (key == Key::kPageDown) scroll += page;
    if (key == Key::kTop) scroll = 0;
    if (key == Key::kBottom) scroll = kEnd;
    drawn = -1;
  }
}

int RunWatch(const Globals& globals, const WatchOptions& options) {
  todo::v1::WatchPlansRequest request;
  request.set_tenant_id(globals.tenant);
  if (options.session.empty()) {
    const absl::Status status = ParseLabels(options.labels, *request.mutable_tenant()->mutable_session_labels());
    if (!status.ok()) return Fail(globals, status);
  } else {
    request.mutable_session()->set_session_id(options.session);
  }
  const bool terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
  if (terminal && !options.plain && !globals.json) {
    ScreenObserver observer(options.session.empty() ? absl::StrCat("tenant ", globals.tenant)
                                                    : absl::StrCat("session ", options.session));
    int exit_code = kExitOk;
    {
      auto screen = Screen::Open();
      if (!screen.ok()) return Fail(globals, absl::FailedPreconditionError("use --plain: this terminal is too simple"));
      exit_code = WatchOnScreen(globals, request, **screen, observer);
    }
    return exit_code == kExitOk ? exit_code : Fail(globals, observer.failed(), Server::kTodo);
  }
  LineObserver observer(globals.json);
  client::PlanWatcher watcher(MakeChannel(globals.todo_address), request, observer, {});
  return Fail(globals, observer.WaitForFailure(), Server::kTodo);
}

}  // namespace

void AddWatchCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = app.add_subcommand("watch", "Watch plans live");
  command->footer(R"(On a terminal it takes the whole screen: q quits, arrows and page keys scroll. Elsewhere it prints
a line a change. It goes on by itself when a server was away.)");
  CLI::Option* session = command->add_option("SESSION", options->session, "The session; left out: all of the tenant");
  command->add_option("--label", options->labels, "Only sessions with this label, KEY=VALUE")->excludes(session);
  command->add_flag("--plain", options->plain, "Lines also on a terminal");
  command->callback([&globals, &exit_code, options] { exit_code = RunWatch(globals, *options); });
}

}  // namespace docket::cli
