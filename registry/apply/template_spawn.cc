// The parts of Structure that spawn and merge templates. All checks are made before the first row
// is created, so that a refusal has no effect.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "messages/batch_builder.h"
#include "registry/apply/structure.h"
#include "registry/apply/template.h"
#include "schema/table.h"

namespace muster {

namespace {

constexpr TypeId name_component = TypeTraits<Name>::id;
constexpr TypeId spawn_type = TypeTraits<Spawn>::id;
constexpr TypeId merge_type = TypeTraits<MergeTemplate>::id;

}  // namespace

void Structure::give_up_reserved(std::span<const Entity> ids) {
  for (const Entity e : ids)
    if (storage_.in_state(e, IdState::reserved)) storage_.give_up(e);
}

Entity Structure::named_twice(std::span<const Entity> ids) {
  const auto ascending = [](Entity a, Entity b) { return a < b; };
  if (std::ranges::adjacent_find(ids, [&](Entity a, Entity b) { return !ascending(a, b); }) == ids.end()) return {};
  subtree_.assign(ids.begin(), ids.end());
  std::ranges::sort(subtree_, ascending);
  const auto twice = std::ranges::adjacent_find(subtree_);
  return twice == subtree_.end() ? Entity{} : *twice;
}

// --- plans ---

void Structure::plan_node(TemplateTable::Entry& entry, std::uint32_t number, bool named) {
  const Template& what = *entry.what;
  const Template::Node& node = what.nodes()[number];
  TemplateTable::NodePlan& plan = entry.plans[number];
  types_scratch_.clear();
  if (named) types_scratch_.push_back(name_component);
  for (const Template::Value& value : what.components(node)) types_scratch_.push_back(value.type);
  if (number == 0)
    for (const RowSetEntry& row : entry.root_rows) types_scratch_.push_back(row.type);
  std::ranges::sort(types_scratch_);
  const auto doubles = std::ranges::unique(types_scratch_);
  types_scratch_.erase(doubles.begin(), doubles.end());
  plan.archetype = &storage_.archetype(types_scratch_);
  plan.copies.clear();
  plan.patches.clear();
  for (const Template::Value& value : what.components(node)) {
    if (value.bytes == 0) continue;
    const std::uint16_t slot = plan.archetype->column(value.type);
    plan.copies.push_back({slot, value.bytes, value.at});
    for (const TemplateReference& reference : what.references(value))
      plan.patches.push_back({slot, value.bytes, reference.offset, reference.node});
  }
  plan.name_slot = named ? plan.archetype->column(name_component) : no_column;
}

void Structure::plan_root(TemplateTable::Entry& entry, bool named) {
  plan_node(entry, 0, named);
  entry.root_named = named;
  entry.root_row_copies.clear();
  const Archetype& archetype = *entry.plans[0].archetype;
  for (const RowSetEntry& row : entry.root_rows)
    if (const std::uint16_t slot = archetype.column(row.type); slot < archetype.pod_slots)
      entry.root_row_copies.push_back({slot, archetype.slot_types[slot]->size, row.offset});
  entry.patched = entry.patched || !entry.plans[0].patches.empty();
  if (!entry.tree.blocks.empty()) plan_block(entry, 0, std::array<std::uint32_t, 1>{0});
}

void Structure::plan_spawn(TemplateTable::Entry& entry, bool named, const RowSetSpan& rows) {
  entry.plans.resize(entry.what->size());
  if (!entry.tree.blocks.empty() && entry.root_named == named && same_rows(entry.root_rows, rows)) return;
  entry.root_rows.assign(rows.begin(), rows.end());
  plan_root(entry, named);
  for (std::uint32_t i = 1; i < entry.what->size(); ++i)
    if (!entry.plans[i].archetype) plan_node(entry, i, static_cast<bool>(entry.what->nodes()[i].name));
  if (entry.tree.blocks.empty()) plan_tree(entry);
}

void Structure::plan_block(TemplateTable::Entry& entry, std::uint32_t number, std::span<const std::uint32_t> nodes) {
  const Template& what = *entry.what;
  TreePlan::Block& block = entry.tree.blocks[number];
  Archetype& archetype = *entry.plans[nodes.front()].archetype;
  block.columns.clear();  // keeps the memory
  block.values.clear();
  block = {.archetype = &archetype,
           .depth = what.nodes()[nodes.front()].depth,
           .rows = static_cast<std::uint32_t>(nodes.size()),
           .columns = std::move(block.columns),
           .values = std::move(block.values)};
  for (std::uint16_t slot = column_first; slot < static_cast<std::uint16_t>(archetype.pod_slots); ++slot) {
    const std::uint32_t size = archetype.slot_bytes[slot];
    std::vector<std::byte>& values = block.values;
    block.columns.push_back(
        {.slot = slot, .size = size, .bytes = size * block.rows, .at = static_cast<std::uint32_t>(values.size())});
    for (const std::uint32_t node : nodes) {
      const std::size_t at = values.size();
      const TemplateTable::NodePlan& plan = entry.plans[node];
      values.resize(at + size);
      if (archetype.slot_types[slot]->is_presence) values[at] = std::byte{1};
      for (const auto& copy : plan.copies)
        if (copy.slot == slot) std::memcpy(values.data() + at, what.data() + copy.at, size);
      if (slot == plan.name_slot) std::memcpy(values.data() + at, &what.nodes()[node].name, sizeof(Name));
    }
  }
}

void Structure::plan_tree(TemplateTable::Entry& entry) {
  const Template& what = *entry.what;
  TreePlan& tree = entry.tree;
  std::vector<Links> links(what.size());               // indexed by node number
  std::vector<std::vector<std::uint32_t>> nodes{{0}};  // indexed by block
  // The block and row of each node.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places(what.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> blocks;  // by depth and archetype number
  for (std::uint32_t i = 1; i < what.size(); ++i) {
    const Template::Node& node = what.nodes()[i];
    const auto [block, fresh] = blocks.try_emplace({node.depth, entry.plans[i].archetype->number}, nodes.size());
    if (fresh) nodes.emplace_back();
    places[i] = {static_cast<std::uint32_t>(block->second), static_cast<std::uint32_t>(nodes[block->second].size())};
    nodes[block->second].push_back(i);
    entry.patched = entry.patched || !entry.plans[i].patches.empty();
    Links& above = links[node.parent];
    links[i].previous = above.last_child;
    (above.last_child ? links[above.last_child].next : above.first_child) = i;
    above.last_child = i;
    ++above.children;
  }
  for (std::uint32_t i = 1; i < what.size(); ++i) {
    const auto [block, row] = places[i];
    const bool goes_on = i > 1 && links[i].previous == i - 1 && places[i - 1].first == block;
    if (goes_on)
      ++tree.siblings.back().count;
    else
      tree.siblings.push_back({.first = i,
                               .count = 1,
                               .block = block,
                               .row = row,
                               .parent = what.nodes()[i].parent,
                               .previous = links[i].previous,
                               .next = 0});
    tree.siblings.back().next = links[i].next;
  }
  std::vector<std::uint8_t> left_out(what.size());  // indexed by node: 1 if the children's names
                                                    // are left out
  for (std::uint32_t i = 0; i < what.size(); ++i) {
    const Template::Node& node = what.nodes()[i];
    if (links[i].children) tree.parents.push_back({i, links[i].first_child, links[i].last_child, links[i].children});
    if (i == 0 || !node.name) continue;
    if (links[node.parent].children > Names::left_out_max)
      entry.listed.push_back(i);
    else if (!std::exchange(left_out[node.parent], 1))
      entry.unlisted.push_back(node.parent);
  }
  tree.blocks.resize(nodes.size());
  for (std::uint32_t block = 0; block < nodes.size(); ++block) plan_block(entry, block, nodes[block]);
}

// --- Spawn ---

Refusal Structure::spawn_all(const Spawn& message, std::span<const Entity> ids, const std::byte* payload,
                             const RowSetSpan& rows) {
  const auto refused = [&](RefusalCode code, Entity e, FieldId field = 0, TypeId type = spawn_type) {
    give_up_reserved(ids);
    return Refusal{code, e, type, field};
  };
  TemplateTable::Entry* const entry = templates_.find(message.what);
  if (!entry) return refused(RefusalCode::unknown_template, ids[0], hash32("what"));
  const std::uint32_t size = entry->what->size();
  if (ids.size() % size != 0) return refused(RefusalCode::wrong_targets, ids[0]);
  // The ids are nearly always valid, so taking them also serves as the check.
  Refusal refusal = judge_spawn(message, ids, size, rows);
  if (refusal.code != RefusalCode::none || !storage_.take_given(ids)) {
    for (const Entity e : ids)
      if (!storage_.can_be_made(e)) return refused(RefusalCode::id_not_granted, e);
    if (const Entity twice = named_twice(ids)) return refused(RefusalCode::id_not_granted, twice);
    if (refusal.code != RefusalCode::none) return refused(refusal.code, ids[0], refusal.field, refusal.type);
  }

  plan_spawn(*entry, static_cast<bool>(message.name), rows);
  const std::uint32_t depth = message.parent ? hierarchy_.depth(message.parent) + 1 : 0;
  for (std::size_t tree = 0; tree < ids.size(); tree += size)
    spawn_tree(*entry, message, ids.subspan(tree, size), depth, payload);
  return {};
}

Refusal Structure::judge_spawn(const Spawn& message, std::span<const Entity> ids, std::uint32_t size,
                               const RowSetSpan& rows) {
  const auto refused = [](RefusalCode code, const char* field) { return Refusal{code, {}, spawn_type, hash32(field)}; };
  if (message.parent && !storage_.alive(message.parent)) return refused(RefusalCode::dead_entity, "parent");
  if (message.before &&
      (!message.parent || !storage_.alive(message.before) || hierarchy_.parent(message.before) != message.parent))
    return refused(RefusalCode::before_is_no_child, "before");
  if (!texts_.knows(message.name)) return refused(RefusalCode::bad_name, "name");
  if (message.name && message.clash == NameClash::refuse &&
      (ids.size() > size || names_.find(message.parent, message.name)))
    return refused(RefusalCode::name_taken, "name");
  return judge(rows);
}

void Structure::spawn_taken(const HostCall&, TemplateTable::Entry& entry, const Spawn& message,
                            std::span<const Entity> ids) {
  const std::uint32_t depth = message.parent ? hierarchy_.depth(message.parent) + 1 : 0;
  if (!tree_rows_.fits(entry.tree, depth)) [[unlikely]]
    return spawn_tree(entry, message, ids, depth, nullptr);
  spawn_rows(entry, ids, message.parent);
  if (message.parent) link(ids[0], message.parent, {});
}

void Structure::spawn_tree(TemplateTable::Entry& entry, const Spawn& message, std::span<const Entity> ids,
                           std::uint32_t depth, const std::byte* payload) {
  const bool whole = tree_rows_.fits(entry.tree, depth);
  const Row root = whole ? spawn_rows(entry, ids, message.parent) : spawn_node(entry, 0, ids, depth, message.parent);
  for (const auto& copy : entry.root_row_copies)
    copy_value(root.at(copy.slot, copy.size), payload + copy.at, copy.size);
  if (message.name) {
    const Text name = names_.free_name(message.parent, message.name, texts_);
    reinterpret_cast<Name*>(root.at(entry.plans[0].name_slot, sizeof(Name)))->text = name;
    names_.add(message.parent, name, ids[0]);
  }
  if (message.parent) link(ids[0], message.parent, message.before);
  if (whole) return;
  for (std::uint32_t i = 1; i < ids.size(); ++i) spawn_child(entry, i, ids, depth);
}

Row Structure::spawn_rows(const TemplateTable::Entry& entry, std::span<const Entity> ids, Entity parent) {
  const Row root = tree_rows_.make(entry.tree, ids, parent);
  for (const std::uint32_t i : entry.listed)
    names_.add(ids[entry.what->nodes()[i].parent], entry.what->nodes()[i].name, ids[i]);
  for (const std::uint32_t node : entry.unlisted) names_.leave_out(ids[node]);
  if (entry.patched) [[unlikely]]
    for (std::size_t i = 0; i < ids.size(); ++i) patch(entry.plans[i], i == 0 ? root : storage_.find(ids[i]), ids);
  return root;
}

Row Structure::spawn_node(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                          std::uint32_t depth, Entity parent) {
  const TemplateTable::NodePlan& plan = entry.plans[number];
  const std::byte* const values = entry.what->data();
  const Row row = storage_.create(ids[number], *plan.archetype, depth, parent);
  for (const auto& copy : plan.copies) copy_value(row.at(copy.slot, copy.size), values + copy.at, copy.size);
  patch(plan, row, ids);
  return row;
}

void Structure::patch(const TemplateTable::NodePlan& plan, Row row, std::span<const Entity> ids) {
  for (const auto& patch : plan.patches)
    std::memcpy(row.at(patch.slot, patch.size) + patch.offset, &ids[patch.node], 8);
}

void Structure::spawn_child(const TemplateTable::Entry& entry, std::uint32_t number, std::span<const Entity> ids,
                            std::uint32_t depth) {
  const Template::Node& node = entry.what->nodes()[number];
  const Entity parent = ids[node.parent];
  const Row row = spawn_node(entry, number, ids, depth + node.depth, parent);
  if (node.name) {
    reinterpret_cast<Name*>(row.at(entry.plans[number].name_slot, sizeof(Name)))->text = node.name;
    names_.add(parent, node.name, ids[number]);
  }
  link(ids[number], parent, {});
}

// --- MergeTemplate ---

Refusal Structure::merge_all(const MergeTemplate& message, std::span<const Entity> ids) {
  const auto refused = [&](RefusalCode code, Entity e, FieldId field = 0) {
    give_up_reserved(ids);
    return Refusal{code, e, merge_type, field};
  };
  TemplateTable::Entry* const entry = templates_.find(message.what);
  if (!entry) return refused(RefusalCode::unknown_template, ids[0], hash32("what"));
  const Template& what = *entry->what;
  if (ids.size() != what.size()) return refused(RefusalCode::wrong_targets, ids[0]);
  if (!storage_.alive(ids[0])) return refused(RefusalCode::dead_entity, ids[0]);
  if (const Entity twice = named_twice(ids)) return refused(RefusalCode::wrong_targets, twice);
  merged_.clear();
  previously_.assign(ids.size(), 0);
  previously_[0] = 1;
  for (std::uint32_t i = 1; i < ids.size(); ++i) {
    const Template::Node& node = what.nodes()[i];
    const Entity there = previously_[node.parent] && node.name ? names_.find(ids[node.parent], node.name) : Entity{};
    if (there && there != ids[i]) return refused(RefusalCode::name_taken, ids[i]);
    if (!there && !storage_.can_be_made(ids[i])) return refused(RefusalCode::id_not_granted, ids[i]);
    previously_[i] = there ? 1 : 0;
  }

  entry->plans.resize(what.size());
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    const Template::Node& node = what.nodes()[i];
    if (previously_[i]) {
      merge_node(what, node, ids, ids[i]);
      continue;
    }
    // Plans a node only when a row needs its archetype: archetype numbers are part of the state,
    // and plans are not.
    if (!entry->plans[i].archetype) plan_node(*entry, i, static_cast<bool>(node.name));
    spawn_child(*entry, i, ids, storage_.find(ids[0]).chunk->depth);
  }
  return {};
}

void Structure::merge_node(const Template& what, const Template::Node& node, std::span<const Entity> ids, Entity e) {
  Row row = storage_.find(e);
  const Archetype& from = *row.chunk->archetype;
  types_scratch_ = from.types;
  for (const Template::Value& value : what.components(node))
    if (!from.has(value.type)) types_scratch_.push_back(value.type);
  merge_had_.clear();
  for (const Template::Value& value : what.components(node)) merge_had_.push_back(row.has(value.type));
  std::ranges::sort(types_scratch_);
  Archetype* const to =
      types_scratch_.size() == from.types.size() ? row.chunk->archetype : &storage_.archetype(types_scratch_);
  if (to != &from)
    row = storage_.move(e, *to, row.chunk->depth, row.chunk->depth ? row.chunk->parents()[row.row] : Entity{});
  for (std::size_t i = 0; const Template::Value& value : what.components(node)) {
    const bool had = merge_had_[i++];
    if (!had) {
      merged_.push_back({e, value.type, true});
      if (const std::uint16_t presence = to->presence(value.type); presence != no_column)
        storage_.enable(row, presence);
    }
    if (value.bytes == 0) continue;
    const std::uint16_t slot = to->column(value.type);
    std::byte* const at = row.at(slot, value.bytes);
    const std::byte* const bytes = what.data() + value.at;
    storage_.touch(*row.chunk, slot);
    if (!had)
      std::memcpy(at, bytes, value.bytes);
    else
      merge_before_.assign(at, at + value.bytes);
    for (const TemplateSpan& span : what.spans(value)) std::memcpy(at + span.offset, bytes + span.offset, span.bytes);
    for (const TemplateReference& reference : what.references(value)) {
      const auto given = [&](const TemplateSpan& span) {
        return reference.offset >= span.offset && reference.offset - span.offset < span.bytes;
      };
      if (!had || std::ranges::any_of(what.spans(value), given))
        std::memcpy(at + reference.offset, &ids[reference.node], 8);
    }
    if (had && std::memcmp(at, merge_before_.data(), value.bytes) != 0) merged_.push_back({e, value.type, false});
  }
}

// --- DefineTemplate ---

Refusal Structure::define(std::span<const std::byte> table) {
  return edited(TypeTraits<DefineTemplate>::id, {}, nullptr, {}, table, [&] { return define_one(table); });
}

Refusal Structure::define_one(std::span<const std::byte> table) {
  const auto defined = DefineTemplateView::from(table);
  const Text name = text_of(defined.name());
  auto what = Template::read(defined, types_);
  if (!what) return what.error();
  // The names in this template. Two of them might have the same hash.
  std::map<Text, std::string_view> own;
  const auto collides = [&](std::string_view text) {
    return texts_.collides(text) || own.emplace(text_of(text), text).first->second != text;
  };
  bool collision = collides(defined.name());
  for (const std::string_view text : defined.texts()) collision = collision || collides(text);
  for (const TemplateNodeView node : defined.nodes()) collision = collision || collides(node.name());
  if (collision) return {RefusalCode::text_collision, {}, TypeTraits<DefineTemplate>::id, 0};
  if ((*what)->size() == 0) {
    templates_.forget(name);
    return {};
  }
  texts_.intern(defined.name());
  for (const std::string_view text : defined.texts()) texts_.intern(text);
  for (const TemplateNodeView node : defined.nodes()) texts_.intern(node.name());
  TemplateTable::Entry& entry = templates_.put(name);
  entry = {};
  entry.what = std::move(*what);
  BatchBuilder alone;
  alone.append_table(TypeTraits<DefineTemplate>::id, {}, table);
  const std::span<const std::byte> batch = alone.bytes();
  entry.batch.assign(batch.begin(), batch.end());
  entry.version = storage_.version();
  return {};
}

}  // namespace muster
