#include "services/common/proto_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/wire_format_lite.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"

namespace docket {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownFieldSet;

// Deeper messages do not parse either (protobuf's own limit).
constexpr int kMaxDepth = 100;

std::string Join(absl::string_view prefix, absl::string_view name) {
  return prefix.empty() ? std::string(name) : absl::StrCat(prefix, ".", name);
}

// The path of the first string field in `fields`, read as a `type`, that is not valid UTF-8.
std::optional<std::string> FindBadString(const UnknownFieldSet& fields, const Descriptor& type,
                                         absl::string_view prefix, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  std::vector<int> counts(static_cast<size_t>(type.field_count()), 0);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    const FieldDescriptor* known = type.FindFieldByNumber(field.number());
    if (known == nullptr || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    std::string path = Join(prefix, known->name());
    if (known->is_repeated()) absl::StrAppend(&path, "[", counts[static_cast<size_t>(known->index())]++, "]");
    if (known->type() == FieldDescriptor::TYPE_STRING && !IsValidUtf8(field.length_delimited())) return path;
    if (known->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    UnknownFieldSet inner;
    if (!inner.ParseFromString(field.length_delimited())) continue;
    if (auto found = FindBadString(inner, *known->message_type(), path, depth + 1)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> FindUnknown(const Message& message, absl::string_view except, absl::string_view prefix) {
  if (message.GetDescriptor()->full_name() == except) return std::nullopt;
  const auto* reflection = message.GetReflection();
  const UnknownFieldSet& unknown = reflection->GetUnknownFields(message);
  if (!unknown.empty()) return Join(prefix, absl::StrCat("#", unknown.field(0).number()));
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string path = Join(prefix, field->name());
    if (!field->is_repeated()) {
      if (auto found = FindUnknown(reflection->GetMessage(message, field), except, path)) return found;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      const Message& inner = reflection->GetRepeatedMessage(message, field, i);
      if (auto found = FindUnknown(inner, except, absl::StrCat(path, "[", i, "]"))) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status ParseRequest(absl::string_view bytes, Message& request) {
  if (bytes.size() <= INT32_MAX && request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::OkStatus();
  const std::string type = request.GetDescriptor()->full_name();
  UnknownFieldSet fields;
  if (fields.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    if (auto path = FindBadString(fields, *request.GetDescriptor(), "", 0)) {
      return FieldError(v1::ERROR_REASON_INVALID_REQUEST, *path, "the text is not valid UTF-8",
                        {{"allowed", "valid UTF-8"}});
    }
  }
  return MakeError(v1::ERROR_REASON_INVALID_REQUEST, absl::StrCat("the request is not a valid ", type),
                   {{"type", type}});
}

std::optional<std::string> FindUnknownField(const Message& message, absl::string_view except) {
  return FindUnknown(message, except, "");
}

absl::Status RefuseUnknownFields(const Message& request, absl::string_view except) {
  auto path = FindUnknownField(request, except);
  if (!path.has_value()) return absl::OkStatus();
  return FieldError(v1::ERROR_REASON_INVALID_REQUEST, *path,
                    absl::StrCat("the server knows no such field of ", request.GetDescriptor()->full_name()));
}

}  // namespace docket
