#include "services/todo/policy_file.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"

namespace docket::todo {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && !file.eof()) return absl::NotFoundError(absl::StrCat("cannot read the policy file ", path));
  return text;
}

absl::StatusOr<PolicySet> Parse(const std::string& path, const std::string& text) {
  absl::StatusOr<PolicySet> policies = PolicySet::Parse(text);
  if (policies.ok()) return policies;
  return absl::InvalidArgumentError(absl::StrCat("policy file ", path, ": ", policies.status().message()));
}

}  // namespace

absl::StatusOr<PolicySet> ReadPolicyFile(const std::string& path) {
  DOCKET_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return Parse(path, text);
}

PolicyFile::PolicyFile(std::string path, PolicySource& policies, std::function<void()> changed)
    : path_(std::move(path)), policies_(policies), changed_(std::move(changed)) {
  text_ = ReadText(path_).value_or("");
  thread_ = std::thread([this] { Watch(); });
}

PolicyFile::~PolicyFile() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    stop_.SignalAll();
  }
  thread_.join();
}

void PolicyFile::Watch() {
  for (;;) {
    {
      MutexLock lock(&mutex_);
      if (!stopped_) stop_.WaitWithTimeout(&mutex_, kLookEvery);
      if (stopped_) return;
    }
    absl::StatusOr<std::string> text = ReadText(path_);
    if (!text.ok() || *text == text_) continue;
    text_ = *std::move(text);
    absl::StatusOr<PolicySet> policies = Parse(path_, text_);
    if (!policies.ok()) {
      LogError(policies.status().message(), "; the policies before stay");
      continue;
    }
    policies_.Replace(*std::move(policies));
    changed_();
    LogInfo("read the policy file ", path_, " again");
  }
}

}  // namespace docket::todo
