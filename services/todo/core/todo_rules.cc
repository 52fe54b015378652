#include "services/todo/core/todo_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/common/list_rules.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/todo/core/plan_diff.h"
#include "services/todo/core/plan_view.h"
#include "services/todo/core/todo_text.h"

namespace docket::todo {
namespace {

using docket::v1::ERROR_REASON_INVALID_TODO;
using docket::v1::ERROR_REASON_TODO_RULE;

constexpr size_t kMaxOriginalBytes = 256;
// Of so many trimmed texts the original is kept; more would make the event too large.
constexpr int kMaxOriginals = 100;
// As many of the standing ids are named to a writer who used an unknown one.
constexpr int kNamedIds = 8;

size_t At(int i) {
  return static_cast<size_t>(i);
}

// One judgement of one request. Used once, on one thread; what it refers to must outlive it.
class Judge {
 public:
  Judge(const v1::WriteTodosRequest& request, const TodoItems& base, const Policy& policy)
      : request_(request),
        base_(base),
        policy_(policy),
        merge_(request.mode() == v1::WRITE_MODE_MERGE),
        inputs_(request.items().begin(), request.items().end()),
        standing_(inputs_.size(), -1),
        taken_(At(base.size()), false) {}

  absl::StatusOr<JudgedWrite> Run() {
    if (request_.items_size() > kMaxListItems) return TooMany(ERROR_REASON_INVALID_TODO, kMaxListItems);
    for (int i = 0; i < request_.items_size(); ++i) DOCKET_RETURN_IF_ERROR(CheckInput(i));
    DOCKET_RETURN_IF_ERROR(FindById());
    FindByContent();
    for (int i = 0; i < request_.items_size(); ++i) DOCKET_RETURN_IF_ERROR(CheckRequired(i));
    if (merge_) TakeBase();
    for (int i = 0; i < request_.items_size(); ++i) Take(i);
    DOCKET_RETURN_IF_ERROR(CheckResult());
    DOCKET_RETURN_IF_ERROR(CheckPolicy());
    return Written();
  }

 private:
  std::string Path(int i, absl::string_view field) const { return absl::StrCat("items[", i, "].", field); }

  // The `i`th item of the request, as a sentence names it.
  std::string Named(int i) const {
    const std::string& content = inputs_[At(i)].content();
    return content.empty() ? absl::StrCat("item ", i + 1) : absl::StrCat("item ", i + 1, " (", Excerpt(content), ")");
  }

  // The same for an item of the result.
  std::string NamedResult(int place) const {
    if (origin_[At(place)] >= 0) return Named(origin_[At(place)]);
    return absl::StrCat("the standing item ", Excerpt(result_[place].content()));
  }

  absl::Status Broken(docket::v1::ErrorReason reason, int i, absl::string_view field, absl::string_view rule,
                      absl::string_view allowed, absl::string_view text) const {
    return FieldError(reason, Path(i, field), text,
                      {{"rule", std::string(rule)}, {"allowed", std::string(allowed)}, {"index", absl::StrCat(i)}});
  }

  absl::Status BrokenList(docket::v1::ErrorReason reason, absl::string_view rule, absl::string_view allowed,
                          absl::string_view text) const {
    return FieldError(reason, "items", text, {{"rule", std::string(rule)}, {"allowed", std::string(allowed)}});
  }

  absl::Status TooMany(docket::v1::ErrorReason reason, int limit) const {
    const int count = std::max(request_.items_size(), result_.size());
    return BrokenList(reason, "max_items", absl::StrCat("at most ", limit, " items"),
                      absl::StrCat("the list would have ", count, " items, but at most ", limit,
                                   " are allowed; combine or leave out items"));
  }

  // The words for the statuses that the policy allows.
  std::string StatusWords() const {
    return policy_.allow_cancelled() ? kStatusWords : "pending, in_progress, completed";
  }

  absl::Status CheckText(int i, absl::string_view field, absl::string_view text) const {
    if (!IsValidUtf8(text)) {
      return Broken(ERROR_REASON_INVALID_TODO, i, field, "valid_utf8", "valid UTF-8",
                    absl::StrCat("the text of item ", i + 1, " is not valid UTF-8; send it as UTF-8"));
    }
    if (text.size() > kMaxItemTextBytes) {
      return Broken(ERROR_REASON_INVALID_TODO, i, field, "content_too_long",
                    absl::StrCat("at most ", kMaxItemTextBytes, " bytes"),
                    absl::StrCat("the text of item ", i + 1, " has ", text.size(), " bytes, but at most ",
                                 kMaxItemTextBytes, " are allowed; shorten it"));
    }
    if (FindControlCharacter(text) == absl::string_view::npos) return absl::OkStatus();
    return Broken(ERROR_REASON_INVALID_TODO, i, field, "control_characters",
                  "no control characters but newline and tab",
                  absl::StrCat("the text of item ", i + 1, " (", Excerpt(text),
                               ") has a control character; only newline and tab are allowed"));
  }

  // Replaces `text` by itself without white space at its ends, and notes that.
  void Trim(int i, absl::string_view field, std::string& text) {
    const absl::string_view trimmed = TrimText(text);
    if (trimmed.size() == text.size()) return;
    v1::Normalization& made = *normalizations_.Add();
    made.set_kind(v1::NORMALIZATION_KIND_TRIMMED);
    made.set_path(Path(i, field));
    if (normalizations_.size() <= kMaxOriginals) made.set_original(std::string(CutUtf8(text, kMaxOriginalBytes)));
    text = std::string(trimmed);
  }

  absl::Status CheckInput(int i) {
    v1::TodoItemInput& input = inputs_[At(i)];
    for (auto [field, id] : {std::pair("id", &input.id()), std::pair("priority", &input.priority())}) {
      if (id->empty()) continue;
      if (absl::Status status = CheckId(ERROR_REASON_INVALID_TODO, Path(i, field), *id); !status.ok()) {
        return WithMetadata(std::move(status), "index", absl::StrCat(i));
      }
    }
    if (input.has_content()) {
      // Judged before it is trimmed, which takes valid UTF-8, and so that nothing is made short enough silently.
      if (IsValidUtf8(input.content())) Trim(i, "content", *input.mutable_content());
      DOCKET_RETURN_IF_ERROR(CheckText(i, "content", input.content()));
      if (input.content().empty()) return ContentMissing(i);
    }
    if (input.has_active_form()) {
      if (IsValidUtf8(input.active_form())) Trim(i, "active_form", *input.mutable_active_form());
      DOCKET_RETURN_IF_ERROR(CheckText(i, "active_form", input.active_form()));
    }
    if (input.has_status() &&
        (input.status() == v1::TODO_STATUS_UNSPECIFIED || !v1::TodoStatus_IsValid(input.status()))) {
      return Broken(ERROR_REASON_INVALID_TODO, i, "status", "known_status", StatusWords(),
                    absl::StrCat(Named(i), " has an unknown status; use one of: ", StatusWords()));
    }
    return absl::OkStatus();
  }

  absl::Status ContentMissing(int i) const {
    return Broken(
        ERROR_REASON_INVALID_TODO, i, "content", "content_required", "a non-empty text",
        absl::StrCat("item ", i + 1, " has no content; give it a non-empty text that says what is to be done"));
  }

  // Finds the standing items that ids name.
  absl::Status FindById() {
    absl::flat_hash_map<absl::string_view, int> by_id;
    for (int b = 0; b < base_.size(); ++b) {
      if (!base_[b].item_id().empty()) by_id.emplace(base_[b].item_id(), b);
    }
    for (int b = 0; b < base_.size(); ++b) {
      if (!base_[b].source_id().empty()) by_id.emplace(base_[b].source_id(), b);
    }
    absl::flat_hash_map<absl::string_view, int> seen;
    std::vector<int> taken_by(At(base_.size()), -1);
    for (int i = 0; i < request_.items_size(); ++i) {
      const std::string& id = inputs_[At(i)].id();
      if (id.empty()) continue;
      if (auto [other, is_new] = seen.emplace(id, i); !is_new) return RepeatedId(i, other->second);
      const auto found = by_id.find(id);
      if (found == by_id.end()) continue;
      int& taker = taken_by[At(found->second)];
      if (taker >= 0) return RepeatedId(i, taker);
      taker = i;
      Match(i, found->second);
    }
    return absl::OkStatus();
  }

  absl::Status RepeatedId(int i, int other) const {
    return Broken(ERROR_REASON_INVALID_TODO, i, "id", "unique_id", "ids that differ within the list",
                  absl::StrCat("items ", other + 1, " and ", i + 1, " name the same item by id ",
                               Excerpt(inputs_[At(i)].id()), "; send each item once"));
  }

  // Finds the standing items of exactly the same content. In a merge an id says enough.
  void FindByContent() {
    absl::flat_hash_map<absl::string_view, int> by_content;
    for (int b = 0; b < base_.size(); ++b) {
      if (!taken_[At(b)]) by_content.emplace(base_[b].content(), b);
    }
    for (int i = 0; i < request_.items_size(); ++i) {
      const v1::TodoItemInput& input = inputs_[At(i)];
      if (standing_[At(i)] >= 0 || !input.has_content() || (merge_ && !input.id().empty())) continue;
      const auto found = by_content.find(input.content());
      if (found == by_content.end() || taken_[At(found->second)]) continue;
      Match(i, found->second);
    }
  }

  void Match(int i, int b) {
    standing_[At(i)] = b;
    taken_[At(b)] = true;
  }

  absl::Status CheckRequired(int i) const {
    const v1::TodoItemInput& input = inputs_[At(i)];
    if (!merge_) {
      if (!input.has_content()) return ContentMissing(i);
      if (input.has_status()) return absl::OkStatus();
      return Broken(ERROR_REASON_INVALID_TODO, i, "status", "status_required", StatusWords(),
                    absl::StrCat(Named(i), " has no status; give it one of: ", StatusWords()));
    }
    if (standing_[At(i)] >= 0 || input.has_content()) return absl::OkStatus();
    if (input.id().empty()) {
      return Broken(ERROR_REASON_INVALID_TODO, i, "id", "id_or_content", "the id of a standing item, or a content",
                    absl::StrCat("item ", i + 1,
                                 " has neither id nor content; name the item to change by its id, or "
                                 "give a new one content"));
    }
    return Broken(ERROR_REASON_INVALID_TODO, i, "content", "content_required", "a non-empty text",
                  absl::StrCat("item ", i + 1, " has the unknown id ", Excerpt(input.id()),
                               " and no content; give content to add an item, or use one of these ids: ", KnownIds()));
  }

  std::string KnownIds() const {
    std::string ids;
    for (int b = 0; b < std::min(base_.size(), kNamedIds); ++b) {
      const std::string& id = base_[b].source_id().empty() ? base_[b].item_id() : base_[b].source_id();
      absl::StrAppend(&ids, b == 0 ? "" : ", ", Excerpt(id));
    }
    if (base_.empty()) return "none, the list is empty";
    return base_.size() > kNamedIds ? absl::StrCat(ids, " and ", base_.size() - kNamedIds, " more") : ids;
  }

  std::string NewId(absl::string_view kind, int i) const {
    return EventId::FromHash(Sha256OfParts({"docket item", request_.session_id(), request_.agent_id(),
                                            request_.call_id(), kind, absl::StrCat(i)}))
        .ToString();
  }

  void TakeBase() {
    result_ = base_;
    origin_.assign(At(base_.size()), -1);
    // Observations may lack ids; what is written here has them.
    for (int b = 0; b < result_.size(); ++b) {
      if (result_[b].item_id().empty()) result_[b].set_item_id(NewId("standing", b));
    }
  }

  // Puts the `i`th item of the request into the result.
  void Take(int i) {
    const v1::TodoItemInput& input = inputs_[At(i)];
    const int b = standing_[At(i)];
    v1::TodoItem& item = merge_ && b >= 0 ? result_[b] : *result_.Add();
    if (merge_ && b >= 0) {
      origin_[At(b)] = i;
    } else {
      origin_.push_back(i);
      item.set_status(v1::TODO_STATUS_PENDING);
      if (b >= 0) {
        item.set_item_id(base_[b].item_id());
        item.set_source_id(base_[b].source_id());
      }
      if (item.item_id().empty()) item.set_item_id(NewId("new", i));
    }
    // A writer that uses the server's id does not thereby rename the item.
    if (!input.id().empty() && input.id() != item.item_id()) item.set_source_id(input.id());
    if (input.has_content()) item.set_content(input.content());
    if (input.has_status()) item.set_status(input.status());
    if (input.has_active_form()) item.set_active_form(input.active_form());
    if (input.has_priority()) item.set_priority(input.priority());
  }

  absl::Status CheckResult() const {
    if (result_.size() > kMaxListItems) return TooMany(ERROR_REASON_INVALID_TODO, kMaxListItems);
    absl::flat_hash_map<absl::string_view, int> contents;
    for (int place = 0; place < result_.size(); ++place) {
      const auto [other, is_new] = contents.emplace(result_[place].content(), place);
      if (!is_new) return RepeatedContent(other->second, place);
    }
    return CheckList(ERROR_REASON_INVALID_TODO, result_);
  }

  absl::Status RepeatedContent(int first, int second) const {
    // The request's item is at fault where the other one stood before.
    const int i = std::max(origin_[At(first)], origin_[At(second)]);
    const int other = origin_[At(first)] == i ? second : first;
    return Broken(ERROR_REASON_INVALID_TODO, std::max(i, 0), "content", "unique_content",
                  "contents that differ within the list",
                  absl::StrCat("item ", i + 1, " has the same content as ", NamedResult(other),
                               "; give each item a content of its own or leave one out"));
  }

  absl::Status CheckPolicy() const {
    if (result_.size() > policy_.max_items()) return TooMany(ERROR_REASON_TODO_RULE, policy_.max_items());
    for (int i = 0; i < request_.items_size(); ++i) DOCKET_RETURN_IF_ERROR(CheckItemPolicy(i));
    if (!policy_.allow_parallel()) return CheckParallel();
    return absl::OkStatus();
  }

  absl::Status CheckItemPolicy(int i) const {
    const v1::TodoItemInput& input = inputs_[At(i)];
    if (input.content().size() > At(policy_.max_content_bytes())) {
      return Broken(ERROR_REASON_TODO_RULE, i, "content", "max_content_bytes",
                    absl::StrCat("at most ", policy_.max_content_bytes(), " bytes"),
                    absl::StrCat("the content of ", Named(i), " has ", input.content().size(), " bytes, but at most ",
                                 policy_.max_content_bytes(), " are allowed; shorten it"));
    }
    if (input.status() != v1::TODO_STATUS_CANCELLED || policy_.allow_cancelled()) return absl::OkStatus();
    return Broken(
        ERROR_REASON_TODO_RULE, i, "status", "allow_cancelled", StatusWords(),
        absl::StrCat(Named(i), " is cancelled, but items may not be; leave it out, or use one of: ", StatusWords()));
  }

  absl::Status CheckParallel() const {
    int count = 0;
    int first = -1;
    int last = -1;
    // The item to blame is the last one that the request itself has in progress.
    int blamed = -1;
    for (int place = 0; place < result_.size(); ++place) {
      if (result_[place].status() != v1::TODO_STATUS_IN_PROGRESS) continue;
      if (count++ == 0) first = place;
      last = place;
      if (origin_[At(place)] > blamed) blamed = origin_[At(place)];
    }
    if (count <= 1) return absl::OkStatus();
    const std::string text =
        absl::StrCat("only one item may be in_progress at a time, but ", NamedResult(first), " and ", NamedResult(last),
                     count > 2 ? absl::StrCat(" and ", count - 2, " more") : "",
                     " are; keep one and set the others to pending or completed");
    constexpr char kRule[] = "parallel_in_progress";
    constexpr char kAllowed[] = "at most one item in progress";
    if (blamed < 0) return BrokenList(ERROR_REASON_TODO_RULE, kRule, kAllowed, text);
    return Broken(ERROR_REASON_TODO_RULE, blamed, "status", kRule, kAllowed, text);
  }

  JudgedWrite Written() {
    JudgedWrite judged;
    judged.changes = DiffItems(base_, result_);
    v1::TodoWritten& todo = judged.todo;
    for (int b = 0; !merge_ && b < base_.size(); ++b) {
      if (taken_[At(b)] || IsFinished(base_[b].status())) continue;
      judged.dropped_unfinished.push_back(base_[b]);
      if (!base_[b].item_id().empty()) todo.add_dropped_unfinished(base_[b].item_id());
    }
    todo.mutable_items()->Swap(&result_);
    todo.set_call_id(request_.call_id());
    *todo.mutable_actor() = request_.actor();
    todo.mutable_actor()->set_kind(ActorKindOf(request_));
    todo.set_cause(v1::WRITE_CAUSE_WRITE);
    todo.set_mode(merge_ ? v1::WRITE_MODE_MERGE : v1::WRITE_MODE_REPLACE);
    todo.set_policy_name(policy_.name());
    todo.set_policy_digest(policy_.digest());
    *todo.mutable_normalizations() = request_.normalizations();
    todo.mutable_normalizations()->MergeFrom(normalizations_);
    return judged;
  }

  const v1::WriteTodosRequest& request_;
  const TodoItems& base_;
  const Policy& policy_;
  const bool merge_;
  std::vector<v1::TodoItemInput> inputs_;  // The request's items, trimmed.
  std::vector<int> standing_;              // By item of the request: its place in base_; -1: it is new.
  std::vector<bool> taken_;                // By place in base_: whether an item of the request is it.
  TodoItems result_;
  std::vector<int> origin_;  // By place in result_: the item of the request; -1: it stands as before.
  google::protobuf::RepeatedPtrField<v1::Normalization> normalizations_;
};

}  // namespace

absl::StatusOr<JudgedWrite> JudgeWrite(const v1::WriteTodosRequest& request, const SessionFold* fold,
                                       const Policy& policy) {
  DOCKET_RETURN_IF_ERROR(CheckRequest(request));
  if (!policy.enabled()) {
    return MakeError(docket::v1::ERROR_REASON_TODO_DISABLED,
                     "todo lists are switched off here; go on without one, and do not call this tool again",
                     {{"policy", policy.name()}});
  }
  static const auto* const kNothing = new TodoItems();
  const PlanFold* agent = fold == nullptr ? nullptr : fold->FindAgent(request.agent_id());
  Judge judge(request, agent == nullptr ? *kNothing : StandingItems(*agent, policy), policy);
  absl::StatusOr<JudgedWrite> judged = judge.Run();
  if (judged.ok() && agent != nullptr) judged->judged_seq = agent->JudgedSeq();
  return judged;
}

}  // namespace docket::todo
