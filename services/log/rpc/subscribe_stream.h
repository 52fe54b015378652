#ifndef DOCKET_SERVICES_LOG_RPC_SUBSCRIBE_STREAM_H_
#define DOCKET_SERVICES_LOG_RPC_SUBSCRIBE_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/edge/push_stream.h"
#include "services/log/core/event_store.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/subscription.h"

namespace docket::log {

// OK if the request's shape is right: INVALID_REQUEST else.
absl::Status CheckSubscribe(const v1::SubscribeRequest& request, int32_t shard_count);

// One Subscribe: a subscription for each shard, served in turn.
class SubscribeStream : public PushStream {
 public:
  // `request` is as CheckSubscribe() wants it; `store` and `feeds` must outlive the server.
  SubscribeStream(EventStore& store, FeedSet& feeds, int32_t shard_count, v1::SubscribeRequest request)
      : store_(store), feeds_(feeds), shard_count_(shard_count), request_(std::move(request)) {}

 protected:
  Outcome Next() override;
  void Stopped() override;

 private:
  struct Shard {
    ShardId id;
    std::unique_ptr<Subscription> subscription;
    int64_t follower = 0;
  };

  absl::Status Begin();
  absl::Status BeginShard(ShardId shard, const v1::SubscribeRequest::Start& start, std::optional<SessionPk> session);
  // Of one shard: a message, or when to look again.
  absl::StatusOr<Subscription::Step> NextOf(Shard& shard);
  absl::StatusOr<grpc::ByteBuffer> Encode(const Shard& shard, const Subscription::Message& message);

  EventStore& store_;
  FeedSet& feeds_;
  const int32_t shard_count_;
  const v1::SubscribeRequest request_;
  bool begun_ = false;
  std::vector<std::unique_ptr<Shard>> shards_;
  size_t turn_ = 0;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_RPC_SUBSCRIBE_STREAM_H_
