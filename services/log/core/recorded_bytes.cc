#include "services/log/core/recorded_bytes.h"

#include "docket/log/v1/event.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "services/common/proto_time.h"

namespace docket::log {

void AppendField(std::string& message, int field, absl::string_view bytes) {
  constexpr uint32_t kLengthDelimited = 2;
  uint8_t head[20];
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(
      (static_cast<uint32_t>(field) << 3) | kLengthDelimited, head);
  end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(bytes.size(), end);
  message.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
  message.append(bytes.data(), bytes.size());
}

std::string RecordedBytes(const StoredEvent& event, const std::string& tenant_id, const std::string& session_id) {
  v1::RecordedEvent recorded;
  recorded.set_tenant_id(tenant_id);
  recorded.set_session_id(session_id);
  recorded.set_seq(event.seq.value);
  recorded.set_position(event.position.value);
  *recorded.mutable_recorded_at() = ToProto(event.recorded_at);
  std::string bytes = recorded.SerializeAsString();
  AppendField(bytes, v1::RecordedEvent::kEventFieldNumber, event.payload);
  return bytes;
}

}  // namespace docket::log
