#include "services/edge/grpc_status.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "google/rpc/error_details.pb.h"
#include "services/common/list_rules.h"

namespace docket {
namespace {

constexpr absl::string_view kPrefix = "type.googleapis.com/google.rpc.";
constexpr absl::string_view kErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr absl::string_view kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";

std::string WireMessage(absl::string_view message) {
  size_t size = std::min(message.size(), kMaxStatusMessage);
  // Back to the first byte of the character that does not fit; a character has at most three more bytes.
  if (size < message.size()) {
    size_t start = size;
    while (start > 0 && size - start < 3 && (static_cast<unsigned char>(message[start]) & 0xC0) == 0x80) --start;
    if ((static_cast<unsigned char>(message[start]) & 0xC0) != 0x80) size = start;
  }
  std::string text(message.substr(0, size));
  if (!IsValidUtf8(text)) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return text;
}

absl::StatusCode KnownCode(int code) {
  return code >= 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated) ? static_cast<absl::StatusCode>(code)
                                                                                   : absl::StatusCode::kUnknown;
}

void Shrink(google::rpc::Status& status) {
  auto& details = *status.mutable_details();
  for (int i = details.size() - 1; i >= 0 && status.ByteSizeLong() > kMaxStatusDetails; --i) {
    if (details[i].type_url() != kErrorInfo && details[i].type_url() != kRetryInfo) details.DeleteSubrange(i, 1);
  }
  for (auto& detail : details) {
    if (status.ByteSizeLong() <= kMaxStatusDetails) return;
    google::rpc::ErrorInfo info;
    if (detail.type_url() != kErrorInfo || !info.ParseFromString(detail.value())) continue;
    info.clear_metadata();
    detail.set_value(info.SerializeAsString());
  }
  // Neither a name that long nor a delay comes from Docket.
  if (status.ByteSizeLong() > kMaxStatusDetails) details.Clear();
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(WireMessage(status.message()));
  std::vector<std::pair<std::string, std::string>> payloads;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& bytes) {
    if (absl::StartsWith(url, kPrefix)) payloads.emplace_back(std::string(url), std::string(bytes));
  });
  std::sort(payloads.begin(), payloads.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first != kErrorInfo, a.first) < std::pair(b.first != kErrorInfo, b.first);
  });
  for (auto& [url, bytes] : payloads) {
    auto* detail = out.add_details();
    detail->set_type_url(std::move(url));
    detail->set_value(std::move(bytes));
  }
  return out;
}

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  absl::Status out(KnownCode(status.code()), status.message());
  for (const auto& detail : status.details()) {
    if (absl::StartsWith(detail.type_url(), kPrefix)) out.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return out;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status rpc = ToRpcStatus(status);
  if (rpc.ByteSizeLong() > kMaxStatusDetails) Shrink(rpc);
  return grpc::Status(static_cast<grpc::StatusCode>(rpc.code()), rpc.message(), rpc.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int code = static_cast<int>(status.error_code());
  google::rpc::Status rpc;
  if (!rpc.ParseFromString(status.error_details()) || rpc.code() != code) rpc.Clear();
  rpc.set_code(code);
  absl::Status out(KnownCode(code), status.error_message());
  FromRpcStatus(rpc).ForEachPayload(
      [&](absl::string_view url, const absl::Cord& bytes) { out.SetPayload(url, bytes); });
  return out;
}

}  // namespace docket
