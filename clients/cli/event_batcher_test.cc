#include "clients/cli/event_batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace docket::cli {
namespace {

using ::testing::ElementsAre;

harness::ParsedEvent Event(const std::string& session, size_t bytes = 10) {
  harness::ParsedEvent parsed;
  parsed.session_id = session;
  parsed.event.mutable_message()->add_parts()->set_text(std::string(bytes, 'x'));
  return parsed;
}

class EventBatcherTest : public ::testing::Test {
 protected:
  EventBatcher batcher_{"t", [this](log::v1::AppendRequest request) {
                          EXPECT_EQ(request.tenant_id(), "t");
                          sent_.emplace_back(request.session_id(), request.events_size());
                        }};
  std::vector<std::pair<std::string, int>> sent_;
};

TEST_F(EventBatcherTest, KeepsSessionsApart) {
  for (const char* session : {"a", "a", "b", "a"}) batcher_.Add(Event(session));
  batcher_.Flush();
  batcher_.Flush();
  EXPECT_THAT(sent_, ElementsAre(std::pair("a", 2), std::pair("b", 1), std::pair("a", 1)));
}

TEST_F(EventBatcherTest, BeginsARequestWithWhatOtherFilesMayTell) {
  batcher_.Add(Event("a"));
  harness::ParsedEvent spawned = Event("a");
  spawned.event.mutable_agent_spawned();
  batcher_.Add(spawned);
  batcher_.Add(Event("a"));
  batcher_.Flush();
  EXPECT_THAT(sent_, ElementsAre(std::pair("a", 1), std::pair("a", 2)));
}

TEST_F(EventBatcherTest, BoundsARequest) {
  for (int i = 0; i <= kMaxBatchEvents; ++i) batcher_.Add(Event("a"));
  batcher_.Add(Event("a", kMaxBatchBytes));
  batcher_.Add(Event("a"));
  batcher_.Flush();
  EXPECT_THAT(sent_,
              ElementsAre(std::pair("a", kMaxBatchEvents), std::pair("a", 1), std::pair("a", 1), std::pair("a", 1)));
}

}  // namespace
}  // namespace docket::cli
