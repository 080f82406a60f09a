#include "registry/moments/id_moments.h"

#include <algorithm>
#include <bit>

namespace muster {

namespace {

constexpr std::uint32_t page_indices = 1u << id_page_bits;

bool is_returned(DirectoryEntry entry) noexcept { return entry.locator == Locator(IdState::returned); }

}  // namespace

template <class F>
void IdMoments::each_changed(F f) const {
  const auto indices = static_cast<std::uint32_t>(std::min(entries_.size(), storage_.ids_.indices()));
  for (std::uint32_t first = 0; first < indices; first += page_indices) {
    if (storage_.id_page_version(first >> id_page_bits) <= version_) continue;
    const std::uint32_t end = std::min(first + page_indices, indices);
    const DirectoryEntry* const now = storage_.ids_.slots();
    constexpr std::uint32_t block = 32;
    for (std::uint32_t index = first; index < end; index += block) {
      const std::uint32_t block_end = std::min(index + block, end);
      std::uint64_t differs = 0;
      for (std::uint32_t i = index; i < block_end; ++i)
        differs |= std::bit_cast<std::uint64_t>(without_place(now[i])) ^ std::bit_cast<std::uint64_t>(entries_[i]);
      if (differs == 0) continue;
      for (std::uint32_t i = index; i < block_end; ++i)
        if (const DirectoryEntry entry = without_place(now[i]); !same(entry, entries_[i])) f(i, entry, entries_[i]);
    }
  }
}

void IdMoments::begin() {
  clear();
  const Storage::Ids& ids = storage_.ids_;
  entries_.resize(ids.indices());
  std::transform(ids.slots(), ids.slots_end(), entries_.begin(), without_place);
  free_first_ = ids.free_queue().popped();
  returned_ = std::make_shared<const ReturnedIds>(storage_.returned_);
}

void IdMoments::keep(IdMoment& moment, IdMoment* newest) {
  const Storage::Ids& ids = storage_.ids_;
  if (newest) {
    bool ranges_changed = false;
    each_changed([&](std::uint32_t index, DirectoryEntry now, DirectoryEntry was) {
      newest->changes.push_back({index, was});
      entries_[index] = now;
      ranges_changed = ranges_changed || is_returned(now) || is_returned(was);
    });
    for (std::size_t index = entries_.size(); index < ids.indices(); ++index) {
      entries_.push_back(without_place(ids.slot(static_cast<std::uint32_t>(index))));
      ranges_changed = ranges_changed || is_returned(entries_.back());
    }
    if (ranges_changed) returned_ = std::make_shared<const ReturnedIds>(storage_.returned_);
  }
  const RingQueue<std::uint32_t>& queue = ids.free_queue();
  moment.first_free = queue.popped();
  moment.end_free = queue.popped() + queue.size();
  // No moment needs the values that were both pushed and popped between two moments.
  for (std::uint64_t number = free_first_ + free_.size(); number < moment.end_free; ++number)
    free_.push_back(number < moment.first_free ? 0 : queue[number - moment.first_free]);
  moment.indices = ids.indices();
  moment.retired = ids.retired();
  moment.returned = returned_;
}

void IdMoments::forget_before(const IdMoment& oldest) {
  const std::uint64_t count = std::min<std::uint64_t>(oldest.first_free - free_first_, free_.size());
  free_.pop_front(count);
  free_first_ += count;
}

void IdMoments::clear() {
  entries_ = {};
  free_ = {};
  free_first_ = 0;
  returned_.reset();
}

void IdMoments::find(std::span<IdMoment* const> moments) {
  changed_.clear();
  gone_.clear();
  each_changed([&](std::uint32_t index, DirectoryEntry, DirectoryEntry) { changed_.push_back(index); });
  for (std::size_t i = moments.size() - 1; i-- > 0;)
    for (const IdMoment::Change& change : moments[i]->changes) {
      entries_[change.index] = change.was;
      changed_.push_back(change.index);
    }
  const std::size_t indices = moments.front()->indices;
  const auto goes = [&](std::uint32_t index) {
    const DirectoryEntry now = storage_.ids_.slot(index);
    if (now.locator.has_row() && (index >= indices || !same(without_place(now), entries_[index])))
      gone_.push_back({index, now.generation});
  };
  for (const std::uint32_t index : changed_)
    if (index < indices) goes(index);
  for (std::size_t index = indices; index < storage_.ids_.indices(); ++index) goes(static_cast<std::uint32_t>(index));
}

void IdMoments::put(const IdMoment& moment) {
  Storage::Ids& ids = storage_.ids_;
  bool ranges_changed = false;
  for (std::size_t index = moment.indices; index < ids.indices(); ++index)
    ranges_changed = ranges_changed || is_returned(ids.slot(static_cast<std::uint32_t>(index)));
  for (const std::uint32_t index : changed_) {
    if (index >= moment.indices) continue;
    const DirectoryEntry was = entries_[index];
    DirectoryEntry& entry = ids.slot(index);
    ranges_changed = ranges_changed || is_returned(entry) || is_returned(was);
    if (was.locator.has_row())
      entry.generation = was.generation;
    else
      entry = was;
    storage_.mark_id(index);
  }
  // The page that loses its last ids changes, too.
  if (ids.indices() > moment.indices) storage_.mark_id(static_cast<std::uint32_t>(moment.indices - 1));
  entries_.resize(moment.indices);
  ids.rewind(moment.indices, moment.first_free, moment.end_free, moment.retired,
             [&](std::uint64_t number) { return free_[number - free_first_]; });
  free_.rewind(free_.popped(), free_.popped() + (moment.end_free - free_first_),
               [](std::uint64_t) { return std::uint32_t{0}; });
  returned_ = moment.returned;
  if (ranges_changed) storage_.returned_ = *returned_;
}

std::size_t IdMoments::bytes() const noexcept {
  return entries_.size() * sizeof(DirectoryEntry) + free_.size() * sizeof(std::uint32_t);
}

}  // namespace muster
