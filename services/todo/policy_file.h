#ifndef DOCKET_SERVICES_TODO_POLICY_FILE_H_
#define DOCKET_SERVICES_TODO_POLICY_FILE_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "services/common/mutex.h"
#include "services/todo/core/policy_source.h"

namespace docket::todo {

// Reads a policy file. Errors: NOT_FOUND; INVALID_ARGUMENT with the file, the line and what is wrong.
absl::StatusOr<PolicySet> ReadPolicyFile(const std::string& path);

// Reads a policy file again when its content changes. Looks once a second: the file may be replaced by a rename or a
// changed link, which tells no one. What is wrong is logged, and the policies before it stay. The destructor stops it.
class PolicyFile {
 public:
  // `changed` is called after `policies` were replaced.
  PolicyFile(std::string path, PolicySource& policies, std::function<void()> changed);
  ~PolicyFile();

 private:
  void Watch();

  const std::string path_;
  PolicySource& policies_;
  const std::function<void()> changed_;
  std::string text_;  // the content that was looked at last
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_POLICY_FILE_H_
