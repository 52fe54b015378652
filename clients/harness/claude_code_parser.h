#ifndef DOCKET_CLIENTS_HARNESS_CLAUDE_CODE_PARSER_H_
#define DOCKET_CLIENTS_HARNESS_CLAUDE_CODE_PARSER_H_

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "clients/harness/session_recorder.h"
#include "clients/harness/transcript_parser.h"

namespace docket::harness {

// Session files of Claude Code, with TodoWrite, TaskCreate and TaskUpdate, and sub-agents in the same file or one of
// their own. A person's prompt starts a turn; nothing in the file ends one but the next. Not thread-safe.
class ClaudeCodeParser : public TranscriptParser {
 public:
  ClaudeCodeParser(ParserOptions options, std::function<void(ParsedEvent)> sink);

  void Feed(absl::string_view line) override;
  void Finish() override { recorder_.Finish(); }
  const ImportReport& report() const override { return recorder_.report(); }

 private:
  // A call that may have spawned the agent whose first message is its prompt.
  struct Spawner {
    std::string agent;
    std::string call_id;
    std::string description;
  };

  void Entry(const Json& entry, absl::string_view text);
  std::string AgentOf(const Json& entry, absl::string_view session);
  void User(const std::string& agent, const Json& entry);
  void Assistant(const std::string& agent, const Json& entry);

  SessionRecorder recorder_;
  // By session and uuid: the sub-agent whose entry that is.
  absl::flat_hash_map<std::string, std::string> agent_of_entry_;
  // By hash of session and prompt.
  absl::flat_hash_map<std::string, Spawner> spawners_;
  // By session and call: the sub-agent that it spawned.
  absl::flat_hash_map<std::string, std::string> spawned_by_call_;
  std::string session_;
};

}  // namespace docket::harness

#endif  // DOCKET_CLIENTS_HARNESS_CLAUDE_CODE_PARSER_H_
