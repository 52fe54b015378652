#ifndef DOCKET_SERVICES_TODO_CORE_POLICY_H_
#define DOCKET_SERVICES_TODO_CORE_POLICY_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "docket/todo/v1/policy.pb.h"

namespace docket::todo {

// The rules for one tenant, every value decided.
//
// An immutable value. Two policies with the same values and name have the same digest.
class Policy {
 public:
  // `values` with each field that is not set replaced by its default. Errors: INVALID_ARGUMENT that names the field
  // that is missing or out of range.
  static absl::StatusOr<Policy> Make(const v1::TodoPolicy& values);

  const std::string& name() const { return values_.name(); }
  // SHA-256 of the canonical serialisation: 32 bytes.
  const std::string& digest() const { return digest_; }
  // Every field is set.
  const v1::TodoPolicy& values() const { return values_; }

  bool allow_parallel() const { return values_.parallel_in_progress() == v1::PARALLEL_IN_PROGRESS_ALLOW; }
  bool clear_on_turn_start() const { return values_.clear_on_turn_start(); }
  bool clear_when_all_completed() const { return values_.clear_when_all_completed(); }
  bool allow_cancelled() const { return values_.allow_cancelled(); }
  bool implicit_turns() const { return values_.implicit_turns(); }
  bool verification_nudge() const { return values_.verification_nudge(); }
  bool enabled() const { return values_.enabled(); }
  int max_items() const { return values_.max_items(); }
  int max_content_bytes() const { return values_.max_content_bytes(); }

 private:
  Policy() = default;

  v1::TodoPolicy values_;
  std::string digest_;
};

// A policy file: the policy of every tenant.
//
// Immutable after Parse(); safe to read from many threads. References live as long as the set.
class PolicySet {
 public:
  // Reads a TodoPolicyFile in the protobuf text format. Errors: INVALID_ARGUMENT with the line, the column and the
  // field, for text that is malformed, has unknown fields or values, names a tenant twice, lacks what is required or is
  // out of range.
  static absl::StatusOr<PolicySet> Parse(absl::string_view text);

  const Policy& ForTenant(absl::string_view tenant_id) const;
  const Policy& default_policy() const { return default_; }

 private:
  explicit PolicySet(Policy default_policy) : default_(std::move(default_policy)) {}

  Policy default_;
  absl::flat_hash_map<std::string, Policy> tenants_;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_POLICY_H_
