#include "server/mirror/looks.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "registry/host.h"

namespace muster {
namespace {

constexpr std::size_t line = 64;                     // size of a cache line in bytes
constexpr std::uint64_t no_uid = ~std::uint64_t{0};  // not used by any chunk

/// Prefetches the headers of the chunks that will be visited next. In a world with many archetypes,
/// most of the time spent creating a Look goes to waiting for the headers of unchanged chunks.
void ask_ahead(const Storage& storage, std::uint32_t number) {
  constexpr std::uint32_t ahead = 12;
  if (number + ahead >= storage.chunk_numbers()) return;
  const auto* const next = reinterpret_cast<const std::byte*>(storage.chunk(number + ahead));
  if (!next) return;
  for (std::size_t at = 0; at < 3 * line; at += line) __builtin_prefetch(next + at);
}

/// Returns true if any column was written, including ids and parents. Does not access the
/// archetype, which is stored elsewhere. Unused version slots after the last column contain 0, so
/// they have no effect.
bool is_written(const Chunk& chunk, std::uint64_t since) {
  const std::size_t slots = (chunk.header_lines * line - sizeof(Chunk)) / sizeof(ColumnSlot);
  return std::ranges::any_of(std::span(chunk.slots(), slots),
                             [&](const ColumnSlot& slot) { return slot.version > since; });
}

}  // namespace

Looks::~Looks() {
  for (const auto& look : read_) registry_.host().remove_preserver(look->columns);
}

void Looks::want(TypeId component) {
  Wanted& wanted = wanted_[component];
  if (++wanted.users == 1) wanted_changed_ = true;
}

void Looks::drop(TypeId component) {
  const auto at = wanted_.find(component);
  if (at == wanted_.end() || --at->second.users > 0) return;
  wanted_.erase(at);
  wanted_changed_ = true;
}

void Looks::want_links() {
  if (++link_users_ == 1) links_new_ = true;
}

void Looks::drop_links() { --link_users_; }

void Looks::want_texts() {
  if (++text_users_ == 1) texts_anew_ = true;
}

void Looks::drop_texts() {
  if (--text_users_ > 0) return;
  std::vector<std::uint64_t>().swap(texts_told_);
}

bool Looks::is_free() {
  std::erase_if(read_, [&](const std::shared_ptr<Look>& look) {
    if (!look->done()) return false;
    registry_.host().remove_preserver(look->columns);
    // A column could not be copied because memory ran out, so the next Look contains everything.
    if (look->columns.given_up()) {
      for (std::uint64_t& uid : seen_)
        if (uid != 0) uid = no_uid;  // if the chunk disappears, it is still reported as removed
      looked_ = 0;
    }
    return true;
  });
  return read_.empty();
}

void Looks::forget() {
  seen_.clear();
  kind_numbers_.clear();
  links_told_.clear();
  kinds_.clear();
  for (auto& [type, wanted] : wanted_) wanted.is_new = true;
  wanted_changed_ = true;
  links_new_ = link_users_ > 0;
  texts_anew_ = text_users_ > 0;
  looked_ = 0;
}

std::shared_ptr<Look> Looks::take() {
  is_free();
  notice_swap();
  auto look = std::make_shared<Look>();
  look->sequence = registry_.sequence();
  look->clock_ns = registry_.now_ns();
  const std::uint64_t since = looked_;
  looked_ = registry_.host().begin_version();
  // Remove the kinds of archetypes that have no entities.
  if (kinds_.size() > 2 * registry_.host().storage().archetypes().size() + 64)
    std::erase_if(kinds_, [](const auto& kind) { return kind.second.use_count() == 1; });
  look_at(*look, since);
  const auto size_of = [&](TypeId type) {
    const auto* const stored = registry_.host().storage().component(type);
    return stored ? stored->saved_size() : 0;
  };
  for (const auto& [type, wanted] : wanted_) wanted_changed_ = wanted_changed_ || wanted.size != size_of(type);
  if (wanted_changed_) {
    auto all = std::make_shared<std::vector<SeenType>>();
    for (auto& [type, wanted] : wanted_) {
      wanted.is_new = false;
      wanted.size = size_of(type);
      all->push_back({type, wanted.size, registry_.types().find(type)});
    }
    look->wanted = std::move(all);
    wanted_changed_ = false;
  }
  if (link_users_ > 0) look_at_links(*look, since);
  look->texts = take_texts();
  if (look->values.empty() && look->chunks.empty()) return look;
  registry_.host().add_preserver(look->columns);
  read_.push_back(look);
  return look;
}

void Looks::look_at(Look& look, std::uint64_t since) {
  const Storage& storage = registry_.host().storage();
  const std::uint32_t numbers = storage.chunk_numbers();
  if (seen_.size() < numbers) seen_.resize(numbers);
  const bool any_new = std::ranges::any_of(wanted_, [](const auto& each) { return each.second.is_new; });
  const Archetype* last = nullptr;
  for (std::uint32_t number = 0; number < seen_.size(); ++number) {
    ask_ahead(storage, number);
    const Chunk* const chunk = number < numbers ? storage.chunk(number) : nullptr;
    if (!chunk) {
      if (std::exchange(seen_[number], 0) != 0) look.gone.push_back(number);
      continue;
    }
    if (seen_[number] == uid_of(*chunk) && !any_new && !is_written(*chunk, since)) continue;
    if (chunk->archetype != std::exchange(last, chunk->archetype)) find_columns(*chunk->archetype);
    look_at(look, *chunk, since, any_new);
  }
}

void Looks::look_at(Look& look, const Chunk& chunk, std::uint64_t since, bool any_new) {
  const Archetype& archetype = *chunk.archetype;
  const auto is_newer = [&](std::uint16_t slot) {
    return slot != muster::no_column && chunk.slots()[slot].version > since;
  };
  // If a row's set of components has changed, the row is reported as having moved into this chunk.
  const bool moved = seen_[chunk.number] != uid_of(chunk) || chunk.slots()[column_ids].version > since ||
                     (archetype.enableable && std::ranges::any_of(archetype.presences, is_newer));
  seen_[chunk.number] = uid_of(chunk);
  Look::ChunkNews news{.uid = uid_of(chunk),
                       .kind = nullptr,
                       .number = chunk.number,
                       .depth = chunk.depth,
                       .rows = chunk.count,
                       .first = static_cast<std::uint32_t>(look.values.size())};
  if (moved) news.ids = add(look, chunk, column_ids, column_ids, sizeof(Entity));
  if (chunk.depth > 0 && (moved || chunk.slots()[column_parents].version > since))
    news.parents = add(look, chunk, column_parents, column_parents, sizeof(Entity));
  for (const Column& column : columns_) {
    const ColumnSlot& slot = chunk.slots()[column.slot];
    if (!moved && slot.version <= since && !(any_new && column.is_new)) continue;
    const std::size_t size = archetype.slot_types[column.slot]->saved_size();
    look.values.push_back({column.type, add(look, chunk, column.slot, column.type, size)});
  }
  news.last = static_cast<std::uint32_t>(look.values.size());
  if (!moved && news.parents == Look::no_column && news.first == news.last) return;
  news.kind = kind_of(archetype);
  news.says_first = static_cast<std::uint32_t>(look.says.size());
  if (moved && archetype.enableable)
    for (std::size_t i = 0; i < archetype.types.size(); ++i)
      if (const std::uint16_t slot = archetype.presences[i]; slot != muster::no_column)
        look.says.push_back(
            {archetype.types[i], add(look, chunk, slot, archetype.slot_types[slot]->id, sizeof(PresenceWord))});
  news.says_last = static_cast<std::uint32_t>(look.says.size());
  look.chunks.push_back(std::move(news));
}

std::uint32_t Looks::add(Look& look, const Chunk& chunk, std::uint32_t slot, std::uint32_t id, std::size_t size) {
  return look.columns.add(chunk.uid, id, {chunk.slots()[slot].data, size * chunk.count});
}

/// Finds those watched columns of the archetype that have values.
void Looks::find_columns(const Archetype& archetype) {
  columns_.clear();
  auto wanted = wanted_.begin();
  for (std::size_t i = 0; i < archetype.types.size(); ++i) {
    while (wanted != wanted_.end() && wanted->first < archetype.types[i]) ++wanted;
    if (wanted == wanted_.end()) return;
    const std::uint16_t slot = archetype.columns[i];
    if (wanted->first == archetype.types[i] && slot != muster::no_column &&
        archetype.slot_types[slot]->saved_size() > 0)
      columns_.push_back({wanted->first, slot, wanted->second.is_new});
  }
}

std::shared_ptr<const SeenKind> Looks::kind_of(const Archetype& archetype) {
  std::shared_ptr<const SeenKind>& known = kinds_[archetype.number];
  if (known) return known;
  std::vector<TypeId> types(archetype.types.begin(), archetype.types.end());
  const auto number = kind_numbers_.try_emplace(types, static_cast<std::uint32_t>(kind_numbers_.size())).first->second;
  return known = std::make_shared<const SeenKind>(SeenKind{number, std::move(types)});
}

void Looks::notice_swap() {
  if (std::exchange(swaps_, registry_.host().swaps()) == registry_.host().swaps()) return;
  kinds_.clear();
  links_new_ = link_users_ > 0;
  texts_anew_ = text_users_ > 0;
}

void Looks::look_at_links(Look& look, std::uint64_t since) {
  const Hierarchy& hierarchy = registry_.host().hierarchy();
  const bool all = std::exchange(links_new_, false);
  for (std::uint32_t number = 0; number < std::max<std::size_t>(hierarchy.pages(), links_told_.size()); ++number) {
    const Hierarchy::Page* const page = number < hierarchy.pages() ? hierarchy.page(number) : nullptr;
    if (page && (all || page->version > since)) {
      look.links.push_back({number, std::make_unique<Hierarchy::Page>(*page)});
      if (links_told_.size() <= number) links_told_.resize(number + 1);
      links_told_[number] = true;
    } else if (!page && number < links_told_.size() && links_told_[number]) {
      // The registry has returned to a state without this page.
      look.links.push_back({number, std::make_unique<Hierarchy::Page>()});
      links_told_[number] = false;
    }
  }
}

/// The table keeps interned texts in order of arrival, so removed texts can be found by traversing
/// both lists in parallel.
TextNews Looks::take_texts() {
  TextNews news;
  if (text_users_ == 0) return news;
  if (std::exchange(texts_anew_, false)) {
    texts_told_.clear();
    news.anew = true;
  } else if (text_drops_ != registry_.host().texts().drops()) {
    std::size_t at = 0;
    std::erase_if(texts_told_, [&](std::uint64_t hash) {
      if (at < registry_.host().texts().size() && registry_.host().texts().at(at).hash == hash) {
        ++at;
        return false;
      }
      news.gone.push_back(hash);
      return true;
    });
  }
  text_drops_ = registry_.host().texts().drops();
  for (std::size_t i = texts_told_.size(); i < registry_.host().texts().size(); ++i) {
    const Text text = registry_.host().texts().at(i);
    news.came.emplace_back(text.hash, registry_.text(text));
    texts_told_.push_back(text.hash);
  }
  return news;
}

}  // namespace muster
