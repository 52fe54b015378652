#include "services/log/core/append_lane.h"

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/log/core/fake_event_store.h"
#include "services/log/core/shard_set.h"

namespace docket::log {
namespace {

using docket::v1::ErrorReason;
using Kind = AppendOutcome::Kind;
using Result = absl::StatusOr<v1::AppendResponse>;

v1::SessionEvent Opened() {
  v1::SessionEvent event;
  event.set_event_id(EventId::Random().ToString());
  event.mutable_session_opened();
  return event;
}

v1::SessionEvent Said(const std::string& text) {
  v1::SessionEvent event;
  event.set_event_id(EventId::Random().ToString());
  event.set_agent_id("main");
  event.mutable_message()->set_role(v1::MESSAGE_ROLE_USER);
  event.mutable_message()->add_parts()->set_text(text);
  return event;
}

v1::AppendRequest Request(const std::string& session, std::vector<v1::SessionEvent> events) {
  v1::AppendRequest request;
  request.set_tenant_id("tenant");
  request.set_session_id(session);
  for (auto& event : events) *request.add_events() = std::move(event);
  return request;
}

class AppendLaneTest : public ::testing::Test {
 protected:
  std::future<Result> Send(ShardSet& shards, const v1::AppendRequest& request) {
    auto promise = std::make_shared<std::promise<Result>>();
    const absl::Status status = shards.Append(std::make_shared<v1::AppendRequest>(request),
                                              [promise](Result result) { promise->set_value(std::move(result)); });
    if (!status.ok()) promise->set_value(status);
    return promise->get_future();
  }
  Result Append(const v1::AppendRequest& request) { return Send(shards_, request).get(); }
  std::optional<ErrorReason> Refusal(const v1::AppendRequest& request) { return ReasonOf(Append(request).status()); }

  FakeEventStore store_;
  FeedSet feeds_{store_, {}};
  ShardSet shards_{store_, feeds_, 1, {.give_up_after = absl::Seconds(2)}};
};

TEST_F(AppendLaneTest, NumbersEvents) {
  Result first = Append(Request("a", {Opened(), Said("1")}));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->seqs(), ::testing::ElementsAre(1, 2));
  Result other = Append(Request("b", {Opened()}));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(other->positions(), ::testing::ElementsAre(3));
  Result second = Append(Request("a", {Said("2")}));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->seqs(), ::testing::ElementsAre(3));
  EXPECT_FALSE(second->deduplicated());
}

TEST_F(AppendLaneTest, AnswersARepeatedRequestAsBefore) {
  const auto request = Request("a", {Opened(), Said("1")});
  const Result first = Append(request);
  ASSERT_TRUE(Append(Request("a", {Said("2")})).ok());
  const Result again = Append(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->deduplicated());
  EXPECT_THAT(again->seqs(), ::testing::ElementsAre(1, 2));
  const auto said = Request("a", {Said("3")});
  ASSERT_TRUE(Append(said).ok());
  const Result said_again = Append(said);
  ASSERT_TRUE(said_again.ok()) << said_again.status();
  EXPECT_TRUE(said_again->deduplicated());
  EXPECT_EQ(store_.events().size(), 4u);
}

TEST_F(AppendLaneTest, AppendsWhatATranscriptHasGrownBy) {
  const auto opened = Opened(), one = Said("1"), two = Said("2"), three = Said("3");
  ASSERT_TRUE(Append(Request("a", {opened, one})).ok());
  const Result grown = Append(Request("a", {opened, one, two}));
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_THAT(grown->seqs(), ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(grown->known_events(), 2);
  EXPECT_FALSE(grown->deduplicated());
  EXPECT_EQ(Refusal(Request("a", {three, two})), docket::v1::ERROR_REASON_PARTIAL_DUPLICATE);
  EXPECT_EQ(store_.events().size(), 3u);
}

TEST_F(AppendLaneTest, RefusesAnIdWithOtherContent) {
  auto event = Said("1");
  ASSERT_TRUE(Append(Request("a", {Opened(), event})).ok());
  event.mutable_message()->mutable_parts(0)->set_text("other");
  EXPECT_EQ(Refusal(Request("a", {event})), docket::v1::ERROR_REASON_EVENT_ID_REUSED);
  event.set_content_digest("digest");
  ASSERT_EQ(Refusal(Request("a", {event})), docket::v1::ERROR_REASON_EVENT_ID_REUSED)
      << "a digest against none compares bytes";
}

TEST_F(AppendLaneTest, ReportsAllFailingPreconditions) {
  ASSERT_TRUE(Append(Request("a", {Opened(), Said("1")})).ok());
  auto request = Request("a", {Said("2")});
  request.add_preconditions()->mutable_no_session();
  request.add_preconditions()->mutable_head_seq()->set_seq(7);
  auto* latest = request.add_preconditions()->mutable_latest_seq();
  latest->set_agent_id("main");
  latest->add_types(v1::EVENT_TYPE_MESSAGE);
  latest->set_seq(2);
  const Result refused = Append(request);
  EXPECT_EQ(ReasonOf(refused.status()), docket::v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(MetadataOf(refused.status())["actual"], "2");
  request.mutable_preconditions()->DeleteSubrange(0, 2);
  EXPECT_TRUE(Append(request).ok());
}

TEST_F(AppendLaneTest, OneBadRequestFailsAlone) {
  store_.RefuseType(v1::EVENT_TYPE_CUSTOM);
  ASSERT_TRUE(Append(Request("a", {Opened()})).ok());
  v1::SessionEvent bad;
  bad.set_event_id(EventId::Random().ToString());
  bad.mutable_custom();
  std::vector<std::future<Result>> good;
  for (int i = 0; i < 20; ++i) good.push_back(Send(shards_, Request("a", {Said("x")})));
  std::future<Result> refused = Send(shards_, Request("a", {bad}));
  for (int i = 0; i < 20; ++i) good.push_back(Send(shards_, Request("a", {Said("x")})));
  for (auto& result : good) EXPECT_TRUE(result.get().ok());
  EXPECT_EQ(refused.get().status().message(), "bad data");
  EXPECT_EQ(Refusal(Request("missing", {Said("x")})), docket::v1::ERROR_REASON_SESSION_NOT_FOUND);
}

TEST_F(AppendLaneTest, DoubtIsSettledOnce) {
  ASSERT_TRUE(Append(Request("a", {Opened()})).ok());
  for (const bool stored : {true, false}) {
    const size_t before = store_.events().size();
    const int flushes = store_.flushes();
    store_.FailNext({Kind::kInDoubt, stored});
    const Result result = Append(Request("a", {Said("x")}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(result->deduplicated());
    EXPECT_EQ(store_.events().size(), before + 1);
    if (stored) {
      EXPECT_GT(store_.flushes(), flushes) << "a later commit proves the earlier one";
    }
  }
  store_.FailNext({Kind::kInDoubt, true});
  const Result opened = Append(Request("new", {Opened(), Said("x")}));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->seqs(), ::testing::ElementsAre(1, 2));
}

TEST_F(AppendLaneTest, GivesUpOnAStoreThatStaysAway) {
  for (int i = 0; i < 1000; ++i) store_.FailNext({Kind::kUnavailable, false});
  const Result result = Append(Request("a", {Opened()}));
  EXPECT_EQ(ReasonOf(result.status()), docket::v1::ERROR_REASON_STORE_UNAVAILABLE);
  EXPECT_TRUE(RetryAfterOf(result.status()).has_value());
}

TEST_F(AppendLaneTest, SaysThatACommitIsUnknown) {
  for (int i = 0; i < 1000; ++i) store_.FailNext({Kind::kInDoubt, false});
  EXPECT_EQ(Refusal(Request("a", {Opened()})), docket::v1::ERROR_REASON_COMMIT_UNKNOWN);
}

TEST_F(AppendLaneTest, GoesOnAfterTheLogLostItsEnd) {
  ASSERT_TRUE(Append(Request("a", {Opened(), Said("1"), Said("2")})).ok());
  store_.Truncate(Position{2});
  const Result result = Append(Request("a", {Said("3")}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->seqs(), ::testing::ElementsAre(3));
  EXPECT_EQ(store_.epoch(), 2);
}

TEST_F(AppendLaneTest, DrainsWhatIsQueued) {
  ASSERT_TRUE(Append(Request("a", {Opened()})).ok());
  std::vector<std::future<Result>> results;
  for (int i = 0; i < 100; ++i) results.push_back(Send(shards_, Request("a", {Said("x")})));
  shards_.Drain();
  for (auto& result : results) EXPECT_TRUE(result.get().ok());
  EXPECT_EQ(Refusal(Request("a", {Said("x")})), docket::v1::ERROR_REASON_DRAINING);
  EXPECT_GE(store_.flushes(), 1) << "summaries are flushed in the end";
  EXPECT_EQ(store_.claimed(), Position{0}) << "a lane does not know every session of its shard";
  EXPECT_LT(store_.appends(), 100) << "what waits together is stored together";
}

TEST_F(AppendLaneTest, RefusesWhenTheQueueIsFull) {
  AppendLane lane(ShardId{0}, store_, feeds_.Feed(ShardId{0}), {.max_queued_per_tenant = 0});
  const absl::Status status =
      lane.Submit(std::make_shared<v1::AppendRequest>(Request("a", {Opened()})), [](Result) { FAIL(); });
  EXPECT_EQ(ReasonOf(status), docket::v1::ERROR_REASON_QUEUE_FULL);
}

// A replica that did not see the newest events itself must not judge by what it knew before them.
TEST_F(AppendLaneTest, RefusesByTheLogsEndAlone) {
  FeedSet other_feeds(store_, {});
  ShardSet other(store_, other_feeds, 1, {});
  const auto after = [](int64_t seq) {
    auto request = Request("a", {Said("more")});
    request.add_preconditions()->mutable_head_seq()->set_seq(seq);
    return request;
  };
  ASSERT_TRUE(Append(Request("a", {Opened(), Said("1")})).ok());
  ASSERT_TRUE(Append(Request("b", {Opened(), Said("1")})).ok());
  ASSERT_TRUE(Send(other, Request("a", {Said("2"), Said("3")})).get().ok());
  const Result right = Append(after(4));
  EXPECT_TRUE(right.ok()) << right.status();
  ASSERT_TRUE(Send(other, Request("a", {Said("5"), Said("6")})).get().ok());
  const Result wrong = Append(after(6));
  EXPECT_EQ(ReasonOf(wrong.status()), docket::v1::ERROR_REASON_REVISION_CONFLICT);
  EXPECT_EQ(MetadataOf(wrong.status())["actual"], "7");
  // Beside others of a batch, which are judged again with it and appended once.
  ASSERT_TRUE(Send(other, Request("a", {Said("8")})).get().ok());
  std::vector<std::future<Result>> batch;
  for (int i = 0; i < 20; ++i) batch.push_back(Send(shards_, i == 10 ? after(8) : Request("b", {Said("b")})));
  for (auto& result : batch) EXPECT_TRUE(result.get().ok());
  EXPECT_EQ(store_.events().size(), 2u + 2 + 2 + 1 + 2 + 1 + 20);
}

TEST_F(AppendLaneTest, RefusesByWhatIsStoredAlone) {
  ASSERT_TRUE(Append(Request("a", {Opened()})).ok());
  FeedSet feeds(store_, {});
  ShardSet shards(store_, feeds, 1, {.give_up_after = absl::Milliseconds(200)});
  for (int i = 0; i < 1000; ++i) store_.FailNext({Kind::kUnavailable, false});
  // While the first waits for the store, the others become one batch: two that want to be the next event.
  auto first = Send(shards, Request("b", {Opened()}));
  std::vector<std::future<Result>> rivals;
  for (int i = 0; i < 2; ++i) {
    auto request = Request("a", {Said(absl::StrCat(i))});
    request.add_preconditions()->mutable_head_seq()->set_seq(1);
    rivals.push_back(Send(shards, request));
  }
  for (auto& rival : rivals) {
    EXPECT_EQ(ReasonOf(rival.get().status()), docket::v1::ERROR_REASON_STORE_UNAVAILABLE);
  }
}

TEST_F(AppendLaneTest, TwoReplicasShareAShard) {
  FeedSet other_feeds(store_, {});
  ShardSet other(store_, other_feeds, 1, {});
  std::atomic<int> failed{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 8; ++w) {
    writers.emplace_back([&, w] {
      ShardSet& shards = w % 2 == 0 ? shards_ : other;
      const std::string session = absl::StrCat("s", w % 3);
      Send(shards, Request(session, {Opened()})).wait();  // all but the first find it open
      std::vector<std::future<Result>> results;
      for (int i = 0; i < 50; ++i) results.push_back(Send(shards, Request(session, {Said(absl::StrCat(w, "-", i))})));
      int64_t last = 0;
      for (auto& result : results) {
        const Result got = result.get();
        if (!got.ok() || got->seqs(0) <= last) ++failed;
        if (got.ok()) last = got->seqs(0);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  const auto events = store_.events();
  EXPECT_EQ(events.size(), 8u * 50 + 3);
  std::map<int64_t, int64_t> heads;
  std::set<EventId> ids;
  for (const StoredEvent& event : events) {
    EXPECT_EQ(event.seq.value, ++heads[event.session_pk.value]) << "seqs have no gap";
    EXPECT_TRUE(ids.insert(event.id).second) << "nothing is stored twice";
  }
}

}  // namespace
}  // namespace docket::log
