#include "server/session/seen_now.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "messages/type_table.h"
#include "registry/host.h"

namespace muster {
namespace {

/// Returns the names in a path such as "/town/gate". "/" has none.
std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') {
      names.emplace_back();
      continue;
    }
    if (path[i] == '\\' && i + 1 < path.size()) ++i;
    names.back() += path[i];
  }
  if (names.size() == 1 && names.front().empty()) names.clear();
  return names;
}

}  // namespace

SeenPlaces places_of(const EntityRegistry& registry, const Sight& sight) {
  SeenPlaces made;
  std::uint32_t order = 0;
  std::vector<Entity> shown;
  for (const RuleEntry& entry : sight.places()) {
    ++order;
    const Entity at = entry.what == "/" ? Entity{} : registry.find_path(entry.what);
    if (!at && entry.what != "/") continue;
    made.places_.insert_or_assign(at, SeenPlaces::Place{.order = order, .shows = entry.allows});
    if (entry.allows) shown.push_back(at);
  }
  for (const Entity place : shown) {
    const SeenPlaces::Place* const decides = place ? made.deciding(registry, place) : nullptr;
    if (!decides || !decides->shows) continue;
    for (Entity at = registry.parent(place); at; at = registry.parent(at)) made.above_.insert(at);
  }
  return made;
}

void SeenNow::follow_paths() {
  paths_.clear();
  for (const RuleEntry& entry : sight_->places()) {
    Path path{.entry = &entry, .found = {}, .parent = {}};
    const std::vector<std::string> names = names_in(entry.what);
    Entity at;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i + 1 == names.size()) {
        path.parent = at;
        path.last_name = hash64(names[i]);
        path.has_parent = true;
      }
      at = registry_.find_child(at, names[i]);
      if (!at) break;
      path.found.push_back(at);
    }
    paths_.push_back(std::move(path));
  }
}

const std::shared_ptr<const SeenPlaces>& SeenNow::places() {
  const std::uint64_t sequence = registry_.sequence(), swaps = registry_.host().swaps();
  if (places_ && sequence == sequence_ && swaps == swaps_) return places_;
  sequence_ = sequence;
  swaps_ = swaps;
  follow_paths();
  SeenPlaces now = places_of(registry_, *sight_);
  if (!places_ || !(*places_ == now)) places_ = std::make_shared<const SeenPlaces>(std::move(now));
  return places_;
}

const std::shared_ptr<const HiddenTypes>& SeenNow::hidden() {
  const std::size_t known = registry_.types().types().size();
  if (hidden_ && known == types_known_) return hidden_;
  types_known_ = known;
  HiddenTypes now = hidden_types(registry_.types(), *sight_);
  if (!hidden_ || *hidden_ != now) hidden_ = std::make_shared<const HiddenTypes>(std::move(now));
  return hidden_;
}

std::uint32_t SeenNow::child_count(Entity e) {
  const std::shared_ptr<const SeenPlaces> places = this->places();
  if (e && places->empty()) return registry_.child_count(e);
  std::uint32_t count = 0;
  if (e) {
    for (Entity child = registry_.first_child(e); child; child = registry_.next_sibling(child))
      count += places->sees(registry_, child) ? 1 : 0;
    return count;
  }
  const auto& ids = registry_.host().storage().ids();
  for (std::uint32_t index = 1; index < ids.indices(); ++index) {
    const Entity root{index, ids.slot(index).generation};
    count += registry_.alive(root) && registry_.depth(root) == 0 && places->sees(registry_, root) ? 1 : 0;
  }
  return count;
}

std::vector<TypeId> SeenNow::components(Entity e) {
  const auto all = registry_.host().components(e);
  std::vector<TypeId> seen(all.begin(), all.end());
  const HiddenTypes& hides = *hidden();
  std::erase_if(seen, [&](TypeId type) { return hides.contains(type); });
  return seen;
}

bool SeenNow::may_place(Entity parent, Text name) {
  (void)places();
  if (parent && !sees(parent)) return false;
  // The last entry that names the new entity or an entity above it decides.
  bool may = true;
  for (const Path& path : paths_) {
    const bool is_root = path.entry->what == "/";
    const bool is_it = path.has_parent && path.parent == parent && path.last_name == name.hash;
    bool is_above = false;
    if (!path.found.empty() && path.found.size() == names_in(path.entry->what).size())
      for (Entity at = parent; at && !is_above; at = registry_.parent(at)) is_above = at == path.found.back();
    if (is_root || is_it || is_above) may = path.entry->allows;
  }
  return may;
}

std::string SeenNow::named_at_or_below(Entity e) {
  (void)places();
  for (const Path& path : paths_)
    if (std::ranges::find(path.found, e) != path.found.end()) return path.entry->what;
  return {};
}

std::shared_ptr<SeenNow> SeenNows::of(const std::shared_ptr<const Sight>& sight) {
  if (!sight) return nullptr;
  std::erase_if(all_, [](const auto& each) { return each.expired(); });
  for (const auto& each : all_)
    if (auto known = each.lock(); known && known->sight() == sight) return known;
  auto made = std::make_shared<SeenNow>(registry_, sight);
  all_.push_back(made);
  return made;
}

}  // namespace muster
