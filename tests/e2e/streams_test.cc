// docket-log's streams: Subscribe and AppendStream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/errors.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// One subscription, message by message.
class RawSubscription {
 public:
  RawSubscription(wire::LogService::Stub& log, const wire::SubscribeRequest& request) {
    SetDeadline(context_, absl::Now() + absl::Minutes(3));
    reader_ = log.Subscribe(&context_, request);
  }
  ~RawSubscription() {
    if (finished_) return;
    context_.TryCancel();
    wire::SubscribeResponse ignored;
    while (reader_->Read(&ignored)) {
    }
    reader_->Finish();
  }

  // The next message that is no progress.
  bool Next(wire::SubscribeResponse& message) {
    do {
      if (!reader_->Read(&message)) return false;
    } while (message.has_progress());
    return true;
  }
  // Collects events until there are so many of them; checks that ranges join and positions ascend.
  std::vector<wire::RecordedEvent> Take(size_t count) {
    wire::SubscribeResponse message;
    while (events_.size() < count && Next(message)) Keep(message);
    EXPECT_GE(events_.size(), count);
    return events_;
  }
  // Collects events up to the first CaughtUp.
  std::vector<wire::RecordedEvent> TakeUntilCaughtUp() {
    wire::SubscribeResponse message;
    while (Next(message) && !message.has_caught_up()) Keep(message);
    EXPECT_TRUE(message.has_caught_up());
    return events_;
  }
  absl::Status Finish() {
    wire::SubscribeResponse message;
    while (reader_->Read(&message)) Keep(message);
    finished_ = true;
    return FromGrpc(reader_->Finish());
  }
  int64_t through(int32_t shard) { return through_[shard]; }

 private:
  void Keep(const wire::SubscribeResponse& message) {
    if (!message.has_events()) return;
    int64_t& through = through_[message.shard_id()];
    EXPECT_GE(message.events().after(), through);
    int64_t last = message.events().after();
    for (const wire::RecordedEvent& event : message.events().events()) {
      EXPECT_GT(event.position(), last);
      last = event.position();
      events_.push_back(event);
    }
    EXPECT_GE(message.events().through(), last);
    through = message.events().through();
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<wire::SubscribeResponse>> reader_;
  std::vector<wire::RecordedEvent> events_;
  std::map<int32_t, int64_t> through_;
  bool finished_ = false;
};

wire::SubscribeRequest OfSession(const std::string& session) {
  wire::SubscribeRequest request;
  request.mutable_session()->set_tenant_id(kTenant);
  request.mutable_session()->set_session_id(session);
  return request;
}

wire::SubscribeRequest OfShards(int count, const std::map<int, int64_t>& after = {}) {
  wire::SubscribeRequest request;
  for (int i = 0; i < count; ++i) {
    auto& shard = *request.mutable_shards()->add_shards();
    shard.set_shard_id(i);
    if (const auto from = after.find(i); from != after.end()) shard.mutable_start()->set_after_position(from->second);
  }
  return request;
}

std::vector<std::string> TextsOf(const std::vector<wire::RecordedEvent>& events) {
  std::vector<std::string> texts;
  for (const wire::RecordedEvent& event : events) {
    if (event.event().has_message()) texts.push_back(event.event().message().parts(0).text());
  }
  return texts;
}

// One deployment with two docket-logs for the tests that stop nothing.
class StreamsTest : public ::testing::Test {
 protected:
  static constexpr int kShards = 4;

  static void SetUpTestSuite() { deployment_ = new Deployment({.logs = 2, .shards = kShards}); }
  static void TearDownTestSuite() { delete deployment_; }
  static wire::LogService::Stub& log(int i = 0) { return deployment_->log(i); }
  static absl::Status Say(const std::string& session, const std::string& text, int replica = 0,
                          const std::string& tenant = kTenant) {
    wire::AppendRequest request = Saying(session, text);
    request.set_tenant_id(tenant);
    return Append(log(replica), request).status();
  }
  static absl::Status Open(const std::string& session, const std::string& tenant = kTenant) {
    wire::AppendRequest request = Opening(session);
    request.set_tenant_id(tenant);
    return Append(log(), request).status();
  }
  static absl::Status EndOf(const wire::SubscribeRequest& request) { return RawSubscription(log(), request).Finish(); }

  static Deployment* deployment_;
};
Deployment* StreamsTest::deployment_ = nullptr;

TEST_F(StreamsTest, ASessionFromItsBeginningAndThenLive) {
  ASSERT_THAT(Open("one"), IsOk());
  ASSERT_THAT(Say("one", "stored"), IsOk());
  RawSubscription subscription(log(), OfSession("one"));
  EXPECT_THAT(subscription.TakeUntilCaughtUp(), SizeIs(2));
  ASSERT_THAT(Open("other"), IsOk());
  ASSERT_THAT(Say("other", "not for us"), IsOk());
  // Through the other replica: told of by the database, not by a neighbour in the same process.
  ASSERT_THAT(Say("one", "live", 1), IsOk());
  EXPECT_THAT(TextsOf(subscription.Take(3)), ElementsAre("stored", "live"));
}

TEST_F(StreamsTest, ATenantWithItsSessionsToCome) {
  ASSERT_THAT(Open("a", "watched"), IsOk());
  wire::SubscribeRequest request;
  request.mutable_tenant()->set_tenant_id("watched");
  request.mutable_tenant()->mutable_start()->mutable_now();
  request.add_types(wire::EVENT_TYPE_MESSAGE);
  RawSubscription subscription(log(), request);
  EXPECT_THAT(subscription.TakeUntilCaughtUp(), SizeIs(0));
  // Tenants that may share its shard.
  for (int i = 0; i < 8; ++i) ASSERT_THAT(Open("a", absl::StrCat("neighbour-", i)), IsOk());
  for (int i = 0; i < 8; ++i) ASSERT_THAT(Say("a", "not for us", 0, absl::StrCat("neighbour-", i)), IsOk());
  ASSERT_THAT(Open("b", "watched"), IsOk());
  ASSERT_THAT(Say("b", "first", 0, "watched"), IsOk());
  ASSERT_THAT(Say("a", "second", 1, "watched"), IsOk());
  EXPECT_THAT(TextsOf(subscription.Take(2)), ElementsAre("first", "second"));
}

TEST_F(StreamsTest, EveryEventOnceWhicheverReplicaStoredIt) {
  constexpr int kWriters = 8, kEvents = 60;
  RawSubscription live(log(0), OfShards(kShards)), other(log(1), OfShards(kShards));
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    const std::string tenant = absl::StrCat("writer-", w);
    ASSERT_THAT(Open("s", tenant), IsOk());
    writers.emplace_back([w, tenant] {
      for (int i = 0; i < kEvents; ++i) EXPECT_THAT(Say("s", absl::StrCat(i), (w + i) % 2, tenant), IsOk());
    });
  }
  for (std::thread& writer : writers) writer.join();
  // Other tests have written too: only these writers count.
  const auto check = [&](RawSubscription& subscription) {
    std::map<std::string, std::vector<std::string>> texts;
    std::set<std::string> ids;
    size_t count = 0;
    for (size_t taken = 1; count < kWriters * kEvents; ++taken) {
      const wire::RecordedEvent event = subscription.Take(taken)[taken - 1];
      EXPECT_TRUE(ids.insert(event.session_id() + event.tenant_id() + event.event().event_id()).second);
      if (event.tenant_id().substr(0, 7) != "writer-" || !event.event().has_message()) continue;
      ++count;
      texts[event.tenant_id()].push_back(event.event().message().parts(0).text());
    }
    std::vector<std::string> expected;
    for (int i = 0; i < kEvents; ++i) expected.push_back(absl::StrCat(i));
    EXPECT_THAT(texts, SizeIs(kWriters));
    for (const auto& [tenant, said] : texts) EXPECT_EQ(said, expected) << tenant;
  };
  check(live);
  check(other);
  // From where another reader was, on the other replica: only what follows.
  std::map<int, int64_t> reached;
  for (int shard = 0; shard < kShards; ++shard) reached[shard] = live.through(shard);
  RawSubscription resumed(log(1), OfShards(kShards, reached));
  ASSERT_THAT(Say("s", "after", 0, "writer-0"), IsOk());
  EXPECT_EQ(TextsOf(resumed.Take(1)).back(), "after");
}

TEST_F(StreamsTest, SubscriptionErrors) {
  EXPECT_THAT(EndOf(OfSession("nowhere")), HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
  EXPECT_THAT(EndOf(wire::SubscribeRequest()), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(EndOf(OfShards(kShards + 1)), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(EndOf(OfShards(1, {{0, int64_t{1} << 50}})), HasReason(v1::ERROR_REASON_POSITION_IN_FUTURE));
}

TEST_F(StreamsTest, AppendStreamKeepsOrderAndGoesOnAfterARefusal) {
  constexpr int kRequests = 1000;  // more than its window
  grpc::ClientContext context;
  SetDeadline(context, absl::Now() + absl::Minutes(3));
  const auto stream = log().AppendStream(&context);
  std::thread sender([&] {
    const auto send = [&stream](const wire::AppendRequest& append) {
      wire::AppendStreamRequest request;
      *request.mutable_append() = append;
      return stream->Write(request);
    };
    EXPECT_TRUE(send(Opening("streamed")));
    for (int i = 2; i <= kRequests; ++i) {
      // Each hundredth one is for a session that is not there.
      EXPECT_TRUE(send(Saying(i % 100 == 0 ? "nowhere" : "streamed", absl::StrCat(i))));
    }
    stream->WritesDone();
  });
  std::vector<int64_t> refused;
  int64_t through = 0, appended = 0;
  wire::AppendStreamResponse answer;
  while (stream->Read(&answer)) {
    if (answer.has_refused()) {
      EXPECT_EQ(answer.refused().request(), through + 1);  // everything before it was answered
      EXPECT_THAT(FromRpcStatus(answer.refused().status()), HasReason(v1::ERROR_REASON_SESSION_NOT_FOUND));
      through = answer.refused().request();
      refused.push_back(through);
    } else {
      EXPECT_GT(answer.acknowledged().through(), through);
      through = answer.acknowledged().through();
      appended = answer.acknowledged().appended_events();
    }
  }
  sender.join();
  EXPECT_THAT(FromGrpc(stream->Finish()), IsOk());
  EXPECT_EQ(through, kRequests);
  EXPECT_EQ(appended, kRequests - 10);
  EXPECT_THAT(refused, ElementsAre(100, 200, 300, 400, 500, 600, 700, 800, 900, 1000));
  std::vector<std::string> expected;
  for (int i = 2; i <= kRequests; ++i) {
    if (i % 100 != 0) expected.push_back(absl::StrCat(i));
  }
  EXPECT_EQ(TextsOf(*ReadAll(log(), "streamed")), expected);
}

TEST(StreamsDrainTest, StreamsEndWithDrainingAndResumeElsewhere) {
  Deployment deployment({.logs = 2});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  RawSubscription subscription(deployment.log(0), OfSession("s"));
  EXPECT_THAT(subscription.TakeUntilCaughtUp(), SizeIs(1));
  EXPECT_EQ(deployment.log_server(0).Terminate(), 0);
  EXPECT_THAT(subscription.Finish(), HasReason(v1::ERROR_REASON_DRAINING));
  wire::SubscribeRequest rest = OfSession("s");
  rest.mutable_session()->mutable_start()->set_after_position(subscription.through(0) + subscription.through(1) +
                                                              subscription.through(2) + subscription.through(3));
  RawSubscription resumed(deployment.log(1), rest);
  ASSERT_THAT(Append(deployment.log(1), Saying("s", "later")), IsOk());
  EXPECT_THAT(TextsOf(resumed.Take(1)), ElementsAre("later"));
}

}  // namespace
}  // namespace docket::testing
