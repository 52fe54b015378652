// Writes while everything is killed again and again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/plan_recorder.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

using ::testing::IsEmpty;

constexpr int kSessions = 8;
constexpr int kWriters = 32;
constexpr int kWrites = 2000;
constexpr int kKills = 12;

// Four writers a session: two share the plan of `main`, two have agents of their own.
struct Writer {
  std::string session;
  std::string agent;
  std::string name;
  // What was acknowledged, in order: the write's call id and its version.
  std::vector<std::pair<std::string, int64_t>> acknowledged;
  std::vector<std::string> failures;
};

std::vector<Writer> MakeWriters() {
  std::vector<Writer> writers;
  for (int i = 0; i < kWriters; ++i) {
    const int role = i / kSessions;
    writers.push_back({.session = absl::StrCat("session-", i % kSessions),
                       .agent = role < 2 ? "main" : absl::StrCat("helper-", role),
                       .name = absl::StrCat("writer-", i)});
  }
  return writers;
}

todo_wire::WatchPlansRequest OfTenant() {
  todo_wire::WatchPlansRequest request;
  request.set_tenant_id(kTenant);
  request.mutable_tenant();
  return request;
}

TEST(KillsTest, EveryAcknowledgedWriteIsThereOnceAndInOrder) {
  const uint32_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random(seed);
  Deployment deployment({});
  for (int i = 0; i < kSessions; ++i) {
    const std::string session = absl::StrCat("session-", i);
    ASSERT_THAT(Append(deployment.log(), Opening(session)), IsOk());
    for (const char* agent : {"helper-2", "helper-3"})
      ASSERT_THAT(Append(deployment.log(), Spawning(session, agent)), IsOk());
  }
  PlanRecorder shown;
  client::PlanWatcher watcher(deployment.todo_server().channel(), OfTenant(), shown, {});
  ASSERT_TRUE(shown.WaitFor([](const auto& state) { return state.synced; }));

  std::vector<Writer> writers = MakeWriters();
  std::atomic<int> begun = 0, running = kWriters;
  std::vector<std::thread> threads;
  for (Writer& writer : writers) {
    threads.emplace_back([&] {
      for (int i = 0; begun.fetch_add(1) < kWrites; ++i) {
        const std::string call = absl::StrCat(writer.name, ":", i);
        const auto written =
            Write(deployment.todo(), Writing(writer.session, call, {call, "x:" + call + " done"}, writer.agent));
        if (written.ok()) {
          writer.acknowledged.emplace_back(call, written->version());
        } else {
          writer.failures.push_back(absl::StrCat(call, ": ", written.status().ToString()));
        }
      }
      --running;
    });
  }
  // Each kill waits for a random number of writes, the start that follows for a random time.
  int kills = 0, next = 0;
  while (running > 0 && kills < kKills) {
    next += std::uniform_int_distribution<int>(1, 2 * kWrites / (kKills + 1))(random);
    while (running > 0 && begun < next) absl::SleepFor(absl::Milliseconds(1));
    const absl::Duration pause = absl::Milliseconds(std::uniform_int_distribution<int>(0, 400)(random));
    ++kills;
    switch (std::uniform_int_distribution<int>(0, 2)(random)) {
      case 0:
        deployment.log_server().Kill();
        absl::SleepFor(pause);
        deployment.log_server().Start();
        break;
      case 1:
        deployment.todo_server().Kill();
        absl::SleepFor(pause);
        deployment.todo_server().Start();
        break;
      default:
        deployment.postgres().Kill();
        absl::SleepFor(pause);
        ASSERT_THAT(deployment.postgres().Start(), IsOk());
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(kills, 4);

  size_t acknowledged = 0;
  for (const Writer& writer : writers) {
    EXPECT_THAT(writer.failures, IsEmpty());
    acknowledged += writer.acknowledged.size();
  }
  EXPECT_EQ(acknowledged, size_t{kWrites});

  std::map<client::WatchedKey, std::pair<int64_t, std::vector<std::string>>> final_lists;
  size_t stored = 0;
  for (int i = 0; i < kSessions; ++i) {
    const std::string session = absl::StrCat("session-", i);
    const auto events = ReadAll(deployment.log(), session);
    ASSERT_THAT(events, IsOk());
    std::map<std::string, std::vector<std::pair<std::string, int64_t>>> found;  // by writer
    std::set<std::string> ids;
    int64_t seq = 0;
    for (const wire::RecordedEvent& event : *events) {
      EXPECT_EQ(event.seq(), ++seq);
      EXPECT_TRUE(ids.insert(event.event().event_id()).second);
      if (!event.event().has_todo_written()) continue;
      ++stored;
      const todo_wire::TodoWritten& written = event.event().todo_written();
      const std::vector<std::string> name = absl::StrSplit(written.call_id(), ':');
      found[name[0]].emplace_back(written.call_id(), event.seq());
      final_lists[{session, event.event().agent_id()}] = {event.seq(), ItemsOf(written.items())};
    }
    for (const Writer& writer : writers) {
      if (writer.session == session) {
        EXPECT_EQ(found[writer.name], writer.acknowledged) << writer.name;
      }
    }
  }
  EXPECT_EQ(stored, size_t{kWrites});
  // The watcher that was running, and whoever asks.
  for (const auto& final : final_lists) {
    const client::WatchedKey& key = final.first;
    const std::vector<std::string>& items = final.second.second;
    EXPECT_TRUE(shown.WaitFor([&](const PlanRecorder::State& state) {
      const auto plan = state.plans.find(key);
      return plan != state.plans.end() && plan->second.version() == final.second.first;
    })) << key.session_id
        << " " << key.agent_id;
    EXPECT_EQ(ItemsOf(shown.state().plans[key].items()), items);
    const auto plan = Get(deployment.todo(), key.session_id, key.agent_id);
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(ItemsOf(plan->plan().items()), items);
  }
  EXPECT_THAT(shown.state().went_back, IsEmpty());
}

}  // namespace
}  // namespace docket::testing
