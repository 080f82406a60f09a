#include "registry/history/places.h"

#include <algorithm>

#include "registry/history/edit_history.h"
#include "schema/hash.h"

namespace muster::history {

std::uint64_t Places::key_of(const Part& part) {
  return part.kind == PartKind::defined ? hash64(part.details->name) : part.entity.bits();
}

void Places::add(std::uint64_t user, const Part& part) {
  std::vector<ByUser>& users = map_of(part)[key_of(part)];
  auto at = std::ranges::find(users, user, &ByUser::user);
  if (at == users.end()) at = users.insert(users.end(), ByUser{user, {}});
  // Sequences grow, except when a history is loaded.
  at->edits.insert(std::ranges::upper_bound(at->edits, part.sequence, {}, &Edit::sequence), edit_of(part));
}

void Places::remove(std::uint64_t user, const Part& part) {
  Map& map = map_of(part);
  const auto users = map.find(key_of(part));
  if (users == map.end()) return;
  const auto by = std::ranges::find(users->second, user, &ByUser::user);
  if (by == users->second.end()) return;
  std::vector<Edit>& edits = by->edits;
  auto at = std::ranges::lower_bound(edits, part.sequence, {}, &Edit::sequence);
  while (at != edits.end() && at->sequence == part.sequence && *at != edit_of(part)) ++at;
  if (at == edits.end() || at->sequence != part.sequence) return;
  edits.erase(at);
  if (!edits.empty()) return;
  users->second.erase(by);
  if (users->second.empty()) map.erase(users);
}

void Places::clear() {
  entities_.clear();
  templates_.clear();
}

template <class Matches>
Places::User Places::find(const Map& map, std::uint64_t key, std::uint64_t& sequence, std::uint64_t user,
                          Matches matches) {
  const auto users = map.find(key);
  if (users == map.end()) return {};
  User found;
  for (const ByUser& by : users->second) {
    if (by.user == user) continue;
    for (auto edit = by.edits.rbegin(); edit != by.edits.rend() && edit->sequence > sequence; ++edit)
      if (matches(*edit)) {
        sequence = edit->sequence;
        found = by.user;
        break;
      }
  }
  return found;
}

Places::User Places::property(Entity e, TypeId component, std::uint32_t offset, std::uint64_t sequence,
                              std::uint64_t user) const {
  return find(entities_, e.bits(), sequence, user, [&](const Edit& edit) {
    return edit.component == component && (edit.kind != PartKind::field || edit.offset == offset);
  });
}

Places::User Places::any_property(Entity e, TypeId component, std::uint64_t sequence, std::uint64_t user) const {
  return find(entities_, e.bits(), sequence, user,
              [&](const Edit& edit) { return edit.component == component && edit.kind == PartKind::field; });
}

Places::User Places::entity(Entity e, std::uint64_t& sequence, std::uint64_t user, const HistorySight* sight) const {
  return find(entities_, e.bits(), sequence, user,
              [&](const Edit& edit) { return !sight || edit.component == 0 || sight->sees(edit.component); });
}

Places::User Places::moved(Entity e, std::uint64_t sequence, std::uint64_t user) const {
  return find(entities_, e.bits(), sequence, user, [](const Edit& edit) { return edit.kind == PartKind::moved; });
}

Places::User Places::renamed(Entity e, std::uint64_t sequence, std::uint64_t user) const {
  return find(entities_, e.bits(), sequence, user, [](const Edit& edit) { return edit.kind == PartKind::renamed; });
}

Places::User Places::defined(std::string_view name, std::uint64_t sequence, std::uint64_t user) const {
  return find(templates_, hash64(name), sequence, user, [](const Edit&) { return true; });
}

}  // namespace muster::history
