#ifndef DOCKET_SERVICES_TODO_CORE_TESTING_EVENTS_H_
#define DOCKET_SERVICES_TODO_CORE_TESTING_EVENTS_H_

#include <map>
#include <string>
#include <vector>

#include "docket/log/v1/event.pb.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy.h"

// Histories and policies for tests.

namespace docket::todo {

// The history of the session `s` of the tenant `t`: each method appends one event, with the next seq, and returns it.
class Story {
 public:
  log::v1::RecordedEvent Open(const std::string& title = "", const std::map<std::string, std::string>& labels = {});
  log::v1::RecordedEvent Update(const std::string& title);
  log::v1::RecordedEvent Close();
  log::v1::RecordedEvent Erase();
  log::v1::RecordedEvent Spawn(const std::string& agent, const std::string& parent = "main");
  log::v1::RecordedEvent Start(const std::string& agent, const std::string& turn,
                               docket::v1::TurnOrigin origin = docket::v1::TURN_ORIGIN_USER,
                               const std::string& supersedes = "");
  log::v1::RecordedEvent End(const std::string& agent, const std::string& turn,
                             docket::v1::TurnEndReason reason = docket::v1::TURN_END_REASON_COMPLETED);
  log::v1::RecordedEvent Say(const std::string& agent);
  // Pending items with these contents and the ids `id:<content>`.
  log::v1::RecordedEvent Write(const std::string& agent, const std::vector<std::string>& contents,
                               v1::ActorKind actor = v1::ACTOR_KIND_AGENT);
  // These items.
  log::v1::RecordedEvent WriteItems(const std::string& agent, const std::vector<v1::TodoItem>& items,
                                    v1::ActorKind actor = v1::ACTOR_KIND_AGENT);

  const std::vector<log::v1::RecordedEvent>& events() const { return events_; }
  SessionFold Fold() const;

 private:
  log::v1::RecordedEvent Append(const log::v1::SessionEvent& event);

  std::vector<log::v1::RecordedEvent> events_;
};

v1::TodoItem MakeItem(const std::string& id, const std::string& content,
                      v1::TodoStatus status = v1::TODO_STATUS_PENDING, const std::string& source_id = "");

// What docket-log says about a legal history, written down independently of the fold: it looks at the whole history for
// each answer.
log::v1::SessionSummary SummaryOf(const std::vector<log::v1::RecordedEvent>& events);

// The newest event of each plan event type of each agent and of the session.
std::vector<log::v1::RecordedEvent> LatestOf(const std::vector<log::v1::RecordedEvent>& events);

// The policy of a TodoPolicy in the text format; parallel_in_progress is ALLOW unless it says otherwise.
Policy MakePolicy(const std::string& text = "");

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_TESTING_EVENTS_H_
