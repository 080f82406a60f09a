#include "server/questions/history_questions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "messages/text/edit_text.h"
#include "messages/value_text.h"
#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

static_assert(static_cast<int>(session::UndoAct::redo) == static_cast<int>(HistoryAct::redo));
static_assert(static_cast<int>(session::OnConflict::overwrite) == static_cast<int>(Conflicts::overwrite));
static_assert(static_cast<int>(session::SkipReason::would_be_circle) == static_cast<int>(Skip::would_be_circle));

/// Estimate of the size of a History.
constexpr std::size_t history_bytes = 256, step_bytes = 64;

/// Resolves the interned texts in values. Entities are shown as ids.
class KnownTexts final : public ValueReferences {
 public:
  explicit KnownTexts(const EntityRegistry& registry) : registry_(registry) {}
  ValueResult<Entity> find_entity(std::string_view) override { return std::unexpected(ValueError{}); }
  ValueResult<Text> intern(std::string_view) override { return std::unexpected(ValueError{}); }
  std::string text(Text text) override {
    const std::string_view known = registry_.text(text);
    return known.empty() && text ? "#" + std::to_string(text.hash) : std::string(known);
  }

 private:
  const EntityRegistry& registry_;
};

/// Shows the history what a user with limited sight sees.
class SeenHistory final : public HistorySight {
 public:
  explicit SeenHistory(SeenNow& seen) : seen_(seen) {}
  bool sees(Entity e) const override { return seen_.sees(e); }
  bool sees(TypeId component) const override { return seen_.sees(component); }
  bool may_place(Entity parent, std::string_view name) const override {
    return seen_.may_place(parent, Text{name.empty() ? 0 : hash64(name)});
  }

 private:
  SeenNow& seen_;
};

/// Returns null if `seen` is null.
const HistorySight* sight_of(const std::shared_ptr<SeenNow>& seen, std::optional<SeenHistory>& made) {
  return seen ? &made.emplace(*seen) : nullptr;
}

session::Fault no_history_fault() {
  return fault_of(session::FaultCode::failed, "no_history", "this server keeps no history of edits");
}

/// Returns the value of a property as text, truncated to `bytes_max` bytes. Returns an empty string
/// if there is no value, or if the property does not exist.
std::string value_text(const EntityRegistry& registry, const SkippedPart& part, std::span<const std::byte> value,
                       std::size_t bytes_max) {
  const TypeDescriptor* const component = registry.types().find(part.component);
  if (value.empty() || !component) return {};
  const auto field = find_field(registry.types(), component->name + '.' + part.field);
  if (!field || field->place.size != value.size()) return {};
  KnownTexts texts(registry);
  return std::string(shown_name(place_text(registry.types(), *field, value, texts), bytes_max));
}

/// Lists the skipped parts until the answer is as long as a page may be.
void list_skipped(session::Undone& undone, const Asked& asked, const UndoReport& report) {
  const EntityRegistry& registry = asked.registry;
  const ServerLimits& limits = asked.limits;
  undone.skipped = static_cast<std::uint32_t>(report.skipped.size());
  std::size_t bytes = 0;
  for (const SkippedPart& part : report.skipped) {
    if (undone.skipped_reasons.size() >= limits.rows_max || bytes >= limits.page_bytes_max) break;
    undone.skipped_reasons.push_back(static_cast<std::uint8_t>(part.reason));
    undone.skipped_entities.push_back(part.entity);
    undone.skipped_components.push_back(part.component);
    undone.skipped_fields.push_back(part.field);
    undone.skipped_users.push_back(part.user);
    undone.skipped_mine.push_back(value_text(registry, part, part.mine, limits.path_bytes_max));
    undone.skipped_theirs.push_back(value_text(registry, part, part.theirs, limits.path_bytes_max));
    bytes += 64 + part.field.size() + undone.skipped_mine.back().size() + undone.skipped_theirs.back().size();
  }
}

session::Fault nothing_fault(HistoryAct act, const UndoReport& report) {
  const std::string verb = act == HistoryAct::undo ? "undo" : "redo";
  std::string text = "there is nothing to " + verb;
  if (report.passed_over > 0)
    text += ": " + std::to_string(report.passed_over) + (report.passed_over == 1 ? " step was" : " steps were") +
            " passed over, because nothing of " + (report.passed_over == 1 ? "it" : "them") + " was left to " + verb;
  return fault_of(session::FaultCode::not_found, act == HistoryAct::undo ? "nothing_to_undo" : "nothing_to_redo",
                  std::move(text));
}

}  // namespace

session::History HistoryQuestions::page(const EditHistory& history, std::uint64_t user, std::uint32_t offset,
                                        std::uint32_t rows, std::size_t bytes_max,
                                        const std::shared_ptr<SeenNow>& seen) const {
  std::optional<SeenHistory> sight;
  session::History page;
  page.sequence = registry_.sequence();
  page.undo_steps = history.steps(user, HistoryAct::undo);
  page.redo_steps = history.steps(user, HistoryAct::redo);
  page.offset = offset;
  std::size_t bytes = 0;
  for (const HistoryStep& step : history.list(user, offset, rows, sight_of(seen, sight))) {
    if (bytes >= bytes_max) break;
    bytes += step_bytes + step.label.size() + step.what.size();
    page.is_redo.push_back(step.redo ? 1 : 0);
    page.labels.emplace_back(step.label);
    page.whats.push_back(step.what);
    page.sequences.push_back(step.sequence);
    page.parts.push_back(step.parts);
  }
  return page;
}

void HistoryQuestions::get(const Asked& asked, const session::GetHistory& what) {
  const EditHistory* const history = world_.history();
  if (!history) return asked.fault(no_history_fault());
  const std::uint64_t user = asked.to().user;
  const std::uint32_t rows = rows_allowed(what.limit, asked.limits);
  asked.answer(page(*history, user, what.offset, rows, asked.limits.page_bytes_max, asked.sight));
  if (what.follow != 1) return;
  leave(asked.to());
  followers_.push_back({.session = asked.from,
                        .rows = rows,
                        .bytes_max = asked.limits.page_bytes_max,
                        .version = history->version(user)});
}

void HistoryQuestions::undo(const Asked& asked, const session::Undo& what) {
  EditHistory* const history = world_.history();
  if (!history) return asked.fault(no_history_fault());
  if (const std::string* const error = world_.recording_error()) return asked.fault(not_recorded_fault(*error));
  if (asked.epoch != asked.of().desk.epoch()) return asked.fault(epoch_over_fault());
  const Session& from = asked.to();
  const auto act = static_cast<HistoryAct>(what.act);
  const Sender by{.session = from.number, .user = from.user, .request = asked.request};
  const bool dry = what.dry == 1, only_newest = what.only_newest == 1;
  const bool any = history->steps(from.user, act) > 0;
  std::optional<SeenHistory> sight;
  const UndoReport report =
      history->apply(act, by, static_cast<Conflicts>(what.on_conflict), dry, only_newest, sight_of(asked.sight, sight));
  if (report.done == 0 && !(only_newest && any)) return asked.fault(nothing_fault(act, report));
  session::Undone undone;
  undone.sequence = report.sequence;
  undone.act = what.act;
  undone.label = report.label;
  undone.what = report.what;
  undone.done = report.done;
  undone.passed_over = report.passed_over;
  undone.nil_references = report.nil_references;
  undone.other_parents = report.other_parents;
  undone.other_names = report.other_names;
  list_skipped(undone, asked, report);
  asked.answer(undone);
  if (dry || report.done == 0) return;
  ++from.seat()->edits;
  world_.wake();  // watches have yet to be told
}

void HistoryQuestions::tell() {
  if (followers_.empty()) return;
  const EditHistory& history = *world_.history();
  for (Follower& follower : followers_) {
    const std::uint64_t user = follower.session->user, version = history.version(user);
    if (version == follower.version) continue;
    if (!follower.session->outgoing()->has_answer_room(history_bytes + follower.rows * step_bytes)) continue;
    follower.version = version;
    const WriteRules* const rules = follower.session->rights.rules;
    const std::shared_ptr<SeenNow> seen = rules ? seen_.of(rules->sight()) : nullptr;
    answer(*follower.session, 0, page(history, user, 0, follower.rows, follower.bytes_max, seen));
  }
}

void HistoryQuestions::leave(const Session& session) {
  std::erase_if(followers_, [&](const Follower& follower) { return follower.session.get() == &session; });
}

void answer_once(const Asked& asked, const session::GetHistory& what, Steps& steps) {
  steps.spend(rows_allowed(what.limit, asked.limits));
  asked.of().history.get(asked, what);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Undo& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] { asked.of().history.undo(asked, what); });
}

}  // namespace muster
