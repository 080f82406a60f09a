#include "client/import/model_messages.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/utf8.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {
namespace {

/// The components of one entity, as bits. Entities with the same components share batches.
enum Component : unsigned { has_mesh = 1, has_shape = 2, has_color = 4, has_light = 8, has_camera = 16, all_sets = 32 };

unsigned components_of(const ImportedEntity& e) {
  unsigned set = 0;
  if (e.mesh) set |= has_mesh | (e.mesh->bounds ? has_shape : 0u) | (e.mesh->color ? has_color : 0u);
  if (e.light) set |= has_light;
  if (e.camera) set |= has_camera;
  return set;
}

RowSet row_set(unsigned components) {
  std::vector<PayloadShape> shapes;
  const auto add = [&]<class C>(std::in_place_type_t<C>) {
    shapes.push_back({TypeTraits<C>::id, sizeof(C), alignof(C)});
  };
  add(std::in_place_type<scene::Transform>);
  if (components & has_mesh) add(std::in_place_type<scene::MeshReference>);
  if (components & has_shape) add(std::in_place_type<scene::Shape>);
  if (components & has_color) add(std::in_place_type<scene::Color>);
  if (components & has_light) add(std::in_place_type<scene::Light>);
  if (components & has_camera) add(std::in_place_type<scene::Camera>);
  return RowSet(PayloadShape::of<Create>(), shapes);
}

/// Interns each text once.
class Texts {
 public:
  explicit Texts(BatchWriter& out) : out_(out) {}

  Text intern(const std::string& text) {
    if (text.empty()) return {};
    if (known_.insert(text).second) {
      encode(InternText{.text = text}, bytes_);
      out_.append_table(TypeTraits<InternText>::id, {}, bytes_);
    }
    return {hash64(text)};
  }

 private:
  BatchWriter& out_;
  std::vector<std::byte> bytes_;
  std::unordered_set<std::string> known_;
};

/// Returns a name with a suffix, such as "name~2". Truncates the name, at a character boundary, to
/// a length that a world accepts.
std::string with_suffix(std::string_view name, unsigned number) {
  const std::string suffix = '~' + std::to_string(number);
  if (name.size() + suffix.size() > name_bytes_max)
    name = name.substr(0, utf8_prefix(name.substr(0, name_bytes_max - suffix.size())));
  return std::string(name) + suffix;
}

/// Returns the prefix that a name shares with all names that become identical when truncated to
/// make room for a suffix. Suffixes are counted for all of these names together, so that no two
/// names ever produce the same result.
std::string_view stem(std::string_view name) {
  constexpr std::size_t suffix_bytes_max = 8;  // length of "~1000000"
  if (name.size() + suffix_bytes_max <= name_bytes_max) return name;
  return name.substr(0, utf8_prefix(name.substr(0, name_bytes_max - suffix_bytes_max)));
}

/// Returns the names of the entities, made unique among siblings. The first of several equal names
/// is unchanged. Names from the file take precedence over generated names.
std::vector<std::string> unique_names(const ImportedModel& model, const std::string& root_name) {
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> children;
  std::vector<std::string> names;
  for (const ImportedEntity& entity : model.entities) {
    if (entity.parent != ImportedEntity::no_parent)
      children[entity.parent].push_back(static_cast<std::uint32_t>(names.size()));
    names.push_back(entity.name);
  }
  if (!root_name.empty()) names[0] = root_name;
  for (const auto& [parent, siblings] : children) {
    std::unordered_set<std::string> taken;
    std::vector<std::uint32_t> equal;
    for (const bool is_named : {true, false})
      for (const std::uint32_t child : siblings)
        if (model.entities[child].is_named == is_named && !names[child].empty() && !taken.insert(names[child]).second)
          equal.push_back(child);
    // Assign suffixes only after all names that remain unchanged are known. The search for each
    // stem continues where the previous search for that stem ended. Otherwise, ten thousand equal
    // names would take fifty million attempts.
    std::unordered_map<std::string, unsigned> next;
    for (const std::uint32_t child : equal) {
      unsigned& suffix = next.try_emplace(std::string(stem(names[child])), 2u).first->second;
      std::string candidate;
      do candidate = with_suffix(names[child], suffix++);
      while (!taken.insert(candidate).second);
      names[child] = std::move(candidate);
    }
  }
  return names;
}

struct Row {
  Text name, mesh, asset;
};

void put(BatchWriter& out, const RowSet& rows, const ImportedEntity& e, const Row& row, Entity id,
         const Create& create) {
  std::byte* const payload = out.append_rows(rows, id);
  const auto value = [&]<class C>(const C& component) {
    std::memcpy(payload + rows.offset(TypeTraits<C>::id), &component, sizeof component);
  };
  std::memcpy(payload, &create, sizeof create);
  value(e.transform);
  if (e.mesh) {
    value(scene::MeshReference{.asset = row.asset, .mesh = row.mesh, .index = e.mesh->index});
    if (e.mesh->bounds) value(*e.mesh->bounds);
    if (e.mesh->color) value(*e.mesh->color);
  }
  if (e.light) value(*e.light);
  if (e.camera) value(*e.camera);
}

}  // namespace

std::string free_name(std::string_view name, const std::function<bool(std::string_view)>& is_taken) {
  std::string candidate(name);
  for (unsigned suffix = 2; is_taken(candidate); ++suffix) candidate = with_suffix(name, suffix);
  return candidate;
}

void append_model(BatchWriter& out, const ImportedModel& model, const ModelPlacement& placement,
                  std::span<const Entity> ids) {
  const std::vector<std::string> names = unique_names(model, placement.root_name);
  const auto count = static_cast<std::uint32_t>(model.entities.size());

  std::vector<Row> rows(count);
  {
    Texts texts(out);
    for (std::uint32_t i = 0; i < count; ++i) {
      rows[i].name = texts.intern(names[i]);
      if (const auto& mesh = model.entities[i].mesh) {
        rows[i].mesh = texts.intern(mesh->name);
        rows[i].asset = texts.intern(placement.asset);
      }
    }
  }

  std::map<std::uint32_t, std::vector<std::uint32_t>> levels;
  for (std::uint32_t i = 0; i < count; ++i) levels[model.entities[i].depth].push_back(i);
  std::vector<RowSet> sets(all_sets);
  std::vector<bool> made(count);
  std::vector<Entity> before(count);
  for (const auto& [depth, level] : levels) {
    std::vector<std::vector<std::uint32_t>> groups(all_sets);
    for (const std::uint32_t i : level) groups[components_of(model.entities[i])].push_back(i);

    // Each group is inserted among the siblings created by earlier groups at this level. Each child
    // goes before the nearest later sibling that already exists. The loop runs from back to front,
    // and `following` holds that later sibling for each parent.
    for (unsigned set = 0; set < all_sets; ++set) {
      if (groups[set].empty()) continue;
      if (sets[set].entries().empty()) sets[set] = row_set(set);
      std::unordered_map<std::uint32_t, Entity> following;
      for (const auto i : std::views::reverse(level)) {
        const std::uint32_t parent = model.entities[i].parent;
        if (made[i])
          following[parent] = ids[i];
        else if (components_of(model.entities[i]) == set)
          if (const auto found = following.find(parent); found != following.end()) before[i] = found->second;
      }
      for (const std::uint32_t i : groups[set]) {
        const ImportedEntity& entity = model.entities[i];
        const Entity parent = entity.parent == ImportedEntity::no_parent ? placement.parent : ids[entity.parent];
        put(out, sets[set], entity, rows[i], ids[i],
            Create{.parent = parent, .before = before[i], .name = rows[i].name});
        made[i] = true;
      }
    }
    if (depth == 0) out.seal();
  }
}

std::string missing_import_types(const TypeTable& types) {
  std::string missing;
  const auto check = [&]<class T>(std::in_place_type_t<T>) {
    const TypeDescriptor* const known = types.find(TypeTraits<T>::id);
    if (!missing.empty()) return;
    if (!known)
      missing =
          "the world has no type " + std::string(TypeTraits<T>::name) + "; its schema must include schema/scene.fbs";
    else if (known->fingerprint != TypeTraits<T>::fingerprint)
      missing = "the world's " + std::string(TypeTraits<T>::name) +
                " has a different layout in the world than in this program; use the version that made the world";
  };
  check(std::in_place_type<Create>);
  check(std::in_place_type<InternText>);
  check(std::in_place_type<scene::Transform>);
  check(std::in_place_type<scene::MeshReference>);
  check(std::in_place_type<scene::Shape>);
  check(std::in_place_type<scene::Color>);
  check(std::in_place_type<scene::Light>);
  check(std::in_place_type<scene::Camera>);
  return missing;
}

}  // namespace muster
