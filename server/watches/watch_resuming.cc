// Continues watches of sessions that were resumed.
//
// Frames that were sent may not have arrived, so a watch remembers to which sequences it has sent
// complete states, and the Look that each of them includes (Done). When it is resumed, it marks
// what has changed since. The client may then receive something that it already has: a Create for
// an entity that it knows, or a Destroy, Left or Unlisted for one that it does not know.
#include <algorithm>
#include <iterator>
#include <utility>

#include "schema/muster.h"
#include "server/watches/watch.h"

namespace muster {
namespace {

// Limit on the entities that have left a watch and are remembered in case it is resumed.
constexpr std::size_t left_max = 1u << 16;

}  // namespace

void Watch::note_done(std::uint64_t sequence) {
  if (!to_->resumable) return;
  // A client does not know which of several states with the same sequence it has, so the first one
  // counts.
  if (!done_.empty() && done_.back().sequence == sequence) {
    done_.back().is_last = false;
    return;
  }
  if (!done_.empty() && done_.back().look == ~std::uint64_t{0}) done_.clear();  // see begin()
  done_.push_back({.sequence = sequence, .look = seen_});
  if (done_.size() <= done_max) return;
  // Older states are kept less densely. A client may resume from an older state than it has.
  for (std::size_t i = 0; i < done_max / 4; ++i) done_.erase(done_.begin() + static_cast<std::ptrdiff_t>(i));
  std::erase_if(left_, [&](const Gone& gone) { return gone.look <= done_.front().look; });
}

void Watch::note_left(Entity e, bool is_row) {
  if (done_.empty()) return;
  left_.push_back({.look = seen_, .entity = e, .is_row = is_row});
  if (left_.size() <= left_max) return;
  left_.clear();
  done_.clear();
}

void Watch::pause() {
  values_.clear();
  structure_.clear();
  structure_in_order_ = 0;
  gone_.clear();
  rows_.clear();
  uncertain_.clear();
  promised_.clear();
  state_.reset();
  owes_end_ = false;
  next_component_ = 0;
  next_entity_ = {};
  figures_->promises.store(0, std::memory_order_relaxed);
  figures_->owed_since_ns.store(0, std::memory_order_relaxed);
  if (!done_.empty()) done_.back().is_last = false;  // what was marked is not sent
}

bool Watch::resume(std::uint64_t sequence) {
  if (asked_.sight) return false;  // other entities may have been visible then
  pause();
  on_ = to_->connection();
  due_ns = 0;
  const auto after = std::ranges::upper_bound(done_, sequence, {}, &Done::sequence);
  if (after == done_.begin()) return false;
  const auto from = std::prev(after);
  if (from->look == ~std::uint64_t{0}) return false;  // see begin()
  const std::uint64_t since = from->look;
  if (since < recent_.forgotten()) return false;
  catch_up();
  mark_missed(since);
  owes_end_ = marked();
  tell(session::Resuming{.sequence = world().sequence(),
                         .clock_ns = world().now_ns(),
                         .entities = static_cast<std::uint32_t>(entities()),
                         .anew = 0},
       owes_end_ ? std::uint32_t{frame_more} : 0);
  // The client will not ask for older states again.
  done_.erase(done_.begin(), from);
  return true;
}

void Watch::mark_missed(std::uint64_t since) {
  for (const Gone& gone : left_) {
    if (gone.look <= since) continue;
    uncertain_.insert(gone.entity);
    (gone.is_row ? rows_ : gone_).push_back(gone.entity);
  }
  recent_.each_structure(since, [&](Entity e) {
    if (world().alive(e)) return mark_again(e, asked_.subtree && !asked_.world);
    if (!is_of_everyone()) return;  // it is in left_
    uncertain_.insert(e);
    gone_.push_back(e);
  });
  if (filtered_) recent_.each_kind(since, [&](Entity e) { mark_again(e, false); });
  if (asked_.structure)
    recent_.each(TypeTraits<Name>::id, since, [&](Entity e) {
      if (!world().alive(e) || !concerns(e)) return;
      told_.erase(e);
      structure_.push_back(e);
    });
  if (!open_.empty()) catch_up_rows(since);
  for (const TypeId component : asked_.components) catch_up_values(component, since);
}

/// Marks an entity that may have entered the scope, or that may have another place.
void Watch::mark_again(Entity e, bool with_descendants) {
  std::vector<Entity> open{e};
  while (!open.empty()) {
    const Entity at = open.back();
    open.pop_back();
    // Descendants may pass the filter even if the entity does not.
    if (with_descendants && scope_.contains(at)) each_child(at, [&](Entity child) { open.push_back(child); });
    if (!concerns(at)) continue;
    told_.erase(at);  // a Create tells everything
    mark(at, asked_.components, asked_.structure);
  }
}

}  // namespace muster
