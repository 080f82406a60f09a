#include "server/mirror/seen_world.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include "schema/kinds.h"

namespace muster {
namespace {

constexpr std::uint32_t block_rows = 16;  // number of rows compared at a time

/// Sorts the entities by index in two passes. For many entities, a comparison sort would need
/// sixteen or more passes.
void sort_by_index(std::vector<Entity>& entities) {
  constexpr std::uint32_t bits = 11, values = 1u << bits;
  std::uint32_t largest = 0;
  for (const Entity e : entities) largest = std::max(largest, e.index);
  std::vector<Entity> other(entities.size());
  std::vector<std::uint32_t> ends(values);
  for (std::uint32_t shift = 0; shift < 32 && (shift == 0 || largest >> shift > 0); shift += bits) {
    std::ranges::fill(ends, 0);
    const auto digit = [&](Entity e) { return (e.index >> shift) & (values - 1); };
    for (const Entity e : entities) ++ends[digit(e)];
    std::uint32_t begin = 0;
    for (std::uint32_t& end : ends) begin += std::exchange(end, begin);
    for (const Entity e : entities) other[ends[digit(e)]++] = e;
    entities.swap(other);
  }
  // Few entities share an index, so sort those separately here.
  for (std::size_t i = 1; i < entities.size(); ++i)
    for (std::size_t k = i; k > 0 && entities[k] < entities[k - 1]; --k) std::swap(entities[k], entities[k - 1]);
}

std::shared_ptr<std::vector<Entity>> take_entities(Look& look, std::uint32_t number, std::uint32_t rows) {
  auto made = std::make_shared<std::vector<Entity>>(rows);
  look.columns.take(number, reinterpret_cast<std::byte*>(made->data()));
  return made;
}

}  // namespace

void sort_unique(std::vector<Entity>& entities) {
  // The entities are usually sorted already.
  if (std::ranges::adjacent_find(entities, std::ranges::greater_equal()) == entities.end()) return;
  if (entities.size() > 2048)
    sort_by_index(entities);
  else
    std::ranges::sort(entities);
  const auto doubles = std::ranges::unique(entities);
  entities.erase(doubles.begin(), doubles.end());
}

void merge_unique(std::vector<Entity>& entities, std::size_t sorted) {
  const auto middle = entities.begin() + static_cast<std::ptrdiff_t>(sorted);
  if (!std::is_sorted(middle, entities.end())) std::sort(middle, entities.end());
  std::vector<Entity> merged;
  merged.reserve(entities.size());
  std::set_union(entities.begin(), middle, middle, entities.end(), std::back_inserter(merged));
  const auto doubles = std::ranges::unique(merged);
  merged.erase(doubles.begin(), doubles.end());
  entities.swap(merged);
}

const SeenWorld::Found& SeenWorld::take_in(Look& look) {
  found_ = {};
  given_.reset();
  std::erase_if(all_given_, [](const auto& state) { return state.expired(); });
  if (all_given_.empty()) copied_ = 0;
  lesser_kinds_.forget_unused();
  ++look_;
  sequence_ = look.sequence;
  clock_ns_ = look.clock_ns;
  if (look.wanted) want(*look.wanted);
  take_in(std::move(look.texts));
  find_departed(look);
  for (const Look::ChunkNews& news : look.chunks) place_rows(news);
  note_departed();
  for (const Look::ChunkNews& news : look.chunks) take_values(look, news);
  look.finish();
  for (Look::Links& links : look.links) take_links(links);

  for (std::size_t i = 0; i < findings_.size(); ++i) {
    Finding& finding = findings_[i];
    finding.is_new = false;
    finding.before.clear();
    if (finding.changed.empty()) continue;
    found_.values.push_back({columns_[i].type, std::exchange(finding.changed, {})});
    sort_unique(found_.values.back().entities);
  }
  sort_unique(found_.structure);
  sort_unique(found_.kinds);
  moved_.clear();
  departed_.clear();
  return found_;
}

/// Texts used by a returned state are kept until that state is destroyed.
void SeenWorld::take_in(TextNews texts) {
  if (texts.anew) {
    texts_ = std::make_shared<SeenTexts>();
    texts_gone_.clear();
  }
  texts_gone_.insert(texts_gone_.end(), texts.gone.begin(), texts.gone.end());
  if (all_given_.empty())
    for (const std::uint64_t hash : std::exchange(texts_gone_, {})) texts_->erase(hash);
  for (auto& [hash, text] : texts.came) {
    std::erase(texts_gone_, hash);
    (*texts_)[hash] = std::move(text);
  }
}

std::shared_ptr<const SeenState> SeenWorld::state() {
  auto state = given_.lock();
  if (!state) {
    state = std::make_shared<const SeenState>(*this);
    given_ = state;
    all_given_.push_back(state);
  }
  return state;
}

void SeenWorld::clear() {
  const std::uint64_t look = look_;
  static_cast<SeenState&>(*this) = SeenState();
  look_ = look + 1;
  findings_.clear();
  given_.reset();
  all_given_.clear();
  texts_gone_.clear();
  lesser_kinds_.clear();
  copied_ = 0;
}

std::size_t SeenWorld::bytes() const {
  std::size_t sum = 0;
  for (const Column& column : columns_) {
    sum += column.copies.capacity() * sizeof column.copies[0];
    for (std::uint32_t number = 0; number < chunks_.size(); ++number)
      if (column.of(number)) sum += std::size_t{column.size} * chunks_[number].ids->size();
  }
  return sum;
}

/// Removes the columns of components that are no longer watched, and adds empty columns for
/// components that are newly watched. The Look that is being taken in fills the new columns.
void SeenWorld::want(const std::vector<SeenType>& wanted) {
  std::vector<Column> columns;
  std::vector<Finding> findings;
  for (const SeenType& type : wanted) {
    const auto known = std::ranges::lower_bound(columns_, type.id, {}, &Column::type);
    const bool is_known = known != columns_.end() && known->type == type.id;
    // If the size differs, no entity had this component before.
    columns.push_back(is_known && known->size == type.size
                          ? std::move(*known)
                          : Column{.type = type.id, .size = type.size, .descriptor = type.type, .copies = {}});
    findings.push_back({.is_new = !is_known, .before = {}, .changed = {}});
  }
  columns_ = std::move(columns);
  findings_ = std::move(findings);
}

/// Called if the chunk's set of rows has changed or if the chunk was removed. The chunk's previous
/// content is kept while the Look is being taken in.
void SeenWorld::leave(std::uint32_t number, bool gone) {
  Chunk& chunk = chunks_[number];
  if (!gone) moved_numbers_[number] = static_cast<std::uint32_t>(moved_.size());
  moved_.push_back({std::move(chunk.kinds), std::move(chunk.ids)});
  chunk = {};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    findings_[i].before.emplace_back();
    if (number < columns_[i].copies.size()) findings_[i].before.back() = std::move(columns_[i].copies[number]);
  }
}

/// Returns the kind of each row in the chunk, or null if no row lacks a component.
std::shared_ptr<const SeenKinds::Each> SeenWorld::each_kind(Look& look, const Look::ChunkNews& news) {
  if (news.says_first == news.says_last) return nullptr;
  said_.resize(news.says_last - news.says_first);
  for (std::size_t i = 0; i < said_.size(); ++i) {
    const Look::Column& says = look.says[news.says_first + i];
    said_[i].type = says.type;
    said_[i].rows.assign(news.rows, 1);
    look.columns.take(says.number, reinterpret_cast<std::byte*>(said_[i].rows.data()));
  }
  return lesser_kinds_.of_rows(news.kind, said_);
}

void SeenWorld::find_departed(Look& look) {
  std::uint32_t numbers = static_cast<std::uint32_t>(chunks_.size());
  for (const Look::ChunkNews& news : look.chunks) numbers = std::max(numbers, news.number + 1);
  chunks_.resize(numbers);
  moved_numbers_.assign(numbers, no_chunk);
  for (const std::uint32_t number : look.gone)
    if (number < numbers && chunks_[number].uid != 0) leave(number, true);
  for (const Look::ChunkNews& news : look.chunks) {
    Chunk& chunk = chunks_[news.number];
    if (news.rows_moved()) {
      if (chunk.uid != 0) leave(news.number, chunk.uid != news.uid);
      chunk.uid = news.uid;
      chunk.depth = news.depth;
      chunk.kinds = {news.kind, each_kind(look, news)};
      chunk.ids = take_entities(look, news.ids, news.rows);
    }
    if (news.parents != Look::no_column) chunk.parents = take_entities(look, news.parents, news.rows);
  }
  // Compare the kinds as a whole, so that an entity that gained or lost a component in place counts
  // as having left its row.
  const auto stayed = [&](Entity e, const Moved& before, std::uint32_t row, const Chunk* now) {
    return now && row < now->ids->size() && (*now->ids)[row] == e &&
           (!(before.kinds.each || now->kinds.each) || &before.kinds.at(row) == &now->kinds.at(row));
  };
  std::vector<const Chunk*> now(moved_.size());
  for (std::uint32_t number = 0; number < numbers; ++number)
    if (moved_numbers_[number] != no_chunk) now[moved_numbers_[number]] = &chunks_[number];
  for (std::uint32_t i = 0; i < moved_.size(); ++i)
    for (std::uint32_t row = 0; row < moved_[i].ids->size(); ++row)
      if (const Entity e = (*moved_[i].ids)[row]; !stayed(e, moved_[i], row, now[i])) departed_.push_back({e, i, row});
  std::ranges::sort(departed_, std::less());
}

SeenState::Places& SeenWorld::own_places(std::uint32_t page) {
  if (page >= places_.size()) places_.resize(page + 1);
  std::shared_ptr<Places>& own = places_[page];
  if (!own) {
    own = std::make_shared<Places>();
  } else if (own.use_count() > 1) {
    own = std::make_shared<Places>(*own);
    copied_ += sizeof(Places);
  }
  return *own;
}

void SeenWorld::place_rows(const Look::ChunkNews& news) {
  const Chunk& chunk = chunks_[news.number];
  if (!news.rows_moved() && news.parents == Look::no_column) return;
  for (std::uint32_t row = 0; row < news.rows; ++row) {
    const Entity parent = news.depth > 0 ? (*chunk.parents)[row] : Entity{};
    put((*chunk.ids)[row], {(*chunk.ids)[row].generation, news.number, row, chunk.kinds.at(row).number, parent});
  }
}

void SeenWorld::put(Entity e, const Place& now) {
  if (const Place* const known = place_of(e.index); known && known->generation == now.generation &&
                                                    known->chunk == now.chunk && known->row == now.row &&
                                                    known->kind == now.kind && known->parent == now.parent)
    return;
  Places& page = own_places(e.index >> page_bits);
  Place& place = page.places[e.index & (page_indices - 1)];
  const bool same = place.generation == e.generation;
  if (!(same && place.kind == now.kind)) found_.kinds.push_back(e);
  if (!(same && place.parent == now.parent)) {
    if (place.generation != 0 && !same) found_.structure.push_back({e.index, place.generation});
    found_.structure.push_back(e);
  }
  if (place.generation == 0) {
    ++page.count;
    ++entities_;
  }
  place = now;
}

/// Records the entities that have lost a component or have been destroyed.
void SeenWorld::note_departed() {
  for (const auto& [e, moved, row] : departed_) {
    const Place* at = place(e);
    if (at && !(chunks_[at->chunk].ids && at->row < chunks_[at->chunk].ids->size() &&
                (*chunks_[at->chunk].ids)[at->row] == e))
      at = nullptr;
    const SeenKind* const now = at ? &chunks_[at->chunk].kinds.at(at->row) : nullptr;
    const SeenKind& before = moved_[moved].kinds.at(row);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!findings_[i].is_new && before.has(columns_[i].type) && !(now && now->has(columns_[i].type)))
        findings_[i].changed.push_back(e);
    if (at || !place(e)) continue;
    Places& page = own_places(e.index >> page_bits);
    page.places[e.index & (page_indices - 1)] = {};
    --entities_;
    found_.structure.push_back(e);
    if (--page.count == 0) places_[e.index >> page_bits].reset();
  }
}

std::shared_ptr<std::byte[]> SeenWorld::make_block(const Column& column, std::size_t rows) const {
  // Round the size up, so that the next copy of the chunk usually fits into the same memory.
  constexpr std::size_t step = 16;
  return std::make_shared_for_overwrite<std::byte[]>(column.size * ((rows + step - 1) / step * step));
}

void SeenWorld::take_values(Look& look, const Look::ChunkNews& news) {
  if (news.rows_moved()) {
    std::uint32_t at = news.first;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!news.kind->has(columns_[i].type)) continue;
      const bool has_values = at < news.last && look.values[at].type == columns_[i].type;
      compare_moved(i, look, news, has_values ? look.values[at].number : Look::no_column);
      if (has_values) ++at;
    }
    return;
  }
  for (std::uint32_t at = news.first; at < news.last; ++at) {
    const auto column = std::ranges::lower_bound(columns_, look.values[at].type, {}, &Column::type);
    compare(static_cast<std::size_t>(column - columns_.begin()), look, news, look.values[at].number);
  }
}

/// Takes in a chunk in which no row has moved.
void SeenWorld::compare(std::size_t at, Look& look, const Look::ChunkNews& news, std::uint32_t number) {
  Column& column = columns_[at];
  Finding& finding = findings_[at];
  const std::size_t size = column.size, bytes = size * news.rows;
  if (column.copies.size() <= news.number) column.copies.resize(news.number + 1);
  std::shared_ptr<std::byte[]>& own = column.copies[news.number];
  if (finding.is_new) {
    own = make_block(column, news.rows);
    if (!look.columns.take(number, own.get())) std::memset(own.get(), 0, bytes);
    return;
  }
  fresh_.resize(bytes);
  if (!look.columns.take(number, fresh_.data())) return;
  const std::byte* const values = fresh_.data();
  const std::vector<Entity>& ids = *chunks_[news.number].ids;
  for (std::uint32_t first = 0; first < news.rows; first += block_rows) {
    const std::uint32_t end = std::min(first + block_rows, news.rows);
    const std::size_t part = (end - first) * size;
    if (std::memcmp(own.get() + first * size, values + first * size, part) == 0) continue;
    for (std::uint32_t row = first; row < end; ++row)
      if (std::memcmp(own.get() + row * size, values + row * size, size) != 0) finding.changed.push_back(ids[row]);
    if (own.use_count() > 1) {
      const std::shared_ptr<std::byte[]> shared = std::exchange(own, make_block(column, news.rows));
      std::memcpy(own.get(), shared.get(), bytes);
      copied_ += bytes;
    }
    std::memcpy(own.get() + first * size, values + first * size, part);
  }
}

/// Takes in a new chunk, or one whose rows have changed or moved.
void SeenWorld::compare_moved(std::size_t at, Look& look, const Look::ChunkNews& news, std::uint32_t number) {
  Column& column = columns_[at];
  Finding& finding = findings_[at];
  const std::size_t size = number == Look::no_column ? 0 : column.size;
  std::shared_ptr<std::byte[]> made;
  if (size > 0) {
    made = make_block(column, news.rows);
    if (!look.columns.take(number, made.get())) std::memset(made.get(), 0, size * news.rows);
  }
  const std::byte* const values = made.get();
  const std::vector<Entity>& ids = *chunks_[news.number].ids;
  const SeenKinds& kinds = chunks_[news.number].kinds;
  const std::uint32_t moved = moved_numbers_[news.number];
  const std::byte* const before = moved == no_chunk ? nullptr : finding.before[moved].get();
  const bool had = moved != no_chunk && (before || size == 0);
  const std::span<const Entity> ids_before =
      had ? std::span<const Entity>(*moved_[moved].ids) : std::span<const Entity>();
  const bool alike = !kinds.each && !(had && moved_[moved].kinds.each);
  for (std::uint32_t first = 0; first < news.rows && !finding.is_new; first += block_rows) {
    const std::uint32_t end = std::min(first + block_rows, news.rows);
    // Even in a chunk with moved rows, most rows have not moved.
    if (alike && end <= ids_before.size() && std::equal(ids.begin() + first, ids.begin() + end, &ids_before[first]) &&
        (size == 0 || std::memcmp(before + first * size, values + first * size, (end - first) * size) == 0))
      continue;
    for (std::uint32_t row = first; row < end; ++row) {
      const Entity e = ids[row];
      const bool stayed = row < ids_before.size() && ids_before[row] == e;
      if (!alike && !kinds.at(row).has(column.type)) continue;
      const bool had_here = stayed && (alike || moved_[moved].kinds.at(row).has(column.type));
      if (size == 0) {
        if (stayed ? !had_here : !had_before(at, e)) finding.changed.push_back(e);
        continue;
      }
      const std::byte* const old = had_here ? before + row * size : stayed ? nullptr : value_before(at, e);
      if (!old || std::memcmp(old, values + row * size, size) != 0) finding.changed.push_back(e);
    }
  }
  if (size == 0) return;
  if (column.copies.size() <= news.number) column.copies.resize(news.number + 1);
  column.copies[news.number] = std::move(made);
}

/// Returns the value before the current Look, or null if the entity had none.
const std::byte* SeenWorld::value_before(std::size_t at, Entity e) const {
  const auto departed = std::ranges::lower_bound(departed_, Departed{.entity = e}, std::less());
  if (departed == departed_.end() || departed->entity != e) return nullptr;
  const SeenKinds& kinds = moved_[departed->moved].kinds;
  if (kinds.each && !kinds.at(departed->row).has(columns_[at].type)) return nullptr;
  const std::byte* const copy = findings_[at].before[departed->moved].get();
  return copy ? copy + std::size_t{departed->row} * columns_[at].size : nullptr;
}

bool SeenWorld::had_before(std::size_t at, Entity e) const {
  const auto departed = std::ranges::lower_bound(departed_, Departed{.entity = e}, std::less());
  return departed != departed_.end() && departed->entity == e &&
         moved_[departed->moved].kinds.at(departed->row).has(columns_[at].type);
}

/// Records changed links, but only those of living entities, because deaths are sent as structure.
void SeenWorld::take_links(Look::Links& taken) {
  if (taken.page >= links_.size()) links_.resize(taken.page + 1);
  const std::shared_ptr<Hierarchy::Page> before = std::exchange(links_[taken.page], std::move(taken.links));
  constexpr std::uint32_t entities = 1u << Hierarchy::page_bits;
  for (std::uint32_t i = 0; i < entities; ++i) {
    static constexpr Links none{};
    const Links& was = before ? before->links[i] : none;
    const Links& now = links_[taken.page]->links[i];
    if (was.previous == now.previous && was.children == now.children) continue;
    if (const Entity e = entity(taken.page * entities + i)) found_.links.push_back(e);
  }
}

}  // namespace muster
