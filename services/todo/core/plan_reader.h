#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_READER_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_READER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/todo/core/event_log.h"
#include "services/todo/core/plan_cache.h"

namespace docket::todo {

// Carries out GetPlan, ListPlans and GetPlanHistory: plans come from the cache, lists of sessions and earlier versions
// from the log. Errors: those of todo_service.proto. Each call blocks until its deadline at most. Thread-safe. What it
// is given must outlive it.
class PlanReader {
 public:
  PlanReader(EventLog& log, PlanCache& cache) : log_(log), cache_(cache) {}

  absl::Status GetPlan(const v1::GetPlanRequest& request, absl::Time deadline, v1::GetPlanResponse& response);
  absl::Status ListPlans(const v1::ListPlansRequest& request, absl::Time deadline, v1::ListPlansResponse& response);
  absl::Status GetPlanHistory(const v1::GetPlanHistoryRequest& request, absl::Time deadline,
                              v1::GetPlanHistoryResponse& response);

 private:
  absl::Status ListTenant(const v1::ListPlansRequest& request, absl::Time deadline, v1::ListPlansResponse& response);
  // Adds the session's plans that the request wants.
  absl::Status AddSession(const v1::ListPlansRequest& request, const std::string& session_id, absl::Time deadline,
                          v1::ListPlansResponse& response);

  EventLog& log_;
  PlanCache& cache_;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_READER_H_
