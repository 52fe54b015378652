#include "services/todo/core/policy.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "services/common/list_rules.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"

namespace docket::todo {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;

constexpr int kDefaultMaxItems = 256;
constexpr int kDefaultMaxContentBytes = 4096;

// What is wrong with a policy: the field and why.
struct Fault {
  int field = 0;
  std::string text;
};

std::optional<Fault> CheckRange(int field, absl::string_view name, int value, int limit) {
  if (value >= 1 && value <= limit) return std::nullopt;
  return Fault{field, absl::StrCat(name, " is ", value, ", it must be 1 to ", limit)};
}

// The first fault among the fields that are set.
std::optional<Fault> FindFault(const v1::TodoPolicy& policy) {
  if (!policy.name().empty()) {
    const absl::Status status = CheckId(docket::v1::ERROR_REASON_INVALID_REQUEST, "name", policy.name());
    if (!status.ok()) return Fault{v1::TodoPolicy::kNameFieldNumber, std::string(status.message())};
  }
  if (!v1::ParallelInProgress_IsValid(policy.parallel_in_progress())) {
    return Fault{v1::TodoPolicy::kParallelInProgressFieldNumber, "parallel_in_progress is no known value"};
  }
  if (policy.has_max_items()) {
    if (auto fault = CheckRange(v1::TodoPolicy::kMaxItemsFieldNumber, "max_items", policy.max_items(), kMaxListItems)) {
      return fault;
    }
  }
  if (policy.has_max_content_bytes()) {
    return CheckRange(v1::TodoPolicy::kMaxContentBytesFieldNumber, "max_content_bytes", policy.max_content_bytes(),
                      static_cast<int>(kMaxItemTextBytes));
  }
  return std::nullopt;
}

std::string CanonicalBytes(const v1::TodoPolicy& policy) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    policy.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// Where something stands in a file, from 0.
struct Place {
  int line = -1;
  int column = -1;
};

absl::Status ErrorAt(Place place, absl::string_view text) {
  if (place.line < 0) return absl::InvalidArgumentError(text);
  return absl::InvalidArgumentError(absl::StrCat("line ", place.line + 1, ", column ", place.column + 1, ": ", text));
}

// Keeps the first error of a parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) {
      place_ = {line, column};
      text_ = message;
    }
  }
  absl::Status status() const { return ErrorAt(place_, text_.empty() ? "the text is no policy file" : text_); }

 private:
  Place place_;
  std::string text_;
};

Place PlaceOf(const TextFormat::ParseInfoTree* tree, const FieldDescriptor* field, int index) {
  if (tree == nullptr) return {};
  const TextFormat::ParseLocation location = tree->GetLocation(field, index);
  return {location.line, location.column};
}

absl::Status CheckPolicy(const v1::TodoPolicy& policy, const TextFormat::ParseInfoTree* tree, absl::string_view where) {
  const std::optional<Fault> fault = FindFault(policy);
  if (!fault.has_value()) return absl::OkStatus();
  const FieldDescriptor* field = policy.GetDescriptor()->FindFieldByNumber(fault->field);
  return ErrorAt(PlaceOf(tree, field, -1), absl::StrCat(where, ": ", fault->text));
}

// An override of one tenant and where it stands.
struct Override {
  std::string tenant_id;
  v1::TodoPolicy policy;
};

// Reads the overrides through reflection, which, unlike the map, still has every entry of the text.
absl::StatusOr<std::vector<Override>> ReadOverrides(const v1::TodoPolicyFile& file, TextFormat::ParseInfoTree& tree) {
  const auto* field = file.GetDescriptor()->FindFieldByNumber(v1::TodoPolicyFile::kTenantsFieldNumber);
  const auto* key = field->message_type()->map_key();
  const auto* value = field->message_type()->map_value();
  const google::protobuf::Reflection& reflection = *file.GetReflection();
  std::vector<Override> overrides;
  for (int i = 0; i < reflection.FieldSize(file, field); ++i) {
    const google::protobuf::Message& entry = reflection.GetRepeatedMessage(file, field, i);
    Override next;
    next.tenant_id = entry.GetReflection()->GetString(entry, key);
    next.policy.CopyFrom(entry.GetReflection()->GetMessage(entry, value));
    const Place place = PlaceOf(&tree, field, i);
    const absl::Status id = CheckId(docket::v1::ERROR_REASON_INVALID_REQUEST, "tenants.key", next.tenant_id);
    if (!id.ok()) return ErrorAt(place, id.message());
    for (const Override& other : overrides) {
      if (other.tenant_id == next.tenant_id) {
        return ErrorAt(place, absl::StrCat("the tenant \"", next.tenant_id, "\" has two overrides"));
      }
    }
    TextFormat::ParseInfoTree* entry_tree = tree.GetTreeForNested(field, i);
    TextFormat::ParseInfoTree* value_tree = entry_tree == nullptr ? nullptr : entry_tree->GetTreeForNested(value, -1);
    DOCKET_RETURN_IF_ERROR(CheckPolicy(next.policy, value_tree, absl::StrCat("tenant \"", next.tenant_id, "\"")));
    overrides.push_back(std::move(next));
  }
  return overrides;
}

}  // namespace

absl::StatusOr<Policy> Policy::Make(const v1::TodoPolicy& values) {
  if (const auto fault = FindFault(values)) return absl::InvalidArgumentError(fault->text);
  if (values.parallel_in_progress() == v1::PARALLEL_IN_PROGRESS_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "parallel_in_progress is required: PARALLEL_IN_PROGRESS_ALLOW or PARALLEL_IN_PROGRESS_FORBID");
  }
  v1::TodoPolicy all;
  all.set_name("default");
  all.set_clear_on_turn_start(true);
  all.set_clear_when_all_completed(false);
  all.set_allow_cancelled(true);
  all.set_implicit_turns(false);
  all.set_verification_nudge(false);
  all.set_enabled(true);
  all.set_max_items(kDefaultMaxItems);
  all.set_max_content_bytes(kDefaultMaxContentBytes);
  all.MergeFrom(values);
  Policy policy;
  policy.digest_ = Sha256(CanonicalBytes(all));
  policy.values_ = std::move(all);
  return policy;
}

absl::StatusOr<PolicySet> PolicySet::Parse(absl::string_view text) {
  FirstError errors;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  v1::TodoPolicyFile file;
  if (!parser.ParseFromString(std::string(text), &file)) return errors.status();
  DOCKET_ASSIGN_OR_RETURN(const std::vector<Override> overrides, ReadOverrides(file, tree));
  if (!file.has_default_policy()) return absl::InvalidArgumentError("default_policy is required");
  const auto* field = file.GetDescriptor()->FindFieldByNumber(v1::TodoPolicyFile::kDefaultPolicyFieldNumber);
  DOCKET_RETURN_IF_ERROR(CheckPolicy(file.default_policy(), tree.GetTreeForNested(field, -1), "default_policy"));
  absl::StatusOr<Policy> base = Policy::Make(file.default_policy());
  if (!base.ok()) {
    return ErrorAt(PlaceOf(&tree, field, -1), absl::StrCat("default_policy: ", base.status().message()));
  }
  PolicySet set(*std::move(base));
  for (const Override& tenant : overrides) {
    v1::TodoPolicy merged = file.default_policy();
    merged.set_name(tenant.tenant_id);
    merged.MergeFrom(tenant.policy);
    DOCKET_ASSIGN_OR_RETURN(Policy policy, Policy::Make(merged));
    set.tenants_.emplace(tenant.tenant_id, std::move(policy));
  }
  return set;
}

const Policy& PolicySet::ForTenant(absl::string_view tenant_id) const {
  const auto found = tenants_.find(tenant_id);
  return found == tenants_.end() ? default_ : found->second;
}

}  // namespace docket::todo
