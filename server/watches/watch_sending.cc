// Sends a watch's marked changes with their current values, as long as the session's queue has
// room.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "messages/row_set.h"
#include "messages/utf8.h"
#include "registry/host.h"
#include "registry/storage/hierarchy.h"
#include "schema/muster.h"
#include "server/watches/told_texts.h"
#include "server/watches/watch.h"

namespace muster {
namespace {

// Number of entities sent between two checks of the queue.
constexpr std::size_t slice_entities = 256;
// Number of a component's values sent between two checks.
constexpr std::size_t slice_values = 2048;

// Size of a watch's batches. The size is small so that watches share a slow connection fairly.
constexpr std::size_t watch_batch_bytes = 64u << 10;
// Limit on the size of the interned texts in one slice. The actual size is usually much smaller.
constexpr std::size_t slice_text_bytes = 256u << 10;
// Approximate size of the structure data sent for one entity.
constexpr std::uint32_t told_row_bytes = 64;
constexpr std::size_t row_name_bytes_max = 4096;  // limit on the length of a child's name

/// Returns how many values of `bytes` bytes each are sent in one slice.
std::size_t slice_rows(std::uint32_t bytes, std::size_t slice_bytes, std::size_t rows_max) {
  return std::clamp<std::size_t>(slice_bytes / (sizeof(Entity) + bytes), 1, rows_max);
}

std::string_view shown_name(std::string_view name) {
  return name.size() <= row_name_bytes_max ? name : name.substr(0, utf8_prefix(name.substr(0, row_name_bytes_max)));
}

/// Size below which a batch is copied, because copying a small batch is faster than sharing it.
constexpr std::size_t shared_bytes_min = 4096;

}  // namespace

/// The frames of one turn. Each slice is held back until the next one is ready, so that the last
/// frame can be sent without the flag `more`.
class Watch::Frames {
 public:
  Frames(Watch& watch, std::uint64_t now_ns, const std::function<bool()>& time_is_left)
      : watch_(watch),
        now_ns_(now_ns),
        time_is_left_(time_is_left),
        envelope_{watch.world().sequence(), 0, 0, watch.world().now_ns()} {}

  BatchBuilder& building() noexcept { return building_->own; }
  /// Adds finished batches to the end of the slice, after the batch that is being built.
  void append(EqualRows::Batches batches) {
    if (batches->size() >= shared_bytes_min) {
      building_->equal = std::move(batches);
      return;
    }
    for_each_batch(*batches, [&](BatchView batch) { building_->own.append_batch(batch); });
  }
  std::uint64_t now_ns() const noexcept { return now_ns_; }
  /// Ends a slice. Returns false if the budget has been used up, or if there is no room for another
  /// frame or for `text_bytes` bytes of interned texts. Texts count as answers, and a session with
  /// too many unread answers is ended.
  bool room(std::size_t text_bytes) {
    end_slice();
    if (!watch_.budget.is_free(now_ns_)) return false;
    if (!watch_.outgoing().has_room()) return false;
    if (text_bytes > 0 && !watch_.outgoing().has_text_room(text_bytes)) return false;
    watch_.budget.spend(text_bytes, now_ns_);
    in_time_ = std::exchange(first_, false) || time_is_left_();
    return in_time_;
  }
  /// Returns false if the turn ran out of time.
  bool in_time() const noexcept { return in_time_; }
  void destroy(Entity e) {
    watch_.told_.erase(e);
    if (destroyed_.insert(e).second) building().append(e, Destroy{});
  }
  /// Sends the slice that was held back. `complete` is true if nothing else remains to be sent.
  void finish(bool complete) {
    end_slice();
    flush(complete);
    if (!complete || !watch_.owes_end_) return;
    // Everything that remained to be sent has become obsolete, but the client is still waiting for
    // the end of the state.
    session::Watching end;
    end.sequence = envelope_.sequence;
    end.clock_ns = envelope_.clock_ns;
    BatchBuilder builder;
    builder.append_world(end);
    watch_.outgoing().data(builder.bytes(), watch_.request_, 0, &envelope_);
    ++watch_.frames_sent;
    watch_.owes_end_ = false;
  }

 private:
  struct Slice {
    BatchBuilder own{watch_batch_bytes};
    EqualRows::Batches equal;  // batches to send after all others; may be null
  };
  void end_slice() {
    const std::size_t equal_bytes = building_->equal ? building_->equal->size() : 0;
    if (building_->own.empty() && equal_bytes == 0) return;
    watch_.budget.spend(building_->own.bytes().size() + equal_bytes, now_ns_);
    flush(false);
    std::swap(building_, ready_);
  }
  void flush(bool last) {
    const EqualRows::Batches equal = std::exchange(ready_->equal, nullptr);
    std::size_t left = ready_->own.batches();
    if (equal) for_each_batch(*equal, [&](BatchView) { ++left; });
    if (left > 0) watch_.owes_end_ = !last;
    const auto send = [&](BatchView batch, const EqualRows::Batches& keeps) {
      --left;
      ++watch_.frames_sent;
      const std::uint32_t flags = left > 0 || !last ? std::uint32_t{frame_more} : 0;
      watch_.outgoing().data(batch.bytes(), watch_.request_, flags, &envelope_, keeps);
    };
    ready_->own.for_each([&](BatchView batch) { send(batch, nullptr); });
    if (equal) for_each_batch(*equal, [&](BatchView batch) { send(batch, equal); });
    ready_->own.clear();
  }

  Watch& watch_;
  const std::uint64_t now_ns_;
  const std::function<bool()>& time_is_left_;
  const FrameEnvelope envelope_;
  bool first_ = true, in_time_ = true;
  Slice slices_[2];
  Slice* building_ = &slices_[0];
  Slice* ready_ = &slices_[1];
  std::unordered_set<Entity> destroyed_;  // entities that were reported as destroyed in this turn
};

void Watch::begin(bool resumed) {
  owes_end_ = marked();
  const std::uint32_t flags = owes_end_ ? std::uint32_t{frame_more} : 0;
  const auto count = static_cast<std::uint32_t>(entities());
  if (resumed) {
    // The client may have an older state with this sequence, and not know that it is told anew.
    if (to_->resumable) done_.push_back({.sequence = world().sequence(), .look = ~std::uint64_t{0}, .is_last = false});
    tell(session::Resuming{.sequence = world().sequence(), .clock_ns = world().now_ns(), .entities = count, .anew = 1},
         flags);
  } else {
    tell(session::Watching{.sequence = world().sequence(), .clock_ns = world().now_ns(), .entities = count}, flags);
  }
}

void Watch::promise(std::uint64_t request) {
  tell(session::Following{.change = request}, frame_more);
  owes_end_ = true;
  promised_.push_back(request);
}

bool Watch::send(std::uint64_t steady_now_ns, const std::function<bool()>& time_is_left) {
  Frames frames(*this, steady_now_ns, time_is_left);
  if (figures_->owed_since_ns.load(std::memory_order_relaxed) == 0) {
    figures_->owed_since_ns.store(steady_now_ns, std::memory_order_relaxed);
    round_ns_ = steady_now_ns;
  }
  const bool complete = send_gone(frames) && send_structure(frames) && send_rows(frames) && send_values(frames);
  frames.finish(complete);
  if (!complete) return frames.in_time();
  figures_->owed_since_ns.store(0, std::memory_order_relaxed);
  tidy_at_ = tidy_min;
  note_done(world().sequence());
  uncertain_.clear();
  figures_->promises.fetch_sub(promised_.size(), std::memory_order_relaxed);
  for (const std::uint64_t request : promised_)
    tell(session::Followed{.sequence = world().sequence(), .clock_ns = world().now_ns(), .watch = request_}, 0,
         request);
  promised_.clear();
  state_.reset();
  return true;
}

/// Returns the number of entities to send at once. The number is at most `rows`, and is limited so
/// that the entities refer to no more than about 256 KiB of interned texts that the client lacks.
template <class Texts>
Watch::Slice Watch::slice_of(std::span<const Entity> entities, std::size_t rows, Texts&& texts) const {
  Slice slice{.rows = std::min(rows, entities.size())};
  if constexpr (!std::is_null_pointer_v<std::remove_cvref_t<Texts>>) {
    std::size_t count = 0;
    while (count < slice.rows && slice.text_bytes < slice_text_bytes) slice.text_bytes += texts(entities[count++]);
    slice.rows = count;
  }
  return slice;
}

/// Calls tell(entities) for one slice of the list after another, starting at index `from`.
/// texts(entity) returns the size, in bytes, of the interned texts to send with the entity. If
/// `texts` is null, there are none. Returns false if there was no room for the remaining entities,
/// which stay in the list.
template <class Texts, class Tell>
bool Watch::tell_all(Frames& frames, std::vector<Entity>& list, std::size_t rows, Texts&& texts, Tell&& tell,
                     std::size_t from) {
  std::size_t done = from;
  bool room = true;
  while (done < list.size()) {
    const Slice slice = slice_of(std::span<const Entity>(list).subspan(done), rows, texts);
    room = frames.room(slice.text_bytes);
    if (!room) break;
    tell(std::span<const Entity>(list).subspan(done, slice.rows));
    done += slice.rows;
  }
  to_->told_rows.fetch_add(done - from, std::memory_order_relaxed);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(done));
  return room;
}

bool Watch::send_gone(Frames& frames) {
  sort_unique(gone_);
  return tell_all(frames, gone_, slice_rows(told_row_bytes, budget.piece(watch_batch_bytes), slice_entities), nullptr,
                  [&](std::span<const Entity> slice) {
                    for (const Entity e : slice) {
                      if (!may_know(e)) continue;
                      if (!is_there(e)) {
                        frames.destroy(e);
                      } else if (!concerns(e)) {  // otherwise, the entity has reentered the scope
                        told_.erase(e);
                        frames.building().append(e, session::Left{});
                      }
                    }
                  });
}

void Watch::send_name(Text name) {
  if (must_be_sent(*to_, world(), name)) send_text(*to_, world(), name);
}

/// Sends the structure of marked entities, parents before their children.
bool Watch::send_structure(Frames& frames) {
  if (structure_in_order_ != structure_.size()) order_structure();
  const std::size_t rows = slice_rows(told_row_bytes, budget.piece(watch_batch_bytes), slice_entities);
  const auto names = [&](Entity e) {
    return unsent_bytes(*to_, world(), world().alive(e) ? world().name_text(e) : Text{});
  };
  const bool complete = tell_all(frames, structure_, rows, names, [&](std::span<const Entity> slice) {
    for (const Entity e : slice) tell_structure(frames, e);
  });
  structure_in_order_ = structure_.size();
  return complete;
}

void Watch::order_structure() {
  sort_unique(structure_);
  std::vector<std::vector<Entity>> by_depth(1);  // dead entities come first
  for (const Entity e : structure_) {
    const std::size_t depth = world().alive(e) ? world().depth(e) + 1 : 0;
    if (depth >= by_depth.size()) by_depth.resize(depth + 1);
    by_depth[depth].push_back(e);
  }
  structure_.clear();
  for (const std::vector<Entity>& of_one : by_depth) structure_.insert(structure_.end(), of_one.begin(), of_one.end());
}

void Watch::tell_structure(Frames& frames, Entity e) {
  Told* const known = told_.find(e);
  if (!world().alive(e)) {
    if (known) frames.destroy(e);
    return;
  }
  if (!concerns(e)) return;
  const Told now{world().parent(e), world().name_text(e)};
  Entity before = there_from(world().next_sibling(e));
  if (before && !told_.find(before)) before = {};
  if (!known) {
    send_name(now.name);
    Create create;
    create.parent = now.parent;
    create.before = before;
    create.name = now.name;
    frames.building().append(e, create);
    told_.put(e, now);
    return;
  }
  if (known->parent != now.parent) {
    Reparent reparent;
    reparent.parent = now.parent;
    reparent.before = before;
    frames.building().append(e, reparent);
  }
  if (known->name != now.name) {
    send_name(now.name);
    Rename rename;
    rename.name = now.name;
    frames.building().append(e, rename);
  }
  *known = now;
}

bool Watch::send_rows(Frames& frames) {
  // The order of roots, in which they were found, depends on hidden components.
  if (asked_.sight) sort_unique(rows_);
  const std::size_t at_once = slice_rows(told_row_bytes, budget.piece(watch_batch_bytes), slice_entities);
  return tell_all(frames, rows_, at_once, nullptr, [&](std::span<const Entity> slice) {
    session::ChildRows rows;
    for (const Entity e : slice) {
      const bool lives = is_there(e);
      const Entity parent = lives ? world().parent(e) : Entity{};
      if (!lives || !open_.contains(parent)) {
        const bool was_listed = listed_.erase(e);
        if (was_listed) note_left(e, true);
        if (!was_listed && !uncertain_.contains(e)) continue;
        if (lives)
          frames.building().append(e, session::Unlisted{});
        else
          frames.destroy(e);
        continue;
      }
      add_row(rows, e, parent);
    }
    if (!rows.entities.empty()) session::append(frames.building(), rows);
  });
}

void Watch::add_row(session::ChildRows& rows, Entity e, Entity parent) {
  auto after = world().previous_sibling(e);
  auto children = world().child_count(e);
  std::span<const TypeId> components = world().components(e);
  std::vector<TypeId> visible;
  if (asked_.sight) {
    std::ranges::copy_if(components, std::back_inserter(visible),
                         [&](TypeId type) { return !asked_.sight->hidden->contains(type); });
    components = visible;
    if (asked_.has_places()) {
      while (after && !is_there(after)) after = world().previous_sibling(after);
      children = 0;
      each_child(e, [&](Entity child) { children += is_there(child) ? 1 : 0; });
    }
    // The row may have been marked because of something that the user may not see.
    std::uint64_t as = hash64(world().name(e));
    const auto add = [&](std::uint64_t number) { as = (as ^ number) * 0x00000100000001b3u; };
    for (const Entity each : {parent, after}) add(std::uint64_t{each.index} << 32 | each.generation);
    add(children);
    for (const TypeId type : components) add(type);
    const std::uint64_t* const known = listed_.find(e) ? listed_as_.find(e) : nullptr;
    if (known && *known == as) return;
    listed_as_.put(e, as);
  }
  listed_.put(e, parent);
  rows.entities.push_back(e);
  rows.parents.push_back(parent);
  rows.after.push_back(after);
  rows.names.emplace_back(shown_name(world().name(e)));
  rows.child_counts.push_back(children);
  rows.component_counts.push_back(static_cast<std::uint32_t>(components.size()));
  rows.components.insert(rows.components.end(), components.begin(), components.end());
}

/// Sends values in rounds, each of which goes through all components and entities. Every marked
/// entity is sent in this round or in the next one, no matter what else changes.
bool Watch::send_values(Frames& frames) {
  for (auto at = values_.lower_bound(next_component_); !values_.empty();) {
    if (at == values_.end()) {
      end_round(frames.now_ns());
      at = values_.begin();
    }
    if (!tell_values(frames, at->first, at->second)) return false;
    at = at->second.empty() ? values_.erase(at) : std::next(at);
    next_component_ = at == values_.end() ? ~TypeId{0} : at->first;
    next_entity_ = {};
  }
  next_component_ = 0;
  return true;
}

void Watch::end_round(std::uint64_t now_ns) {
  figures_->owed_since_ns.store(std::exchange(round_ns_, now_ns), std::memory_order_relaxed);
}

/// Continues with the next entity. Returns false if there was no room for the remaining entities.
bool Watch::tell_values(Frames& frames, TypeId component, std::vector<Entity>& entities) {
  const SeenState::Column* const column = world().column(component);
  if (!column || !column->descriptor) {
    entities.clear();
    return true;
  }
  const std::size_t slice = slice_rows(column->size, budget.piece(watch_batch_bytes), slice_values);
  std::size_t from = 0;
  // The order in which changes are found could tell something about hidden entities.
  if (asked_.sight) sort_unique(entities);
  if (component == next_component_ && next_entity_) {
    sort_unique(entities);
    from = static_cast<std::size_t>(std::ranges::lower_bound(entities, next_entity_) - entities.begin());
  }
  const auto tell = [&](std::span<const Entity> part) { tell_equal_rows(frames, *column, part); };
  const auto texts = [&](Entity e) {
    const SeenState::Place* const place = world().place(e);
    const std::byte* const value = place && concerns(e) ? world().value(*place, *column) : nullptr;
    return value ? unsent_bytes(*to_, world(), *column->descriptor, value) : std::size_t{0};
  };
  const bool mentions = column->size > 0 && !column->descriptor->text_offsets.empty();
  if (mentions ? tell_all(frames, entities, slice, texts, tell, from)
               : tell_all(frames, entities, slice, nullptr, tell, from))
    return true;
  next_component_ = component;
  next_entity_ = entities[from];
  return false;
}

/// Reuses the encoded rows that another watch has sent since the previous Look.
void Watch::tell_equal_rows(Frames& frames, const SeenState::Column& column, std::span<const Entity> entities) {
  const bool may_be_equal = !shared_.is_alone && column.descriptor->text_offsets.empty() &&
                            (is_of_everyone() || std::ranges::all_of(entities, [&](Entity e) { return concerns(e); }));
  if (!may_be_equal) {
    tell_rows(frames.building(), frames, column, entities);
    return;
  }
  const EqualRows::Key key{
      .look = world().look(), .component = column.type, .sight = asked_.sight ? asked_.sight->rules.get() : nullptr};
  if (EqualRows::Batches known = shared_.equal_rows.find(key, entities)) return frames.append(std::move(known));
  BatchBuilder rows(watch_batch_bytes);
  if (tell_rows(rows, frames, column, entities))
    frames.append(shared_.equal_rows.keep(key, entities, rows.bytes()));
  else
    rows.for_each([&](BatchView batch) { frames.building().append_batch(batch); });
}

/// Returns true if every entity had a value and nothing else was sent.
bool Watch::tell_rows(BatchBuilder& out, Frames& frames, const SeenState::Column& column,
                      std::span<const Entity> entities) {
  const TypeDescriptor& type = *column.descriptor;
  const std::uint32_t size = column.size;  // 0 for a tag or a runtime component
  session::Values rows;
  rows.component = column.type;
  rows.value_bytes = size;
  rows.entities.reserve(entities.size());
  rows.values.resize(entities.size() * size);
  std::size_t told = 0;
  const auto tell = [&](Entity e) {
    const SeenState::Place* const place = world().place(e);
    if (!place) {
      if (may_know(e)) frames.destroy(e);
      return;
    }
    if (!concerns(e)) return;
    const std::byte* const value = world().value(*place, column);
    if (!value) {
      Remove remove;
      remove.component = column.type;
      out.append(e, remove);
      return;
    }
    ++told;
    if (size > 0 && !type.text_offsets.empty()) send_texts(*to_, world(), type, value);
    if (size > 0) std::memcpy(rows.values.data() + rows.entities.size() * size, value, size);
    rows.entities.push_back(e);
  };
  for (const Entity e : entities) tell(e);
  rows.values.resize(rows.entities.size() * size);
  if (!rows.entities.empty()) session::append(out, rows);
  return told == entities.size();
}

}  // namespace muster
