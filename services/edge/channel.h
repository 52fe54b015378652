#ifndef DOCKET_SERVICES_EDGE_CHANNEL_H_
#define DOCKET_SERVICES_EDGE_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace docket {

// The longest answer that is taken: a page of large lists.
inline constexpr int kMaxAnswerBytes = 64 * 1024 * 1024;

// A channel to `target`, a gRPC name: "127.0.0.1:7401", "dns:///docket-log:7401", "ipv4:10.0.0.1:7401,10.0.0.2:7401".
//
// Calls go to all addresses of the name in turn. A peer that is gone without a word is noticed within 15 s; one that
// came back is tried again within 2 s. Not encrypted.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target);

// Gives up the call at `deadline`; never, if that is infinite.
void SetDeadline(grpc::ClientContext& context, absl::Time deadline);

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_CHANNEL_H_
