#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/harness/json_lines.h"
#include "clients/harness/session_recorder.h"
#include "clients/harness/transcript_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/event_id.h"
#include "services/common/list_rules.h"

namespace docket::harness {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Outcome {
  std::vector<ParsedEvent> events;
  ImportReport report;
};

Outcome Read(absl::string_view format, const std::vector<std::string>& lines) {
  Outcome outcome;
  const auto parser =
      NewParser(format, {"test", "unnamed"}, [&](ParsedEvent event) { outcome.events.push_back(std::move(event)); });
  for (const std::string& line : lines) parser->Feed(line);
  parser->Finish();
  outcome.report = parser->report();
  return outcome;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Lines(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

fs::path Corpus() {
  const char* named = std::getenv("DOCKET_CORPUS");
  return named != nullptr ? fs::path(named) : fs::path(DOCKET_SOURCE_DIR) / ".." / "shared" / "corpus";
}

bool HasCorpus() {
  return fs::exists(Corpus() / "expected");
}

// The recordings of the formats that there are, with their expected plans.
struct Recording {
  std::string format;
  std::string name;
  std::vector<std::string> lines;
  Json expected;
};

std::vector<Recording> Recordings() {
  std::vector<Recording> recordings;
  for (const FormatInfo& format : Formats()) {
    std::vector<fs::path> expected;
    for (const auto& entry : fs::directory_iterator(Corpus() / "expected" / format.name)) {
      if (entry.path().extension() == ".json") expected.push_back(entry.path());
    }
    std::sort(expected.begin(), expected.end());
    for (const fs::path& path : expected) {
      fs::path source = Corpus() / format.name / path.stem();
      source += fs::exists(source.string() + ".jsonl") ? ".jsonl" : ".txt";
      recordings.push_back({format.name, path.stem().string(), Lines(ReadFile(source)), ParseJson(ReadFile(path))});
    }
  }
  return recordings;
}

#define NEED_CORPUS()                                                      \
  if (!HasCorpus()) {                                                      \
    if (std::getenv("CI") != nullptr) FAIL() << "no corpus: " << Corpus(); \
    GTEST_SKIP() << "no corpus: " << Corpus();                             \
  }

using List = std::vector<std::pair<std::string, std::string>>;

struct AgentPlans {
  std::vector<std::pair<List, std::vector<std::string>>> writes;  // equal neighbours are one
  int rejected = 0;

  void Add(List list, std::string call_id) {
    if (writes.empty() || writes.back().first != list) writes.push_back({std::move(list), {}});
    writes.back().second.push_back(std::move(call_id));
  }
};

struct SessionPlans {
  int turns = 0;
  std::vector<std::string> order;  // agents by their first plan call
  std::map<std::string, AgentPlans> agents;

  AgentPlans& Of(const std::string& agent) {
    if (agents.find(agent) == agents.end()) order.push_back(agent);
    return agents[agent];
  }
  // Without the agents that wrote nothing.
  std::vector<AgentPlans> Writers() const {
    std::vector<AgentPlans> writers;
    for (const std::string& agent : order) {
      if (!agents.at(agent).writes.empty()) writers.push_back(agents.at(agent));
    }
    return writers;
  }
};

std::string Word(todo::v1::TodoStatus status) {
  switch (status) {
    case todo::v1::TODO_STATUS_PENDING:
      return "pending";
    case todo::v1::TODO_STATUS_IN_PROGRESS:
      return "in_progress";
    case todo::v1::TODO_STATUS_COMPLETED:
      return "completed";
    case todo::v1::TODO_STATUS_CANCELLED:
      return "cancelled";
    default:
      return "?";
  }
}

std::map<std::string, SessionPlans> Plans(const std::vector<ParsedEvent>& events) {
  std::map<std::string, SessionPlans> sessions;
  for (const ParsedEvent& parsed : events) {
    SessionPlans& session = sessions[parsed.session_id];
    const log::v1::SessionEvent& event = parsed.event;
    if (event.has_turn_started() && event.turn_started().origin() == v1::TURN_ORIGIN_USER) ++session.turns;
    if (event.has_todo_rejected()) ++session.Of(event.agent_id()).rejected;
    if (!event.has_todo_written()) continue;
    List list;
    for (const todo::v1::TodoItem& item : event.todo_written().items()) {
      list.emplace_back(item.content(), Word(item.status()));
    }
    session.Of(event.agent_id()).Add(std::move(list), event.todo_written().call_id());
  }
  return sessions;
}

List ListOf(const Json& items) {
  List list;
  for (const Json& item : items) list.emplace_back(item.at("content"), item.at("status"));
  return list;
}

// What breaks a durable invariant of the log, if anything.
std::vector<std::string> Broken(const std::vector<ParsedEvent>& events) {
  struct State {
    std::set<std::string> ids, agents = {kMainAgent};
    std::set<std::pair<std::string, std::string>> turns, writers;
    std::map<std::string, std::string> open;
    bool opened = false;
  };
  std::map<std::string, State> sessions;
  std::vector<std::string> broken;
  for (const ParsedEvent& parsed : events) {
    State& state = sessions[parsed.session_id];
    const log::v1::SessionEvent& event = parsed.event;
    const std::string& agent = event.agent_id();
    const auto check = [&](bool ok, absl::string_view what) {
      if (!ok) broken.push_back(absl::StrCat(what, ": ", event.ShortDebugString().substr(0, 300)));
    };
    check(state.opened != event.has_session_opened(), "opened first and once");
    state.opened = true;
    check(EventId::Parse(event.event_id()).has_value() && state.ids.insert(event.event_id()).second, "event id");
    check(event.ByteSizeLong() <= (2U << 20), "size");
    check(CheckId(v1::ERROR_REASON_INVALID_EVENT, "session", parsed.session_id).ok(), "session id");
    if (event.has_session_updated()) {
      const std::string& title = event.session_updated().title();
      check(!title.empty() && title.size() <= kMaxTitleBytes && IsValidUtf8(title), "title");
    }
    if (event.has_session_opened() || event.has_session_updated()) continue;
    if (event.has_agent_spawned()) {
      check(state.agents.count(event.agent_spawned().parent_agent_id()) > 0, "parent is known");
      check(state.agents.insert(agent).second, "spawned once");
    }
    check(state.agents.count(agent) > 0, "spawned before it acts");
    std::string& open = state.open[agent];
    if (event.has_turn_started()) {
      check(open.empty(), "one open turn");
      open = event.turn_started().turn_id();
      check(state.turns.emplace(agent, open).second, "turn ids are unique");
    }
    if (event.has_turn_ended()) {
      check(!open.empty() && open == event.turn_ended().turn_id(), "ends the open turn");
      open.clear();
    }
    if (event.has_tool_call()) {
      check(CheckId(v1::ERROR_REASON_INVALID_EVENT, "id", event.tool_call().call_id()).ok(), "call id");
      check(CheckId(v1::ERROR_REASON_INVALID_EVENT, "id", event.tool_call().tool()).ok(), "tool");
    }
    if (event.has_todo_written()) {
      const todo::v1::TodoWritten& written = event.todo_written();
      check(!open.empty(), "lies in a turn");
      check(CheckList(v1::ERROR_REASON_INVALID_TODO, written.items()).ok(), "list rules");
      check(written.call_id().empty() || state.writers.emplace(agent, written.call_id()).second, "one call, one write");
      for (const todo::v1::TodoItem& item : written.items()) check(!item.item_id().empty(), "item id");
    }
  }
  return broken;
}

TEST(CorpusTest, PlansAndTurnsAreTheExpected) {
  NEED_CORPUS();
  int64_t writes = 0;
  for (const Recording& recording : Recordings()) {
    SCOPED_TRACE(absl::StrCat(recording.format, "/", recording.name));
    const Outcome outcome = Read(recording.format, recording.lines);
    writes += outcome.report.writes;
    EXPECT_THAT(Broken(outcome.events), IsEmpty());
    std::map<std::string, SessionPlans> plans = Plans(outcome.events);
    for (const Json& session : recording.expected.at("sessions")) {
      const std::string id = session.at("session_id");
      SCOPED_TRACE(id);
      const SessionPlans actual = plans[id];
      plans.erase(id);
      EXPECT_EQ(actual.turns, session.at("turns").get<int>());
      std::vector<const Json*> expected;
      for (const Json& agent : session.at("agents")) {
        if (!agent.at("writes").empty()) expected.push_back(&agent);
      }
      const std::vector<AgentPlans> writers = actual.Writers();
      ASSERT_EQ(writers.size(), expected.size());
      for (size_t i = 0; i < writers.size(); ++i) {
        SCOPED_TRACE(expected[i]->at("agent_id"));
        AgentPlans want;
        for (const Json& write : expected[i]->at("writes")) {
          want.Add(ListOf(write.at("items")), write.value("call_id", ""));
        }
        EXPECT_EQ(writers[i].writes, want.writes);
        EXPECT_EQ(writers[i].writes.back().first, ListOf(expected[i]->at("final")));
        EXPECT_EQ(writers[i].rejected, static_cast<int>(expected[i]->at("rejected").size()));
      }
    }
    for (const auto& [id, rest] : plans) {
      EXPECT_TRUE(rest.turns == 0 && rest.Writers().empty()) << "not expected: " << id;
    }
  }
  EXPECT_GT(writes, 150);
}

TEST(CorpusTest, AGrownRecordingGivesTheSameEventsAndMore) {
  NEED_CORPUS();
  for (const Recording& recording : Recordings()) {
    const Outcome whole = Read(recording.format, recording.lines);
    for (const size_t part : {1U, 2U, 3U, 5U, 7U}) {
      const size_t count = recording.lines.size() * part / 8;
      SCOPED_TRACE(absl::StrCat(recording.format, "/", recording.name, " up to line ", count));
      const Outcome begin = Read(
          recording.format, {recording.lines.begin(), recording.lines.begin() + static_cast<std::ptrdiff_t>(count)});
      ASSERT_LE(begin.events.size(), whole.events.size());
      for (size_t i = 0; i < begin.events.size(); ++i) {
        ASSERT_EQ(begin.events[i].session_id, whole.events[i].session_id);
        ASSERT_EQ(begin.events[i].event.ShortDebugString(), whole.events[i].event.ShortDebugString());
      }
    }
  }
}

TEST(CorpusTest, DamagedRecordingsKeepTheInvariants) {
  NEED_CORPUS();
  const uint32_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (const Recording& recording : Recordings()) {
    if (recording.lines.size() > 300) continue;
    SCOPED_TRACE(absl::StrCat(recording.format, "/", recording.name, " seed ", seed));
    for (int round = 0; round < 3; ++round) {
      std::vector<std::string> lines = recording.lines;
      for (int change = 0; change < 20; ++change) {
        std::string& line = lines[below(lines.size())];
        switch (below(6)) {
          case 0:
            line.resize(below(line.size() + 1));
            break;
          case 1:
            if (!line.empty()) line[below(line.size())] = static_cast<char>(below(256));
            break;
          case 2:
            std::swap(line, lines[below(lines.size())]);
            break;
          case 3:
            line += lines[below(lines.size())];
            break;
          case 4:
            line.insert(below(line.size() + 1), absl::StrCat(below(2) == 0 ? "\"" : "[{", "\\u0000"));
            break;
          default:
            lines.push_back(std::string(line));
            break;
        }
      }
      const Outcome outcome = Read(recording.format, lines);
      EXPECT_THAT(Broken(outcome.events), IsEmpty());
      EXPECT_EQ(outcome.report.lines, static_cast<int64_t>(lines.size()));
      EXPECT_EQ(outcome.report.events, static_cast<int64_t>(outcome.events.size()));
    }
  }
}

// One entry of a Claude Code session file.
std::string Entry(absl::string_view type, absl::string_view uuid, const Json& content) {
  return Json{{"type", std::string(type)},
              {"sessionId", "s"},
              {"uuid", std::string(uuid)},
              {"timestamp", "2026-01-02T03:04:05.678Z"},
              {"message", {{"content", content}}}}
      .dump();
}

std::string Write(absl::string_view uuid, absl::string_view call, const Json& todos) {
  return Entry(
      "assistant", uuid,
      Json::array(
          {{{"type", "tool_use"}, {"id", std::string(call)}, {"name", "TodoWrite"}, {"input", {{"todos", todos}}}}}));
}

std::string Answer(absl::string_view uuid, absl::string_view call, bool is_error) {
  return Entry(
      "user", uuid,
      Json::array(
          {{{"type", "tool_result"}, {"tool_use_id", std::string(call)}, {"content", "x"}, {"is_error", is_error}}}));
}

Json Item(const std::string& content, const std::string& status) {
  return {{"content", content}, {"status", status}};
}

std::vector<todo::v1::TodoWritten> Written(const Outcome& outcome) {
  std::vector<todo::v1::TodoWritten> written;
  for (const ParsedEvent& event : outcome.events) {
    if (event.event.has_todo_written()) written.push_back(event.event.todo_written());
  }
  return written;
}

TEST(HarnessTest, RepairsWhatLosesNothingAndSaysSo) {
  const Outcome outcome =
      Read("claude-code", {Write("a", "c", Json::array({Item(" one\x01", "todo"), Item("one", "done")}))});
  ASSERT_EQ(Written(outcome).size(), 1U);
  const todo::v1::TodoWritten written = Written(outcome)[0];
  EXPECT_EQ(written.items(0).content(), "one");
  EXPECT_EQ(written.items(1).content(), "one (2)");
  EXPECT_EQ(written.items(1).status(), todo::v1::TODO_STATUS_COMPLETED);
  EXPECT_EQ(written.normalizations_size(), 5);
  EXPECT_EQ(outcome.report.repaired_count, 1);
  EXPECT_THAT(Broken(outcome.events), IsEmpty());
}

TEST(HarnessTest, RefusesWhatCannotBeRepaired) {
  Json many = Json::array();
  for (int i = 0; i < 257; ++i) many.push_back(Item(absl::StrCat(i), "pending"));
  const Outcome outcome =
      Read("claude-code",
           {Write("1", "1", Json::array({Item(" ", "pending")})), Answer("2", "1", false), Write("3", "2", many),
            Answer("4", "2", false), Write("5", "3", Json::array({Item(std::string(4097, 'x'), "pending")})),
            Answer("6", "3", false), Write("7", "4", Json::array({Item("x", "failed")})), Answer("8", "4", false),
            Write("9", "5", Json::array({Item("x", "pending")})), Answer("10", "5", true)});
  EXPECT_EQ(outcome.report.rejected, 5);
  EXPECT_EQ(outcome.report.writes, 0);
  EXPECT_THAT(Broken(outcome.events), IsEmpty());
}

TEST(HarnessTest, ItemsKeepTheirIdsByContent) {
  const Outcome outcome =
      Read("claude-code",
           {Write("1", "1", Json::array({Item("a", "pending"), Item("b", "pending")})), Answer("2", "1", false),
            Write("3", "2", Json::array({Item("b", "completed"), Item("c", "pending")})), Answer("4", "2", false)});
  const std::vector<todo::v1::TodoWritten> written = Written(outcome);
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[1].items(0).item_id(), written[0].items(1).item_id());
  EXPECT_THAT(written[1].dropped_unfinished(), ElementsAre(written[0].items(0).item_id()));
}

TEST(HarnessTest, ABrokenLineCostsThatLine) {
  const Outcome outcome =
      Read("claude-code", {Entry("user", "1", "Go"), "{\"type\":\"user\",", std::string(100000, '['),
                           absl::StrCat(Write("2", "1", Json::array()), Answer("3", "1", false))});
  EXPECT_EQ(outcome.report.writes, 1);
  ASSERT_EQ(outcome.report.skipped_count, 2);
  EXPECT_EQ(outcome.report.skipped[0].line, 2);
  EXPECT_EQ(outcome.report.skipped[1].line, 3);
  EXPECT_EQ(outcome.report.repaired[0].line, 4);
}

TEST(HarnessTest, AnInterruptedTurnEndsSoWhenTheNextStarts) {
  const Outcome outcome =
      Read("claude-code", {Entry("user", "1", "Go"), Entry("user", "2", "[Request interrupted by user]"),
                           Entry("user", "3", "Again"), Entry("user", "3", "Other text, same uuid")});
  std::vector<v1::TurnEndReason> ends;
  for (const ParsedEvent& event : outcome.events) {
    if (event.event.has_turn_ended()) ends.push_back(event.event.turn_ended().reason());
  }
  EXPECT_THAT(ends, ElementsAre(v1::TURN_END_REASON_INTERRUPTED, v1::TURN_END_REASON_COMPLETED));
  EXPECT_THAT(Broken(outcome.events), IsEmpty());
}

TEST(HarnessTest, TheDemoRecordingsHavePlans) {
  for (const absl::string_view name : {"transcript-todowrite.jsonl", "transcript-tasks.jsonl"}) {
    SCOPED_TRACE(name);
    const Outcome outcome = Read(
        "claude-code", Lines(ReadFile(fs::path(DOCKET_SOURCE_DIR) / "deploy" / "local" / "demo" / std::string(name))));
    ASSERT_GT(outcome.report.writes, 1);
    EXPECT_EQ(Written(outcome).back().items_size(), 2);
    EXPECT_THAT(Broken(outcome.events), IsEmpty());
  }
}

TEST(HarnessTest, UnknownFormatsHaveNoParser) {
  EXPECT_EQ(NewParser("unknown", {}, [](ParsedEvent) {}), nullptr);
}

}  // namespace
}  // namespace docket::harness
