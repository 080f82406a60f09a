#include "server/world/replay/recorded_run.h"

#include <set>
#include <utility>

#include "registry/host.h"
#include "schema/hex.h"

namespace muster {

RecordedRun::RecordedRun(const Slice& slice, const std::vector<TickHash>& hashes, EntityRegistry& registry,
                         ReplayReport& report)
    : slice_(slice),
      hashes_(hashes.empty() ? slice.hashes : newest_hashes(hashes)),
      registry_(registry),
      report_(report) {}

void RecordedRun::compare_hashes() {
  if (next_hash_ >= hashes_.size()) return;
  const auto now = std::pair(registry_.sequence(), report_.tick);
  while (next_hash_ < hashes_.size() && hashes_[next_hash_].place() < now) ++next_hash_;
  // The first recorded tick may have begun before the checkpoint.
  const bool is_first = hashed_since_ == 0;
  const std::uint64_t since = std::exchange(hashed_since_, registry_.host().begin_version());
  if (is_first || next_hash_ >= hashes_.size() || hashes_[next_hash_].place() != now) return;
  const Columns& recorded = hashes_[next_hash_].columns;
  const Columns made = hash_changed_columns(registry_, since);
  ++report_.hashes;
  if (made == recorded) return;
  note_columns(recorded, made, ComparedWith::recorded_hashes);
  next_hash_ = hashes_.size();  // what comes now differs as a consequence
}

void RecordedRun::compare_state() {
  const auto& states = slice_.states;
  while (next_state_ < states.size() && states[next_state_].sequence < registry_.sequence()) ++next_state_;
  if (next_state_ >= states.size() || states[next_state_].sequence != registry_.sequence()) return;
  const RecordedState& recorded = states[next_state_++];
  if (types_differ_) return;
  const auto made = recorded_state(registry_, recorded.tick);
  if (!made) return;
  ++report_.states;
  if (made->hash == recorded.hash) return;
  if (made->columns != recorded.columns)
    return note_columns(recorded.columns, made->columns, ComparedWith::recorded_state);
  SyncDifference found;
  found.part = "parts other than the values of components";
  note(std::move(found), ComparedWith::recorded_state);
}

void RecordedRun::finish() {
  const auto covers = [&](std::uint64_t sequence) {
    return sequence > slice_.sequence && sequence <= registry_.sequence();
  };
  for (const TickHash& hash : hashes_) report_.recorded_hashes += covers(hash.sequence);
  for (const RecordedState& state : slice_.states) report_.recorded_states += covers(state.sequence);
}

void RecordedRun::note_columns(const Columns& recorded, const Columns& made, ComparedWith with) {
  std::set<std::string> names;
  for (const Columns* const columns : {&recorded, &made})
    for (const auto& [name, number] : *columns) {
      const auto one = recorded.find(name), other = made.find(name);
      if (one == recorded.end() || other == made.end() || one->second != other->second) names.insert(name);
    }
  const auto shown = [](const Columns& columns, const std::string& name) {
    const auto at = columns.find(name);
    return at == columns.end() ? std::string("none") : hex(at->second);
  };
  for (const std::string& name : names) {
    SyncDifference found;
    found.component = name;
    found.part = "the values of " + name;
    found.first = shown(recorded, name);
    found.second = shown(made, name);
    for (const Handler* const handler : registry_.host().handlers().handlers())
      for (const Term& term : handler->terms)
        if (const TypeDescriptor* const type = registry_.types().find(term.type);
            type && type->name == name && term.access == Access::write)
          found.suspects.push_back('"' + handler->name + '"');
    note(std::move(found), with);
  }
}

void RecordedRun::note(SyncDifference found, ComparedWith with) {
  found.first_sequence = found.last_sequence = registry_.sequence();
  if (report_.differences.size() < ReplayReport::listed_max)
    report_.differences.push_back({.tick = report_.tick, .found = std::move(found), .with = with});
}

// --- texts ---

const char* name(ComparedWith with) noexcept {
  switch (with) {
    case ComparedWith::repetition: return "repetition";
    case ComparedWith::second_registry: return "second registry";
    case ComparedWith::recorded_hashes: return "recorded hashes";
    case ComparedWith::recorded_state: return "recorded state";
  }
  return "";
}

std::string ReplayDifference::text() const {
  std::string text = "tick " + std::to_string(tick) + ": ";
  if (with == ComparedWith::repetition || with == ComparedWith::second_registry) return text + found.text();
  text += with == ComparedWith::recorded_state ? "in the state after input " : "at input ";
  text += std::to_string(found.last_sequence) + ", " + found.part + " are not those of the recorded run";
  if (!found.first.empty()) text += ": their hash was " + found.first + " then, and is " + found.second + " now";
  if (found.component.empty()) return text;
  if (found.suspects.empty()) return text + ". No handler writes them";
  text += found.suspects.size() == 1 ? ". The handler that writes them is " : ". The handlers that write them are ";
  for (std::size_t i = 0; i < found.suspects.size(); ++i) text += (i ? ", " : "") + found.suspects[i];
  return text;
}

}  // namespace muster
