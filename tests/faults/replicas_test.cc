// One plan, many writers, several replicas of both services.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/mutex.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

constexpr int kWriters = 32;
constexpr int kRounds = 12;

// A write that was accepted.
struct Accepted {
  std::string call_id;
  int64_t version = 0;
  std::optional<int64_t> expected;
};

TEST(ReplicasTest, NoUpdateIsLostAndNoneIsWronglyAccepted) {
  Deployment deployment({.logs = 2, .todos = 2});
  ASSERT_THAT(Append(deployment.log(), Opening("s")), IsOk());
  const auto first = Write(deployment.todo(), Writing("s", "first", {"first"}));
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(Write(deployment.todo(), Writing("s", "second", {"second"})), IsOk());

  Mutex mutex;
  std::vector<Accepted> accepted;
  std::set<std::string> refused;
  int wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      auto& todo = deployment.todo(i % 2);
      const bool careful = i >= kWriters / 2;
      for (int round = 0; round < kRounds; ++round) {
        const std::string call = absl::StrCat("w", i, "-", round);
        auto request = Writing("s", call, {call});
        if (careful) {
          // Every third time a version that is surely not the newest, else the newest that this replica knows: stale
          // as often as the others are faster.
          const auto plan = Get(todo, "s");
          const int64_t seen = plan.ok() ? plan->plan().version() : 0;
          request.set_expected_version(round % 3 == 0 ? first->version() : seen);
        }
        const auto written = Write(todo, request);
        MutexLock lock(&mutex);
        if (written.ok()) {
          accepted.push_back(
              {call, written->version(), careful ? std::optional(request.expected_version()) : std::nullopt});
        } else if (careful && ReasonOf(written.status()) == v1::ERROR_REASON_REVISION_CONFLICT) {
          refused.insert(call);
        } else {
          ++wrong;
          ADD_FAILURE() << call << ": " << written.status();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(accepted.size() + refused.size(), size_t{kWriters * kRounds});
  EXPECT_GE(refused.size(), size_t{kWriters / 2 * kRounds / 3});

  // Both replicas of the log say the same, without a gap.
  const auto events = ReadAll(deployment.log(0), "s"), others = ReadAll(deployment.log(1), "s");
  ASSERT_THAT(events, IsOk());
  ASSERT_THAT(others, IsOk());
  ASSERT_EQ(events->size(), others->size());
  std::map<std::string, int64_t> stored;  // calls that were written, by version
  std::map<int64_t, int64_t> before;      // the version before each version
  int64_t seq = 0, last_version = 0;
  for (size_t i = 0; i < events->size(); ++i) {
    const wire::RecordedEvent& event = (*events)[i];
    EXPECT_EQ(event.seq(), ++seq);
    EXPECT_EQ(event.SerializeAsString(), (*others)[i].SerializeAsString());
    if (!event.event().has_todo_written()) continue;
    EXPECT_TRUE(stored.emplace(event.event().todo_written().call_id(), event.seq()).second);
    before[event.seq()] = std::exchange(last_version, event.seq());
  }
  for (const Accepted& write : accepted) {
    EXPECT_EQ(stored[write.call_id], write.version) << write.call_id;
    // Nothing came between what the writer had seen and what it wrote.
    if (write.expected.has_value()) {
      EXPECT_EQ(before[write.version], *write.expected) << write.call_id;
    }
  }
  for (const std::string& call : refused) {
    EXPECT_FALSE(stored.contains(call)) << call;
  }
  EXPECT_EQ(stored.size(), accepted.size() + 2);
  for (int i = 0; i < 2; ++i) {
    const auto plan = Get(deployment.todo(i), "s", "main", last_version);
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(plan->plan().version(), last_version);
  }
}

}  // namespace
}  // namespace docket::testing
