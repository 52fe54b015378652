#include "services/edge/unary.h"

#include <vector>

#include "grpcpp/support/slice.h"
#include "services/common/proto_check.h"
#include "services/common/status_macros.h"
#include "services/edge/grpc_status.h"

namespace docket {

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

grpc::ByteBuffer ToByteBuffer(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer ToByteBuffer(const google::protobuf::Message& message) {
  return ToByteBuffer(message.SerializeAsString());
}

absl::Status ParseStrictly(const grpc::ByteBuffer& in, google::protobuf::Message& request,
                           absl::string_view except_unknown) {
  DOCKET_RETURN_IF_ERROR(ParseRequest(ToString(in), request));
  return RefuseUnknownFields(request, except_unknown);
}

UnaryAnswer::~UnaryAnswer() {
  Refuse(absl::InternalError("the server gave no answer"));
}

void UnaryAnswer::Give(const google::protobuf::Message& response) {
  if (given_.exchange(true)) return;
  *out_ = ToByteBuffer(response);
  reactor_->Finish(grpc::Status::OK);
}

void UnaryAnswer::Refuse(const absl::Status& status) {
  if (given_.exchange(true)) return;
  reactor_->Finish(ToGrpc(status));
}

}  // namespace docket
