// Each change gets a number. A follower is told the entries whose number is higher than that up to
// which it was told, the oldest first, so a slow follower misses only what has been replaced.
#include "server/session/presence_board.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t camera_numbers = 6;
/// Limit on the size of a frame that tells a follower what has changed.
constexpr std::size_t told_bytes_max = 1 << 16;

std::uint64_t key_of(Entity entity) { return std::uint64_t{entity.generation} << 32 | entity.index; }

std::size_t bytes_of(const session::Present& shown) {
  return 160 + shown.name.size() + shown.kind.size() + shown.camera.size() * sizeof(float) +
         (shown.selection.size() + shown.dragged.size() + shown.locks.size()) * sizeof(Entity);
}

session::Fault presence_fault(const char* reason, const char* field, std::string text) {
  session::Fault fault = fault_of(session::FaultCode::bad_question, reason, std::move(text));
  fault.field = field;
  return fault;
}

/// Returns what a session is told of another one, or of itself. Entities are left out if the user
/// may not see everything.
session::Present shown_to(const Session& to, const session::Present& whom) {
  session::Present shown = whom;
  if (!to.rights.sight() || whom.session == to.number) return shown;
  shown.selection.clear();
  shown.dragged.clear();
  shown.locks.clear();
  shown.camera.clear();
  return shown;
}

}  // namespace

void PresenceBoard::join(const std::shared_ptr<Session>& session) {
  Entry& entry = entries_[session->number];
  entry.session = session;
  entry.shown.session = session->number;
  entry.shown.user = session->user;
  entry.shown.name = session->name;
  entry.shown.kind = session->kind;
  entry.changed = entry.joined = ++changes_;
  untold_ = true;
}

void PresenceBoard::leave(const Session& session) {
  const auto at = entries_.find(session.number);
  if (at == entries_.end()) return;
  unlock(at->second);
  entries_.erase(at);
  gone_.push_back({.changed = ++changes_, .session = session.number});
  untold_ = true;
  tell();
}

void PresenceBoard::unlock(const Entry& entry) {
  for (const Entity each : entry.shown.locks) holders_.erase(key_of(each));
}

std::expected<session::PresenceSet, session::Fault> PresenceBoard::set(const Session& from,
                                                                       const session::SetPresence& what) {
  const auto at = entries_.find(from.number);
  if (at == entries_.end()) return session::PresenceSet();
  for (const auto& [field, list] :
       {std::pair{"selection", &what.selection}, std::pair{"dragged", &what.dragged}, std::pair{"locks", &what.locks}})
    if (list->size() > entities_max)
      return std::unexpected(
          presence_fault("too_many", field,
                         std::to_string(list->size()) + " entities; " + std::to_string(entities_max) + " are allowed"));
  if (!what.camera.empty() && what.camera.size() != camera_numbers)
    return std::unexpected(presence_fault(
        "out_of_range", "camera",
        "the camera has " + std::to_string(what.camera.size()) + " numbers; 6 are expected: its position and a point"));
  if (!std::ranges::all_of(what.camera, [](float each) { return std::isfinite(each); }))
    return std::unexpected(presence_fault("not_finite", "camera", "a number of the camera is not finite"));
  Entry& entry = at->second;
  unlock(entry);
  entry.shown.selection = what.selection;
  entry.shown.dragged = what.dragged;
  entry.shown.camera = what.camera;
  entry.shown.locks.clear();
  session::PresenceSet answer;
  for (const Entity each : what.locks) {
    const auto [holder, is_free] = holders_.try_emplace(key_of(each), from.number);
    if (is_free) {
      entry.shown.locks.push_back(each);
    } else if (holder->second != from.number) {
      answer.refused.push_back(each);
      answer.holders.push_back(holder->second);
    }
  }
  entry.changed = ++changes_;
  untold_ = true;
  return answer;
}

session::Presence PresenceBoard::get(const Session& from, const session::GetPresence& what, std::size_t bytes_max) {
  session::Presence page;
  std::size_t bytes = 0;
  for (auto at = entries_.upper_bound(what.after); at != entries_.end(); ++at) {
    page.more = bytes >= bytes_max;
    if (page.more) break;
    page.people.push_back(shown_to(from, at->second.shown));
    bytes += bytes_of(page.people.back());
  }
  // Later pages may be older than what the follower is told, but not newer.
  if (const auto own = entries_.find(from.number); own != entries_.end() && what.follow == 1 && !own->second.told)
    own->second.told = changes_;
  return page;
}

void PresenceBoard::tell() {
  if (!std::exchange(untold_, false)) return;
  for (auto& [number, entry] : entries_)
    if (entry.told && *entry.told < changes_) tell(entry);
  forget_gone();
}

void PresenceBoard::tell(Entry& follower) {
  // If the user may not see everything, what others set is left out, so it changes nothing.
  const auto changes = follower.session->rights.sight() ? &Entry::joined : &Entry::changed;
  std::vector<const Entry*> changed;
  for (const auto& [number, entry] : entries_)
    if (entry.*changes > *follower.told && &entry != &follower) changed.push_back(&entry);
  std::ranges::sort(changed, {}, changes);
  session::Presence told;
  std::size_t bytes = 0;
  std::uint64_t through = changes_;
  for (const Gone& each : gone_) {
    if (each.changed <= *follower.told) continue;
    session::Present left;
    left.session = each.session;
    left.gone = true;
    bytes += bytes_of(left);
    told.people.push_back(std::move(left));
  }
  for (const Entry* each : changed) {
    if (bytes >= told_bytes_max) {
      through = each->*changes - 1;
      untold_ = true;
      break;
    }
    told.people.push_back(shown_to(*follower.session, each->shown));
    bytes += bytes_of(told.people.back());
  }
  if (!told.people.empty()) {
    if (!follower.session->outgoing()->has_answer_room(bytes)) {
      untold_ = true;
      return;
    }
    answer(*follower.session, 0, told);
  }
  follower.told = through;
}

void PresenceBoard::forget_gone() {
  std::uint64_t told = changes_;
  for (const auto& [number, entry] : entries_)
    if (entry.told) told = std::min(told, *entry.told);
  std::erase_if(gone_, [&](const Gone& each) { return each.changed <= told; });
}

}  // namespace muster
