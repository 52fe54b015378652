// Event ids, digests, request parsing, backoff, locks.
#include <thread>

#include "docket/todo/v1/todo_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/backoff.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/common/mutex.h"
#include "services/common/proto_check.h"
#include "services/common/sha256.h"

namespace docket {
namespace {

TEST(EventIdTest, ReadsWhatItWrites) {
  const EventId id = EventId::Random();
  EXPECT_EQ(EventId::Parse(id.ToString()), id);
  EXPECT_EQ(id.ToString()[14], '4');
  EXPECT_NE(EventId::Random(), id);
  for (const char* bad : {"", "x", "123E4567-e89b-42d3-a456-426614174000", "123e4567e89b-42d3-a456-4266141740000"}) {
    EXPECT_EQ(EventId::Parse(bad), std::nullopt) << bad;
  }
}

TEST(EventIdTest, IsMadeOfTimeAndHash) {
  const std::string hash = Sha256("x");
  const EventId early = EventId::FromTimeAndHash(absl::FromUnixMillis(1000), hash);
  const EventId late = EventId::FromTimeAndHash(absl::FromUnixMillis(1001), hash);
  EXPECT_LT(early, late);
  EXPECT_EQ(early, EventId::FromTimeAndHash(absl::FromUnixMillis(1000), hash));
  EXPECT_EQ(early.ToString()[14], '8');
  EXPECT_EQ(EventId::FromHash(hash), EventId::FromHash(hash));
}

TEST(Sha256Test, EqualsTheStandard) {
  // FIPS 180-4's example for "abc".
  const unsigned char first[] = {0xba, 0x78, 0x16, 0xbf};
  EXPECT_EQ(Sha256("abc").substr(0, 4), std::string(reinterpret_cast<const char*>(first), 4));
  EXPECT_NE(Sha256OfParts({"ab", "c"}), Sha256OfParts({"a", "bc"}));
}

TEST(Sha256Test, SpreadsTenantsOverShards) {
  // 0xba7816bf8f01cfea mod 64.
  EXPECT_EQ(ShardOf("abc", 64), 0x2a);
  EXPECT_EQ(ShardOf("abc", 1), 0);
}

TEST(ProtoCheckTest, NamesTheTextThatIsNotUtf8) {
  todo::v1::WriteTodosRequest request;
  request.add_items()->set_content("fine");
  request.add_items()->set_content("MARK");
  std::string bytes = request.SerializeAsString();
  bytes[bytes.find("MARK")] = '\xff';
  todo::v1::WriteTodosRequest parsed;
  const absl::Status status = ParseRequest(bytes, parsed);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(MetadataOf(status)["path"], "items[1].content");
  EXPECT_EQ(ReasonOf(ParseRequest("\xff\xff\xff", parsed)), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_TRUE(ParseRequest(request.SerializeAsString(), parsed).ok());
}

TEST(ProtoCheckTest, NamesUnknownFields) {
  todo::v1::WriteTodosRequest request;
  EXPECT_TRUE(RefuseUnknownFields(request).ok());
  request.add_items();
  request.add_items()->GetReflection()->MutableUnknownFields(request.mutable_items(1))->AddVarint(77, 1);
  EXPECT_EQ(FindUnknownField(request), "items[1].#77");
  EXPECT_EQ(ReasonOf(RefuseUnknownFields(request)), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(FindUnknownField(request, "docket.todo.v1.TodoItemInput"), std::nullopt);
}

TEST(BackoffTest, GrowsToItsBound) {
  Backoff backoff({.first = absl::Milliseconds(10), .longest = absl::Milliseconds(40)});
  const absl::Duration first = backoff.Next();
  EXPECT_GE(first, absl::Milliseconds(5));
  EXPECT_LE(first, absl::Milliseconds(10));
  for (int i = 0; i < 10; ++i) EXPECT_LE(backoff.Next(), absl::Milliseconds(40));
  EXPECT_GE(backoff.Next(), absl::Milliseconds(20));
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(10));
}

TEST(MutexTest, WaitsForASignal) {
  Mutex mutex;
  CondVar changed;
  int turns = 0;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      MutexLock lock(&mutex);
      while (turns % 2 == 0) changed.Wait(&mutex);
      ++turns;
      changed.SignalAll();
    }
  });
  for (int i = 0; i < 100; ++i) {
    MutexLock lock(&mutex);
    while (turns % 2 == 1) changed.Wait(&mutex);
    ++turns;
    changed.SignalAll();
  }
  other.join();
  MutexLock lock(&mutex);
  EXPECT_EQ(turns, 200);
  EXPECT_TRUE(changed.WaitWithTimeout(&mutex, absl::Milliseconds(1)));
}

}  // namespace
}  // namespace docket
