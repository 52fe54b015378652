#ifndef DOCKET_SERVICES_TODO_RPC_WATCH_PLANS_STREAM_H_
#define DOCKET_SERVICES_TODO_RPC_WATCH_PLANS_STREAM_H_

#include <memory>
#include <optional>
#include <utility>

#include "services/common/clock.h"
#include "services/edge/push_stream.h"
#include "services/todo/core/plan_watch.h"

namespace docket::todo {

// WatchPlans on the wire: sends what a PlanWatch says, and GoingAway when the server stops.
class WatchPlansStream : public PushStream {
 public:
  WatchPlansStream(EventLog& log, PlanCache& cache, const Clock& clock, v1::WatchPlansRequest request)
      : log_(log), cache_(cache), clock_(clock), request_(std::move(request)) {}

 private:
  Outcome Next() override;
  std::optional<grpc::ByteBuffer> Farewell() override;
  void Stopped() override;

  EventLog& log_;
  PlanCache& cache_;
  const Clock& clock_;
  v1::WatchPlansRequest request_;
  std::unique_ptr<PlanWatch> watch_;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_RPC_WATCH_PLANS_STREAM_H_
