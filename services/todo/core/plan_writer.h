#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_WRITER_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_WRITER_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/todo/core/event_log.h"
#include "services/todo/core/plan_cache.h"
#include "services/todo/core/policy_source.h"
#include "services/todo/core/todo_rules.h"

namespace docket::todo {

// Carries out WriteTodos: judges a write against the plan that is held, appends it on the condition that the plan is
// still that one, and judges again if it is not, until the deadline.
//
// A refusal that a newer state could lift is given only after the log was asked for its state; and every refusal only
// after the log was asked whether it knows the call, so that a repeated call gets its first answer whatever has
// happened since. Refusals for content or policy are recorded as TodoRejected, at most about one a second and session.
//
// Thread-safe; writes of one plan had better not run side by side, since only one of them can succeed at a time. What
// it is given must outlive it.
class PlanWriter {
 public:
  PlanWriter(EventLog& log, PlanCache& cache, PolicySource& policies, const Clock& clock)
      : log_(log), cache_(cache), policies_(policies), clock_(clock) {}

  // Blocks until the write is durable and the cache has it. Errors: those of WriteTodos in todo_service.proto.
  absl::StatusOr<v1::WriteTodosResponse> Write(const v1::WriteTodosRequest& request, absl::Time deadline);

 private:
  struct Allowance {
    double tokens = 0;
    absl::Time at;
  };

  absl::StatusOr<v1::WriteTodosResponse> Refuse(const v1::WriteTodosRequest& request, const SessionRef& session,
                                                const SessionFold& fold, const absl::Status& refusal,
                                                absl::Time deadline);
  // Whether the log knows more of the session than `fold` says; the cache then has it as well.
  absl::StatusOr<bool> CatchUp(const v1::WriteTodosRequest& request, const SessionRef& session, const SessionFold& fold,
                               absl::Time deadline);
  absl::StatusOr<v1::WriteTodosResponse> Answer(const v1::WriteTodosRequest& request, const SessionRef& session,
                                                const JudgedWrite& judged, int64_t version, absl::Time deadline);
  // The first answer to a call that the log knows.
  absl::StatusOr<v1::WriteTodosResponse> AnswerAgain(const v1::WriteTodosRequest& request, const SessionRef& session,
                                                     int64_t version, absl::Time deadline);
  absl::StatusOr<JudgedWrite> Reconstruct(const v1::WriteTodosRequest& request, int64_t version, absl::Time deadline);
  void Record(const v1::WriteTodosRequest& request, const SessionFold& fold, const absl::Status& refusal,
              absl::Time deadline);
  bool MayRecord(const SessionName& session);

  EventLog& log_;
  PlanCache& cache_;
  PolicySource& policies_;
  const Clock& clock_;
  Mutex mutex_;
  absl::flat_hash_map<SessionName, Allowance> allowances_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_WRITER_H_
