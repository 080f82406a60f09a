// - Posts that are pending when a checkpoint is made are saved with the checkpoint, and are also
//   recorded as inputs after it. Therefore, the first posts of a replay replace the saved ones.
// - A group during which handlers were added or removed has no reproducible code identity, so it
//   cannot be replayed exactly.
// - If code or types differ, only the edits of sessions are applied, along with the grants and
//   interned texts that they need. Every other input is replaced by an empty one, so that no number
//   is reused and sessions keep their ids. Omitted ticks did not happen, so their numbers are used
//   again. These rules also apply to inputs that follow a skipped one, because handlers would see a
//   different state, and to a checkpoint whose values had to be corrected.
// - After a recovery that was not exact, the state is saved before anything is recorded.
#include "server/world/journal/recovery.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/saved_types.h"
#include "schema/muster.h"
#include "server/world/journal/applied_requests.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/work_mark.h"

namespace muster {
namespace {

/// Returns a count with a noun, for example "1 input" or "7 inputs".
std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Returns the type of the record's message, or 0 if the record has no message.
TypeId type_of(const JournalRecord& record) noexcept {
  return record.batch.empty() ? 0 : BatchView(record.batch).type();
}

/// Returns true if edits of sessions depend on messages of this type from the server, such as
/// grants. Such a message may contain ids that have since been freed.
bool serves_edits(TypeId type) noexcept {
  return type == TypeTraits<InternText>::id || type == TypeTraits<DefineTemplate>::id ||
         type == TypeTraits<ReturnGrant>::id || type == TypeTraits<ReleaseIds>::id;
}

/// Describes a record, for example "input 1020 (game.Damage to #12:1, of session 3 of user 2)".
std::string named(const JournalRecord& record, const TypeTable& types) {
  std::string text = "input " + std::to_string(record.envelope.sequence) + " (";
  if (!record.kept) return text + "whose message no journal keeps)";
  if (record.batch.empty()) return text + "a flush)";
  const BatchView batch(record.batch);
  const TypeDescriptor* const type = types.find(batch.type());
  text += type ? type->name : std::string("a message");
  if (batch.kind() == BatchKind::each && batch.count() > 0)
    text += " to #" + std::to_string(batch.target(0).index) + ":" + std::to_string(batch.target(0).generation) +
            (batch.count() > 1 ? " and " + std::to_string(batch.count() - 1) + " more" : std::string());
  const auto& [session, user] = std::pair(record.envelope.session, record.envelope.user);
  text += session == 0 ? ", of the server" : ", of session " + std::to_string(session);
  return text + (user == 0 ? ")" : (session == 0 ? " for user " : " of user ") + std::to_string(user) + ")");
}

}  // namespace

std::string RecoveryReport::text() const {
  std::string text;
  const auto say = [&](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence + "."; };
  if (inputs > 0)
    say(counted(inputs, "input") + " with " + counted(ticks, "tick") + " were done again from the journal");
  if (edits_only > 0)
    say("of " + counted(edits_only, "group") + " of the journal the edits alone were applied, because " + why + ": " +
        counted(edits, "edit") + " applied, " + counted(left_out, "input") + " and " + counted(ticks_lost, "tick") +
        " left out");
  if (failed > 0) say(counted(failed, "edit") + " could not be applied");
  if (!died.empty()) say("the process before died while " + died + " was handled");
  for (const std::string& each : skipped) say(each + " was left out");
  if (!not_there.empty()) say(not_there);
  return text;
}

Recovery::Recovery(EntityRegistry& registry, Start start)
    : registry_(registry),
      host_code_(std::move(start.code)),
      stop_before_(start.stop_before),
      skip_(std::move(start.skip)),
      mark_(start.mark),
      applied_(start.applied),
      tick_(start.tick),
      schemas_(std::move(start.schemas)) {
  report_.why = std::move(start.not_exact);
}

std::expected<void, std::string> Recovery::take(const JournalGroup& group) {
  const std::string place = "journal group " + std::to_string(group.id);
  if (has_stopped()) return {};
  if (group.first != registry_.sequence() + 1)
    return std::unexpected(place + ": begins with input " + std::to_string(group.first) + ", where " +
                           std::to_string(registry_.sequence() + 1) + " comes next");
  ++report_.groups;
  if (report_.why.empty()) {
    if (const std::string now = code_identity(host_code_, registry_); group.code != now)
      report_.why = "other code wrote it (" + group.code + ") than runs now (" + now + ")";
    else if (group.types != registry_.types().fingerprint())
      report_.why = "the types are others than when it was written";
  }
  bool exact = report_.why.empty();
  if (!exact) ++report_.edits_only;
  timed_ = !exact;
  if (timed_) registry_.host().begin_turn();  // a cascade without end must not delay the opening
  RecordReader reader(group.records, group.first);
  std::optional<SavedTypes*> older;  // built at most once
  for (;;) {
    if (!exact && !older) older = then(group);
    auto read = reader.next(registry_.types(), exact ? nullptr : *older);
    if (!read) {
      const JournalFault& fault = read.error();
      if (exact || !fault.can_go_on) return std::unexpected(place + ", " + fault.text);
      const std::uint64_t sequence = reader.next_sequence() - 1;
      pass_over(sequence, fault.kind);
      ++report_.left_out;
      note_failure(group, sequence, fault.text);
      continue;
    }
    if (!*read) break;
    const JournalRecord& record = **read;
    switch (record.kind) {
      case JournalRecord::Kind::tick:
        if (!exact) {
          ++report_.ticks_lost;
          break;
        }
        ++report_.ticks;
        tick_ = record.tick;
        break;
      case JournalRecord::Kind::schema:
        if (auto added = learn(record.schema, exact); !added) {
          const std::string what = "the schema does not fit: " + added.error();
          if (exact) return std::unexpected(place + ", byte " + std::to_string(record.offset) + ": " + what);
          note_failure(group, record.envelope.sequence, what);
        }
        break;
      case JournalRecord::Kind::counters:
        if (exact) registry_.host().set_counters(record.counters);
        break;
      case JournalRecord::Kind::cut:
        if (exact) registry_.host().expect_cut(record.cut);
        break;
      case JournalRecord::Kind::input:
        if (record.envelope.sequence == stop_before_) {
          report_.stopped = named(record, registry_.types());
          return {};
        }
        if (const std::uint64_t sequence = record.envelope.sequence;
            std::ranges::find(skip_, sequence) != skip_.end()) {
          report_.skipped.push_back(named(record, registry_.types()));
          if (report_.why.empty()) report_.why = "input " + std::to_string(sequence) + " before them was left out";
          timed_ = true;
          pass_over(sequence, record.envelope.kind);
          if (exact && sequence != group.last) ++report_.edits_only;
          exact = false;
          break;
        }
        if (mark_) mark_->begin(record.envelope.sequence, record.envelope.session, type_of(record));
        if (!exact && !record.kept) {
          pass_over(record.envelope.sequence, record.envelope.kind);
        } else if (!exact) {
          apply_edit(group, record);
        } else {
          posts_first_ = posts_first_ && record.envelope.kind == InputKind::post;
          for (const CascadeCut& cut : record.cuts) registry_.host().expect_cut(cut);
          note_applied(record.envelope, registry_.host().replay(record.envelope, record.batch));
          ++report_.inputs;
        }
        break;
    }
  }
  if (registry_.sequence() != group.last)
    return std::unexpected(place + ": ends with input " + std::to_string(registry_.sequence()) + ", not " +
                           std::to_string(group.last));
  return {};
}

void Recovery::note_applied(const Envelope& envelope, const Receipt& receipt) const {
  if (applied_ && envelope.session != 0 && envelope.request != 0)
    applied_->note(envelope.session, applied_request(envelope.request, receipt));
}

SavedTypes* Recovery::then() {
  if (then_ || schemas_.empty()) return then_.get();
  auto made = std::make_shared<SavedTypes>(registry_.types(), &conversions(registry_));
  for (const auto& schema : schemas_)
    // This should not happen, because the checkpoint was read with the same schema.
    if (!made->add(schema)) return nullptr;
  if (!made->settle()) return nullptr;
  then_ = std::move(made);
  return then_.get();
}

SavedTypes* Recovery::then(const JournalGroup& group) {
  SavedTypes* const made = then();
  return made && made->then().fingerprint() == group.types ? made : nullptr;
}

bool Recovery::types_differ() { return then() && then()->differs(); }

std::expected<void, std::string> Recovery::learn(std::span<const std::byte> schema, bool exact) {
  std::expected<void, SchemaError> added;
  if (SavedTypes* const then = exact ? nullptr : this->then()) {
    added = then->add(schema);
    if (added) added = then->settle();
  } else {
    added = registry_.types().add_schema(schema);
    if (!schemas_.empty()) schemas_.emplace_back(schema.begin(), schema.end());
  }
  if (!added) return std::unexpected(added.error().text());
  return {};
}

void Recovery::pass_over(std::uint64_t sequence, InputKind kind) {
  if (posts_first_ && kind == InputKind::post) {
    BatchBuilder nothing;
    nothing.append_world(CancelTimer{});
    registry_.host().replay({.sequence = sequence, .kind = InputKind::post}, nothing.front().bytes(), timed_);
    return;
  }
  posts_first_ = false;
  registry_.host().replay({.sequence = sequence, .kind = InputKind::flush}, {}, timed_);
}

void Recovery::note_failure(const JournalGroup& group, std::uint64_t sequence, const std::string& what) {
  ++report_.failed;
  if (report_.listed.size() < RecoveryReport::listed_max)
    report_.listed.push_back("journal group " + std::to_string(group.id) + ", input " + std::to_string(sequence) +
                             ": " + what);
}

bool Recovery::grant_again(const JournalRecord& record) {
  const BatchView batch(record.batch);
  if (batch.kind() != BatchKind::world || batch.count() != 1) return false;
  Grant grant;
  std::memcpy(&grant, batch.payload(0), sizeof grant);
  const Storage& storage = registry_.host().storage();
  const Envelope envelope{.sequence = record.envelope.sequence, .kind = InputKind::push};
  if (grant.first != storage.next_grant(grant.count)) {
    // In this replay, handlers do not take the ids that they originally took before this grant.
    // Grant those ids as well; they are returned along with the unused ids of the grant.
    const std::uint64_t next = storage.ids().indices(), end = std::uint64_t{grant.first} + grant.count;
    if (grant.first < next || end > ~std::uint32_t{0}) return false;
    grant.first = static_cast<std::uint32_t>(next);
    grant.count = static_cast<std::uint32_t>(end - next);
    if (storage.next_grant(grant.count) != grant.first) return false;
  }
  posts_first_ = false;
  BatchBuilder builder;
  builder.append_world(grant);
  registry_.host().replay(envelope, builder.front().bytes(), timed_);
  return true;
}

void Recovery::apply_edit(const JournalGroup& group, const JournalRecord& record) {
  const std::uint64_t sequence = record.envelope.sequence;
  const TypeId type = type_of(record);
  if (record.envelope.session == 0) {
    if (posts_first_ && record.envelope.kind == InputKind::post) {
      registry_.host().replay(record.envelope, record.batch, timed_);
      return;
    }
    if (type == TypeTraits<Grant>::id) {
      if (grant_again(record)) return;
      note_failure(group, sequence, "the ids that it granted are already in use");
    } else if (serves_edits(type)) {
      posts_first_ = false;
      registry_.host().replay({.sequence = sequence, .user = record.envelope.user, .kind = InputKind::push},
                              record.batch, timed_);
      return;
    }
    ++report_.left_out;
    return pass_over(sequence, record.envelope.kind);
  }
  posts_first_ = false;
  const Receipt receipt = registry_.host().replay({.sequence = sequence,
                                                   .session = record.envelope.session,
                                                   .user = record.envelope.user,
                                                   .request = record.envelope.request,
                                                   .kind = InputKind::push},
                                                  record.batch, timed_);
  note_applied(record.envelope, receipt);
  ++report_.edits;
  const TypeDescriptor* const known = registry_.types().find(type);
  const std::string name = known ? known->name : "a message";
  if (receipt.refused > 0)
    note_failure(group, sequence, name + " was refused: " + muster::name(receipt.refusal.code));
  else if (receipt.dead > 0)
    note_failure(group, sequence, name + " is to an entity that is not alive");
}

}  // namespace muster
