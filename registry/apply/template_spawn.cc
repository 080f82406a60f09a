// Spawning and merging templates: the parts of Structure that do it. Everything is looked at before the first row is made,
// so that a refusal leaves nothing behind.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "messages/batch_builder.h"
#include "registry/apply/structure.h"
#include "registry/apply/template.h"
#include "schema/table.h"

namespace muster {

namespace {

constexpr TypeId name_type = TypeTraits<Name>::id;
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
  if (named) types_scratch_.push_back(name_type);
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
  plan.name_slot = named ? plan.archetype->column(name_type) : no_column;
  if (number != 0) return;
  entry.root_named = named;
  entry.root_row_copies.clear();
  for (const RowSetEntry& row : entry.root_rows)
    if (const std::uint16_t slot = plan.archetype->column(row.type); slot < plan.archetype->pod_slots)
      entry.root_row_copies.push_back({slot, plan.archetype->slot_types[slot]->size, row.offset});
}

void Structure::plan_spawn(TemplateTable::Entry& entry, bool named, const RowSetSpan& rows) {
  entry.plans.resize(entry.what->size());
  if (entry.plans[0].archetype && entry.root_named == named && same_rows(entry.root_rows, rows))
    return;  // so are all other nodes
  entry.root_rows.assign(rows.begin(), rows.end());
  plan_node(entry, 0, named);
  for (std::uint32_t i = 1; i < entry.what->size(); ++i)
    if (!entry.plans[i].archetype) plan_node(entry, i, static_cast<bool>(entry.what->nodes()[i].name));
  if (entry.links.empty()) plan_blocks(entry);
}

void Structure::plan_blocks(TemplateTable::Entry& entry) {
  const Template& what = *entry.what;
  entry.links.resize(what.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> blocks;  // by depth and archetype number
  for (std::uint32_t i = 1; i < what.size(); ++i) {
    Archetype* const archetype = entry.plans[i].archetype;
    const std::uint32_t depth = what.nodes()[i].depth;
    const auto [block, fresh] = blocks.try_emplace({depth, archetype->number}, entry.blocks.size());
    if (fresh) entry.blocks.push_back({.archetype = archetype, .depth = depth, .nodes = {}, .columns = {}});
    entry.blocks[block->second].nodes.push_back({i, what.nodes()[i].parent});
    entry.patched = entry.patched || !entry.plans[i].patches.empty();
    Links& above = entry.links[what.nodes()[i].parent];
    entry.links[i].previous = above.last_child;
    (above.last_child ? entry.links[above.last_child].next : above.first_child) = i;
    above.last_child = i;
    ++above.children;
  }
  std::vector<std::uint8_t> left_out(what.size());  // by node: its children's names
  for (std::uint32_t i = 1; i < what.size(); ++i) {
    const Template::Node& node = what.nodes()[i];
    if (!node.name) continue;
    if (entry.links[node.parent].children > Names::left_out_max)
      entry.listed.push_back(i);
    else if (!std::exchange(left_out[node.parent], 1))
      entry.unlisted.push_back(node.parent);
  }
  for (TemplateTable::Block& block : entry.blocks) {
    const auto pod_slots = static_cast<std::uint16_t>(block.archetype->pod_slots);
    for (std::uint16_t slot = column_first; slot < pod_slots; ++slot) {
      const std::uint32_t size = block.archetype->slot_bytes[slot];
      std::vector<std::byte>& bytes = entry.block_bytes;
      block.columns.push_back({slot, size, static_cast<std::uint32_t>(bytes.size())});
      for (const auto& [node, parent] : block.nodes) {
        const std::size_t at = bytes.size();
        bytes.resize(at + size);
        if (block.archetype->slot_types[slot]->is_presence) bytes[at] = std::byte{1};
        for (const auto& copy : entry.plans[node].copies)
          if (copy.slot == slot) std::memcpy(bytes.data() + at, what.data() + copy.at, size);
        if (slot == entry.plans[node].name_slot) std::memcpy(bytes.data() + at, &what.nodes()[node].name, sizeof(Name));
      }
    }
  }
}

// --- Spawn ---

Refusal Structure::spawn(const Spawn& message, std::span<const Entity> ids, const std::byte* payload,
                         const RowSetSpan& rows) {
  const auto refused = [&](RefusalCode code, Entity e, FieldId field = 0, TypeId type = spawn_type) {
    give_up_reserved(ids);
    return Refusal{code, e, type, field};
  };
  TemplateTable::Entry* const entry = templates_.find(message.what);
  if (!entry) return refused(RefusalCode::unknown_template, ids[0], hash32("what"));
  const std::uint32_t size = entry->what->size();
  if (ids.size() % size != 0) return refused(RefusalCode::wrong_targets, ids[0]);
  bool ascending = true;
  std::uint32_t last = 0;
  for (const Entity e : ids) {
    if (!storage_.can_be_made(e)) return refused(RefusalCode::id_not_granted, e);
    ascending = ascending && e.index > last;
    last = e.index;
  }
  if (!ascending)
    if (const Entity twice = named_twice(ids)) return refused(RefusalCode::id_not_granted, twice);
  const Row above = message.parent ? storage_.find(message.parent) : Row{};
  if (message.parent && !above) return refused(RefusalCode::dead_entity, ids[0], hash32("parent"));
  if (message.before &&
      (!message.parent || !storage_.alive(message.before) || hierarchy_.parent(message.before) != message.parent))
    return refused(RefusalCode::before_is_no_child, ids[0], hash32("before"));
  if (!texts_.knows(message.name)) return refused(RefusalCode::bad_name, ids[0], hash32("name"));
  if (message.name && message.clash == NameClash::refuse &&
      (ids.size() > size || names_.find(message.parent, message.name)))
    return refused(RefusalCode::name_taken, ids[0], hash32("name"));
  if (const Refusal refusal = judge(rows); refusal.code != RefusalCode::none)
    return refused(refusal.code, ids[0], 0, refusal.type);

  plan_spawn(*entry, static_cast<bool>(message.name), rows);
  const std::uint32_t depth = above ? above.chunk->depth + 1 : 0;
  for (std::size_t tree = 0; tree < ids.size(); tree += size)
    spawn_tree(*entry, message, ids.subspan(tree, size), depth, payload);
  return {};
}

void Structure::spawn_tree(const TemplateTable::Entry& entry, const Spawn& message, std::span<const Entity> ids,
                           std::uint32_t depth, const std::byte* payload) {
  const Row root = spawn_node(entry, 0, ids, depth, message.parent);
  for (const auto& copy : entry.root_row_copies)
    copy_value(root.at(copy.slot, copy.size), payload + copy.at, copy.size);
  if (message.name) {
    const Text name = names_.free_name(message.parent, message.name, texts_);
    reinterpret_cast<Name*>(root.at(entry.plans[0].name_slot, sizeof(Name)))->text = name;
    names_.add(message.parent, name, ids[0]);
  }
  if (message.parent) link(ids[0], message.parent, message.before);
  const auto has_room = [&](const TemplateTable::Block& block) {
    return storage_.has_room(*block.archetype, depth + block.depth, block.nodes.size());
  };
  if (std::ranges::all_of(entry.blocks, has_room)) return spawn_blocks(entry, ids, depth);
  for (std::uint32_t i = 1; i < ids.size(); ++i) spawn_child(entry, i, ids, depth);
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

void Structure::spawn_blocks(const TemplateTable::Entry& entry, std::span<const Entity> ids, std::uint32_t depth) {
  if (ids.size() == 1) return;
  for (const TemplateTable::Block& block : entry.blocks) {
    const Storage::Run rows = storage_.create_block(ids, std::span(block.nodes), *block.archetype, depth + block.depth);
    const ColumnSlot* const slots = rows.chunk->slots();
    for (const TemplateTable::Block::Column& column : block.columns)
      copy_value(slots[column.slot].data + std::size_t{rows.begin} * column.bytes, entry.block_bytes.data() + column.at,
                 rows.count * column.bytes);
  }
  hierarchy_.link_tree(ids, entry.links);
  const std::span<const Template::Node> nodes = entry.what->nodes();
  for (const std::uint32_t i : entry.listed) names_.add(ids[nodes[i].parent], nodes[i].name, ids[i]);
  for (const std::uint32_t parent : entry.unlisted) names_.leave_out(ids[parent]);
  if (!entry.patched) return;
  for (std::size_t i = 1; i < ids.size(); ++i) patch(entry.plans[i], storage_.find(ids[i]), ids);
}

// --- MergeTemplate ---

Refusal Structure::merge(const MergeTemplate& message, std::span<const Entity> ids) {
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
    // No archetype comes into being that no row needs: their numbers are state, and plans are not.
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
  const auto defined = DefineTemplateView::from(table);
  const Text name = text_of(defined.name());
  auto what = Template::read(defined, types_);
  if (!what) return what.error();
  std::map<Text, std::string_view> own;  // that come with it: two of these may have one hash as well
  const auto collides = [&](std::string_view text) {
    const Text hash = text_of(text);
    if (texts_.knows(hash)) return texts_.find(hash) != text;
    return own.emplace(hash, text).first->second != text;
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
