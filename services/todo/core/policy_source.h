#ifndef DOCKET_SERVICES_TODO_CORE_POLICY_SOURCE_H_
#define DOCKET_SERVICES_TODO_CORE_POLICY_SOURCE_H_

#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "services/todo/core/policy.h"

namespace docket::todo {

// The policies that hold now. Thread-safe.
class PolicySource {
 public:
  explicit PolicySource(PolicySet policies) : policies_(std::make_shared<const PolicySet>(std::move(policies))) {}

  // The tenant's; stays valid and the same after a Replace().
  std::shared_ptr<const Policy> ForTenant(absl::string_view tenant_id) const {
    MutexLock lock(&mutex_);
    return {policies_, &policies_->ForTenant(tenant_id)};
  }

  void Replace(PolicySet policies) {
    auto made = std::make_shared<const PolicySet>(std::move(policies));
    MutexLock lock(&mutex_);
    policies_ = std::move(made);
  }

 private:
  mutable Mutex mutex_;
  // Shared with those who still judge by it.
  std::shared_ptr<const PolicySet> policies_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_POLICY_SOURCE_H_
