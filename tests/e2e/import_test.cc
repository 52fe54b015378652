// `docket import` against real servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "tests/testing/calls.h"
#include "tests/testing/deployment.h"
#include "tests/testing/status_matchers.h"

namespace docket::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

fs::path Corpus() {
  const char* named = std::getenv("DOCKET_CORPUS");
  return named != nullptr ? fs::path(named) : fs::path(DOCKET_SOURCE_DIR) / ".." / "shared" / "corpus";
}

std::string Demo(const std::string& name) {
  return (fs::path(DOCKET_SOURCE_DIR) / "deploy" / "local" / "demo" / name).string();
}

RunResult Import(Deployment& deployment, const std::string& tenant, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--tenant", tenant, "--patience", "60", "import"});
  return deployment.Docket(arguments);
}

std::vector<wire::SessionSummary> Sessions(Deployment& deployment, const std::string& tenant) {
  wire::ListSessionsRequest request;
  request.set_tenant_id(tenant);
  request.set_page_size(1000);
  wire::ListSessionsResponse response;
  EXPECT_THAT(client::CallPatiently(kPatient,
                                    [&](grpc::ClientContext& context) {
                                      return deployment.log().ListSessions(&context, request, &response);
                                    }),
              IsOk());
  return {response.sessions().begin(), response.sessions().end()};
}

// The newest seq of a session; 0 if it cannot be told.
int64_t HeadOf(Deployment& deployment, const std::string& session) {
  wire::GetSessionRequest request;
  request.set_tenant_id(kTenant);
  request.set_session_id(session);
  wire::GetSessionResponse response;
  const absl::Status status = client::CallPatiently(
      kOnce, [&](grpc::ClientContext& context) { return deployment.log().GetSession(&context, request, &response); });
  return status.ok() ? response.session().head_seq() : 0;
}

const char* StatusWord(todo_wire::TodoStatus status) {
  switch (status) {
    case todo_wire::TODO_STATUS_IN_PROGRESS:
      return "in_progress";
    case todo_wire::TODO_STATUS_COMPLETED:
      return "completed";
    case todo_wire::TODO_STATUS_CANCELLED:
      return "cancelled";
    default:
      return "pending";
  }
}

// A session's stored plans, in the shape that the corpus' comparing program reads.
Json PlansOf(const std::string& session, const std::vector<wire::RecordedEvent>& events) {
  int turns = 0;
  Json agents = Json::array();
  const auto agent = [&agents](const std::string& id) -> Json& {
    for (Json& known : agents) {
      if (known.at("agent_id") == id) return known;
    }
    agents.push_back({{"agent_id", id}, {"writes", Json::array()}, {"rejected", Json::array()}});
    return agents.back();
  };
  for (const wire::RecordedEvent& recorded : events) {
    const wire::SessionEvent& event = recorded.event();
    if (event.turn_started().origin() == docket::v1::TURN_ORIGIN_USER && event.agent_id() == "main") ++turns;
    if (event.has_todo_rejected())
      agent(event.agent_id())["rejected"].push_back({{"call_id", event.todo_rejected().call_id()}});
    if (!event.has_todo_written()) continue;
    Json items = Json::array();
    for (const todo_wire::TodoItem& item : event.todo_written().items())
      items.push_back({{"content", item.content()}, {"status", StatusWord(item.status())}});
    Json& writer = agent(event.agent_id());
    writer["writes"].push_back({{"call_id", event.todo_written().call_id()}, {"items", items}});
    writer["final"] = std::move(items);
  }
  return {{"session_id", session}, {"turns", turns}, {"agents", std::move(agents)}};
}

TEST(ImportCorpusTest, ReadsBackTheExpectedPlans) {
  if (!fs::exists(Corpus() / "expected")) {
    if (std::getenv("CI") != nullptr) FAIL() << "no corpus: " << Corpus();
    GTEST_SKIP() << "no corpus: " << Corpus();
  }
  Deployment deployment({});
  int files = 0;
  for (const std::string format : {"claude-code", "dsh"}) {
    std::vector<fs::path> sources;
    for (const auto& entry : fs::directory_iterator(Corpus() / format)) sources.push_back(entry.path());
    std::sort(sources.begin(), sources.end());
    for (const fs::path& source : sources) {
      SCOPED_TRACE(source);
      // Recordings of the same session stand in several files.
      const std::string tenant = absl::StrCat(format, "/", source.filename().string());
      const RunResult imported = Import(deployment, tenant, {format, source.string()});
      ASSERT_EQ(imported.exit_code, 0) << imported.output;
      EXPECT_THAT(imported.output, Not(HasSubstr("skipped:")));
      Json product = {{"sessions", Json::array()}};
      for (const wire::SessionSummary& session : Sessions(deployment, tenant)) {
        const auto events = ReadAll(deployment.log(), session.session_id(), tenant);
        ASSERT_THAT(events, IsOk());
        product["sessions"].push_back(PlansOf(session.session_id(), *events));
      }
      const std::string found = deployment.folder().File("found.json");
      WriteFile(found, product.dump());
      const auto compared = RunProgram(
          {.command = {"/usr/bin/python3", (Corpus() / "compare.py").string(), "--agents-by-order", "--call-ids",
                       "--rejected", (Corpus() / "expected" / format / source.stem()).string() + ".json", found}},
          absl::Minutes(1));
      ASSERT_THAT(compared, IsOk());
      EXPECT_EQ(compared->exit_code, 0) << compared->output;
      const RunResult again = Import(deployment, tenant, {format, source.string()});
      EXPECT_EQ(again.exit_code, 0) << again.output;
      EXPECT_THAT(again.output, HasSubstr("(0 new,"));
      ++files;
    }
  }
  EXPECT_GE(files, 21);
}

TEST(ImportTest, AFileThatHasGrownAddsWhatIsNew) {
  Deployment deployment({});
  const std::string text = ReadFile(Demo("transcript-todowrite.jsonl"));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  const std::string path = deployment.folder().File("transcript-todowrite.jsonl");
  std::string grown;
  for (const std::string& line : lines) {
    absl::StrAppend(&grown, line, "\n");
    WriteFile(path, grown);
    const RunResult imported = Import(deployment, kTenant, {"claude-code", path});
    ASSERT_EQ(imported.exit_code, 0) << imported.output;
  }
  Import(deployment, "whole", {"claude-code", path});
  const auto sessions = Sessions(deployment, kTenant);
  ASSERT_THAT(sessions, SizeIs(1));
  const std::string id = sessions[0].session_id();
  const auto in_steps = ReadAll(deployment.log(), id), whole = ReadAll(deployment.log(), id, "whole");
  ASSERT_THAT(in_steps, IsOk());
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ(PlansOf(id, *in_steps), PlansOf(id, *whole));
  EXPECT_EQ(in_steps->size(), whole->size());
  const auto plan = Get(deployment.todo(), id);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->plan().counts().completed(), 2);
}

TEST(ImportTest, ABrokenLineCostsThatLine) {
  Deployment deployment({});
  const std::string text = ReadFile(Demo("transcript-tasks.jsonl"));
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  lines.insert(lines.begin() + 4, "{\"type\":\"user\", torn");
  lines.insert(lines.begin() + 9, "\xff\xfe\x00");
  const std::string path = deployment.folder().File("transcript-tasks.jsonl");
  WriteFile(path, absl::StrJoin(lines, "\n"));
  const RunResult broken = Import(deployment, kTenant, {"claude-code", path});
  EXPECT_EQ(broken.exit_code, 0);
  EXPECT_THAT(broken.output, HasSubstr("skipped: line 5: "));
  EXPECT_THAT(broken.output, HasSubstr("skipped: line 10: "));
  Import(deployment, "whole", {"claude-code", Demo("transcript-tasks.jsonl")});
  const auto sessions = Sessions(deployment, kTenant);
  ASSERT_THAT(sessions, SizeIs(1));
  const std::string id = sessions[0].session_id();
  EXPECT_EQ(PlansOf(id, *ReadAll(deployment.log(), id)), PlansOf(id, *ReadAll(deployment.log(), id, "whole")));
}

TEST(ImportTest, ADryRunNeedsNoServerAndPrintsALineAnEvent) {
  const auto run = RunProgram({.command = {ProgramPath("docket"), "--log-address", "127.0.0.1:1", "import", "--dry-run",
                                           "claude-code", Demo("transcript-todowrite.jsonl")},
                               .output_path = ""},
                              absl::Minutes(1));
  ASSERT_THAT(run, IsOk());
  EXPECT_EQ(run->exit_code, 0) << run->output;
  int events = 0, lists = 0;
  for (const absl::string_view line : absl::StrSplit(run->output, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "{")) continue;  // the report
    wire::RecordedEvent event;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(std::string(line), &event).ok()) << line;
    EXPECT_FALSE(event.session_id().empty());
    EXPECT_THAT(event.event().event_id(), SizeIs(36));
    EXPECT_EQ(event.seq(), 0);
    ++events;
    if (event.event().has_todo_written()) ++lists;
  }
  EXPECT_GT(events, 10);
  EXPECT_EQ(lists, 3);
}

TEST(ImportTest, WhatTheLogRefusesIsReported) {
  Deployment deployment({});
  const std::string path = Demo("transcript-todowrite.jsonl");
  EXPECT_EQ(Import(deployment, kTenant, {"claude-code", path}).exit_code, 0);
  const std::string id = Sessions(deployment, kTenant)[0].session_id();
  ASSERT_THAT(Append(deployment.log(), Closing(id)), IsOk());
  // A line more than before, for a session that is closed now.
  std::string text = ReadFile(path);
  const Json last = Json::parse(std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty())).back());
  Json more = last;
  more["type"] = "user";
  more["uuid"] = "11111111-2222-4333-8444-555555555555";
  more["message"] = {{"role", "user"}, {"content", "one thing more"}};
  const std::string grown = deployment.folder().File("grown.jsonl");
  WriteFile(grown, text + more.dump() + "\n");
  const RunResult refused = Import(deployment, kTenant, {"claude-code", grown});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("SESSION_CLOSED"));
  EXPECT_THAT(refused.output, HasSubstr("refused"));
}

TEST(ImportTest, ExitCodes) {
  Deployment deployment({});
  EXPECT_EQ(Import(deployment, kTenant, {"claude-code", "/nowhere/at/all"}).exit_code, 1);
  EXPECT_EQ(Import(deployment, kTenant, {"no-such-format", Demo("transcript-tasks.jsonl")}).exit_code, 2);
  EXPECT_EQ(Import(deployment, kTenant, {"--pace", "fast", "claude-code", Demo("transcript-tasks.jsonl")}).exit_code,
            2);
  deployment.log_server().Kill();
  const RunResult away =
      deployment.Docket({"--patience", "0", "import", "claude-code", Demo("transcript-todowrite.jsonl")});
  EXPECT_EQ(away.exit_code, 3) << away.output;
  EXPECT_THAT(away.output, HasSubstr(absl::StrCat("docket-log at ", deployment.log_server().address())));
}

// A recording long enough to be killed in the middle of.
std::string LongRecording(int prompts) {
  std::string text;
  for (int i = 0; i < prompts; ++i) {
    const auto entry = [&](const char* type, const char* part, Json content) {
      absl::StrAppend(&text,
                      Json({{"type", type},
                            {"uuid", absl::StrCat(part, "-", i)},
                            {"sessionId", absl::StrCat("long-", i % 4)},
                            {"timestamp", "2026-01-01T00:00:00Z"},
                            {"message", {{"role", type}, {"content", std::move(content)}}}})
                          .dump(),
                      "\n");
    };
    const std::string call = absl::StrCat("call-", i);
    entry("user", "ask", absl::StrCat("do ", i));
    entry("assistant", "call",
          {{{"type", "tool_use"},
            {"id", call},
            {"name", "TodoWrite"},
            {"input", {{"todos", {{{"content", absl::StrCat("task ", i)}, {"status", "pending"}}}}}}}});
    entry("user", "result", {{{"type", "tool_result"}, {"tool_use_id", call}, {"content", "ok"}}});
  }
  return text;
}

TEST(ImportTest, GoesOnWhenTheLogIsKilledAndStartedAgain) {
  Deployment deployment({});
  constexpr int kPrompts = 4000;
  const std::string path = deployment.folder().File("long.jsonl");
  WriteFile(path, LongRecording(kPrompts));
  RunResult imported;
  std::atomic<bool> over = false;
  std::thread import([&] {
    imported = Import(deployment, kTenant, {"claude-code", path});
    over = true;
  });
  // Killed each time some more of it is stored.
  int kills = 0;
  int64_t killed_at = 0;
  while (!over && kills < 3) {
    const int64_t head = HeadOf(deployment, "long-0");
    if (head < killed_at + 300) {
      absl::SleepFor(absl::Milliseconds(5));
      continue;
    }
    killed_at = head;
    ++kills;
    deployment.log_server().Kill();
    deployment.log_server().Start();
  }
  import.join();
  EXPECT_GE(kills, 1);
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  for (int session = 0; session < 4; ++session) {
    const auto events = ReadAll(deployment.log(), absl::StrCat("long-", session));
    ASSERT_THAT(events, IsOk());
    std::vector<std::string> written, expected;
    for (const wire::RecordedEvent& event : *events) {
      if (event.event().has_todo_written()) written.push_back(event.event().todo_written().items(0).content());
    }
    for (int i = session; i < kPrompts; i += 4) expected.push_back(absl::StrCat("task ", i));
    EXPECT_EQ(written, expected);
  }
}

TEST(ImportTest, TakesASessionFromTwoFiles) {
  Deployment deployment({});
  const auto write = [&](const std::string& name, const std::string& agent) {
    std::string text;
    for (const char* type : {"user", "assistant"}) {
      Json content = "do it";
      if (type == std::string("assistant")) {
        content = {{{"type", "tool_use"},
                    {"id", "call-" + agent},
                    {"name", "TodoWrite"},
                    {"input", {{"todos", {{{"content", "task of " + agent}, {"status", "pending"}}}}}}}};
      }
      Json entry = {{"type", type},
                    {"uuid", agent + type},
                    {"sessionId", "s"},
                    {"timestamp", agent == "main" ? "2026-01-01T00:00:00Z" : "2026-01-01T00:01:00Z"},
                    {"message", {{"role", type}, {"content", content}}}};
      if (agent != "main") entry.update({{"isSidechain", true}, {"agentId", agent}});
      absl::StrAppend(&text, entry.dump(), "\n");
    }
    WriteFile(deployment.folder().File(name), text);
    return deployment.folder().File(name);
  };
  const std::string main = write("s.jsonl", "main"), helper = write("agent-helper.jsonl", "helper");
  for (int i = 0; i < 2; ++i) {
    const RunResult imported = Import(deployment, kTenant, {"claude-code", main, helper});
    EXPECT_EQ(imported.exit_code, 0) << imported.output;
  }
  for (const char* agent : {"main", "helper"}) {
    const auto plan = Get(deployment.todo(), "s", agent);
    ASSERT_THAT(plan, IsOk());
    EXPECT_THAT(ItemsOf(plan->plan().items()), ElementsAre(absl::StrCat("task of ", agent)));
  }
}

TEST(ImportTest, ReplaysAtTheRecordedPace) {
  Deployment deployment({});
  std::string text = LongRecording(5);
  // A second from one prompt to the next.
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (size_t i = 0; i < lines.size(); ++i) {
    Json entry = Json::parse(lines[i]);
    entry["timestamp"] = absl::StrCat("2026-01-01T00:00:0", i / 3, "Z");
    lines[i] = entry.dump();
  }
  const std::string path = deployment.folder().File("paced.jsonl");
  WriteFile(path, absl::StrJoin(lines, "\n"));
  const absl::Time begin = absl::Now();
  const RunResult imported = Import(deployment, kTenant, {"--pace", "4x", "claude-code", path});
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_GE(absl::Now() - begin, absl::Seconds(1));  // 4 s of recording
  const auto sessions = Sessions(deployment, kTenant);
  ASSERT_THAT(sessions, SizeIs(4));
}

}  // namespace
}  // namespace docket::testing
