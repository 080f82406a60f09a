// Rules that other code relies on:
//
// - Create and Rename specify what happens if a sibling already has the name: `refuse` (for edits)
//   or `suffix` (for handlers, imports, and spawns).
// - A subtree is destroyed in reverse pre-order: children before parents, later siblings first.
// - An archetype is created when a row first needs it, so the numbering of archetypes is part of
//   the state. A Set or a merge moves a row only once.
// - A template is spawned by a single message to the ids of all its nodes. Extra components of the
//   root are the batch's row set; other nodes are changed by separate messages. The template's
//   initial messages, and Activated, Loaded, and Deactivated, are part of the structure message.
//   They are delivered before anything that is queued.
// - Padding is zero in every value, so equal values have equal bytes and hashes can be compared.
#include "registry/apply/structure.h"

#include <algorithm>
#include <cstring>

#include <flatbuffers/flatbuffers.h>

#include "messages/judge/verifier.h"

namespace muster {

namespace {

constexpr TypeId name_type = TypeTraits<Name>::id;
constexpr TypeId child_of_type = TypeTraits<ChildOf>::id;

Refusal refuse(RefusalCode code, Entity e, TypeId type = 0, FieldId field = 0) noexcept {
  return {code, e, type, field};
}

template <class M>
M read(const std::byte* payload) noexcept {
  M message;
  std::memcpy(&message, payload, sizeof message);
  return message;
}

}  // namespace

[[gnu::flatten]] Refusal Structure::apply_one(TypeId message, Entity target, const std::byte* payload,
                                              const RowSetSpan& rows) {
  switch (message) {
    case TypeTraits<Create>::id: return create(target, read<Create>(payload), payload, rows);
    case TypeTraits<Destroy>::id: return destroy(target);
    case TypeTraits<Set>::id: return set(target, read<Set>(payload), payload, rows);
    case TypeTraits<Remove>::id: return remove(target, read<Remove>(payload));
    case TypeTraits<SetField>::id: return set_field(target, read<SetField>(payload), nullptr);
    case TypeTraits<SetFieldIf>::id: {
      const auto message_if = read<SetFieldIf>(payload);
      return set_field(target, message_if.set, message_if.expected.data());
    }
    case TypeTraits<Reparent>::id: return reparent(target, read<Reparent>(payload));
    case TypeTraits<Rename>::id: return rename(target, read<Rename>(payload));
    default: return refuse(RefusalCode::wrong_targets, target, message);
  }
}

void Structure::grant(const Grant& grant) {
  // Only the registry issues grants, so a replayed grant is always valid.
  storage_.grant(grant.first, grant.count);
}

void Structure::return_grant(const ReturnGrant& grant) { storage_.return_grant(grant.first, grant.count); }

Refusal Structure::intern(std::span<const std::byte> table) {
  return edited(TypeTraits<InternText>::id, {}, nullptr, {}, table, [&] {
    bool collision = false;
    texts_.intern(InternTextView::from(table).text(), &collision);
    return collision ? refuse(RefusalCode::text_collision, {}) : Refusal{};
  });
}

void Structure::drop_texts(TextMentions& texts) {
  texts.in(storage_);
  for (const auto& [name, entry] : templates_.entries())
    texts.in(*entry.what,
             DefineTemplateView::from(table_item(BatchView(entry.batch), BatchView(entry.batch).body()).table),
             types_.table());
  for (const Text name : types_.handlers().disabled()) texts.in(name);
  if (!texts.empty()) texts_.drop([&](Text text) { return texts.left(text); });
}

Entity Structure::restore_names() {
  names_.clear();
  for (const auto& archetype : storage_.archetypes()) {
    if (!archetype || !archetype->has(name_type)) continue;
    const std::uint16_t column = archetype->column(name_type);
    for (const Group& group : archetype->groups)
      for (const Chunk* chunk : group.chunks)
        for (std::uint32_t row = 0; row < chunk->count; ++row) {
          const Entity parent = chunk->depth ? chunk->parents()[row] : Entity{};
          const Text text = reinterpret_cast<const Name*>(chunk->slots()[column].data)[row].text;
          if (names_.find(parent, text)) return chunk->ids()[row];
          names_.add(parent, text, chunk->ids()[row]);
        }
  }
  return {};
}

Refusal Structure::judge(const RowSetSpan& rows) {
  for (const RowSetEntry& entry : rows) {
    if (entry.type == name_type || entry.type == child_of_type)
      return refuse(RefusalCode::kept_by_registry, {}, entry.type);
    if (!types_.component(entry.type)) return refuse(RefusalCode::unknown_component, {}, entry.type);
  }
  return {};
}

bool Structure::same_rows(const std::vector<RowSetEntry>& known, const RowSetSpan& rows) noexcept {
  if (known.size() != rows.size()) return false;
  // Compares field by field. A batch may just have been built on the stack, so its rows must be
  // read with the same access widths with which they were written.
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i].type != rows[i].type || known[i].offset != rows[i].offset) return false;
  return true;
}

bool Structure::planned(const RowSetSpan& rows, bool named, const Archetype* from, const RowPlan& p) noexcept {
  return p.to && p.layout == p.to->layout && p.from == from && p.named == named && same_rows(p.rows, rows);
}

const Structure::RowPlan& Structure::plan(const RowSetSpan& rows, bool named, Archetype* from, RowPlan& remembered) {
  RowPlan& p = remembered;
  if (planned(rows, named, from, p)) return p;
  p.rows.assign(rows.begin(), rows.end());
  p.named = named;
  p.from = from;
  p.to = nullptr;
  p.values.clear();
  p.enabled.clear();
  p.refusal = judge(rows);
  if (p.refusal.code != RefusalCode::none) return p;
  types_scratch_.clear();
  if (from) types_scratch_ = from->types;
  if (named) types_scratch_.push_back(name_type);
  for (const RowSetEntry& entry : rows) types_scratch_.push_back(entry.type);
  if (named) types_.need<Name>();
  std::ranges::sort(types_scratch_);
  const auto doubles = std::ranges::unique(types_scratch_);
  types_scratch_.erase(doubles.begin(), doubles.end());
  p.to = &storage_.archetype(types_scratch_);
  p.layout = p.to->layout;
  for (const RowSetEntry& entry : rows)
    if (const std::uint16_t slot = p.to->column(entry.type); slot < p.to->pod_slots)
      p.values.push_back({slot, entry.offset, p.to->slot_types[slot]->size});
  if (p.to->enableable)
    for (const RowSetEntry& entry : rows)
      if (const std::uint16_t slot = p.to->presence(entry.type); slot != no_column) p.enabled.push_back(slot);
  return p;
}

void Structure::write(Row row, const RowPlan& plan, const std::byte* payload, bool fresh) {
  for (const std::uint16_t slot : plan.enabled) storage_.enable(row, slot);
  for (const ValuePlace& value : plan.values) {
    if (!fresh) storage_.touch(*row.chunk, value.slot);
    copy_value(row.at(value.slot, value.size), payload + value.offset, value.size);
  }
}

void Structure::forget_plans() {
  create_plan_ = set_plan_ = {};
  run_plans_ = {};
  templates_.forget_plans();
}

bool Structure::create_many(std::span<const Entity> ids, const std::byte* payload, const RowSetSpan& rows,
                            std::vector<Entity>& refused) {
  // A log receives the outcome of each edit separately.
  if (sender_.session != 0) return false;
  const auto message = read<Create>(payload);
  if (message.parent || message.before || message.name) return false;
  // Archetypes are state, so none is created unless an entity is. The first id is nearly always
  // new.
  if (std::ranges::none_of(ids, [&](Entity e) { return storage_.can_be_made(e); })) return false;
  const RowPlan& plan = this->plan(rows, false, nullptr, create_plan_);
  if (plan.refusal.code != RefusalCode::none || !plan.to->plain()) return false;
  bulk_.create(ids, *plan.to, plan.values, payload, refused);
  return true;
}

void Structure::write_name(Row row, Text name) {
  const std::uint16_t column = row.chunk->archetype->column(name_type);
  storage_.touch(*row.chunk, column);
  reinterpret_cast<Name*>(row.chunk->slots()[column].data)[row.row].text = name;
}

Refusal Structure::create(Entity e, const Create& message, const std::byte* payload, const RowSetSpan& rows) {
  const bool reserved = storage_.in_state(e, IdState::reserved);
  if (!reserved && !storage_.in_state(e, IdState::granted) && !(revives_ && storage_.in_state(e, IdState::parked)))
    return refuse(RefusalCode::id_not_granted, e);
  const auto refused = [&](Refusal refusal) {
    if (reserved) storage_.give_up(e);
    refusal.entity = e;
    return refusal;
  };
  const Row parent = message.parent ? storage_.find(message.parent) : Row{};
  if (message.parent && !parent)
    return refused({RefusalCode::dead_entity, e, TypeTraits<Create>::id, hash32("parent")});
  if (message.before &&
      (!message.parent || !storage_.alive(message.before) || hierarchy_.parent(message.before) != message.parent))
    return refused({RefusalCode::before_is_no_child, e, TypeTraits<Create>::id, hash32("before")});
  Text name = message.name;
  if (!texts_.knows(name)) return refused({RefusalCode::bad_name, e, TypeTraits<Create>::id, hash32("name")});
  const bool clash = name && names_.find(message.parent, name);
  if (clash && message.clash == NameClash::refuse)
    return refused({RefusalCode::name_taken, e, TypeTraits<Create>::id, hash32("name")});
  const RowPlan& plan = this->plan(rows, static_cast<bool>(name), nullptr, create_plan_);
  if (plan.refusal.code != RefusalCode::none) return refused(plan.refusal);
  // free_name() may add a text, so it must be called after all checks.
  if (clash) name = names_.free_name(message.parent, name, texts_);

  const Row row = storage_.create(e, *plan.to, parent ? parent.chunk->depth + 1 : 0, message.parent);
  write(row, plan, payload, true);
  if (name) {
    write_name(row, name);
    names_.add(message.parent, name, e);
  }
  if (message.parent) link(e, message.parent, message.before);
  return {};
}

std::span<const Entity> Structure::doomed(Entity e) {
  subtree_.clear();
  hierarchy_.subtree(e, subtree_);
  std::ranges::reverse(subtree_);
  return subtree_;
}

std::uint32_t Structure::destroy_many(std::span<const Entity> ids, const std::byte* payload) {
  std::uint32_t destroyed = 0;
  edited(TypeTraits<Destroy>::id, ids, payload, {}, {}, [&] {
    if (sender_.session != 0) {
      for (const Entity e : ids)
        if (const Row row = storage_.find(e)) {
          destroy_linked(e, row, true);
          ++destroyed;
        }
      return Refusal{};
    }
    for (std::size_t next = bulk_.destroy(ids, destroyed); next < ids.size();
         next += bulk_.destroy(ids.subspan(next), destroyed)) {
      destroy_linked(ids[next], storage_.find(ids[next]));
      ++destroyed;
      ++next;
    }
    return Refusal{};
  });
  return destroyed;
}

void Structure::destroy_linked(Entity top, Row row, bool park) {
  const Entity parent = hierarchy_.parent(top);
  if (parent) unlink(top, parent);
  if (hierarchy_.children(top) == 0) {
    if (const Text name = name_of(top)) names_.remove(parent, name, texts_.find(name));
    if (parent) hierarchy_.forget(top);
    names_.forget(top);
    storage_.destroy(row, park);
    return;
  }
  for (const Entity e : doomed(top)) {
    if (const Text name = name_of(e)) names_.remove(hierarchy_.parent(e), name, texts_.find(name));
    hierarchy_.forget(e);
    names_.forget(e);
    storage_.destroy(e, park);
  }
}

Refusal Structure::set(Entity e, const Set& message, const std::byte* payload, const RowSetSpan& rows) {
  Row row = storage_.find(e);
  Archetype& from = *row.chunk->archetype;
  const bool known = planned(rows, false, &from, set_plan_);  // and the components can be added
  if (!known)
    if (Refusal refusal = judge(rows); refusal.code != RefusalCode::none) {
      refusal.entity = e;
      return refusal;
    }
  if (message.mode != SetMode::add_or_replace)
    for (const RowSetEntry& entry : rows) {
      const bool has = row.has(entry.type);
      if (message.mode == SetMode::replace && !has) return refuse(RefusalCode::missing_component, e, entry.type);
      if (message.mode == SetMode::add && has) return refuse(RefusalCode::component_there, e, entry.type);
    }
  const RowPlan& plan = known ? set_plan_ : this->plan(rows, false, &from, set_plan_);
  if (plan.to != &from)
    row = storage_.move(e, *plan.to, row.chunk->depth, row.chunk->depth ? row.chunk->parents()[row.row] : Entity{});
  write(row, plan, payload, &from != plan.to);
  return {};
}

Refusal Structure::remove(Entity e, const Remove& message) {
  const Row row = storage_.find(e);
  Archetype& from = *row.chunk->archetype;
  if (message.component == child_of_type) return refuse(RefusalCode::kept_by_registry, e, message.component);
  if (!row.has(message.component))
    return refuse(types_.component(message.component) ? RefusalCode::missing_component : RefusalCode::unknown_component,
                  e, message.component);
  if (const std::uint16_t presence = from.presence(message.component); presence != no_column) {
    const std::uint16_t column = from.column(message.component);
    storage_.disable(row, presence, column, column == no_column ? 0 : from.slot_bytes[column]);
    return {};
  }
  const Entity parent = row.chunk->depth ? row.chunk->parents()[row.row] : Entity{};
  if (message.component == name_type) {
    const Text name = name_of(e);
    names_.remove(parent, name, texts_.find(name));
  }
  storage_.move(e, storage_.without(from, message.component), row.chunk->depth, parent);
  return {};
}

Refusal Structure::set_field(Entity e, const SetField& message, const std::uint8_t* expected) {
  const StoredType* type = types_.component(message.component);
  if (!type) return refuse(RefusalCode::unknown_component, e, message.component);
  if (message.component == name_type || message.component == child_of_type)
    return refuse(RefusalCode::kept_by_registry, e, message.component, message.field);
  const Row row = storage_.find(e);
  const Archetype& archetype = *row.chunk->archetype;
  const std::uint16_t column = archetype.column(message.component);
  // Treats a runtime component as a tag, so that results do not depend on whether this process
  // holds values for that component.
  if (column >= archetype.pod_slots || !row.has(message.component))
    return refuse(RefusalCode::missing_component, e, message.component);
  const FieldPlace* place = types_.table().place(*type->descriptor, message.field);
  if (!place) return refuse(RefusalCode::unknown_field, e, message.component, message.field);
  const std::uint32_t bytes = place->size;  // if the field is an array, the size of the whole array
  if (bytes != message.bytes || bytes > message.value.size())
    return refuse(RefusalCode::wrong_size, e, message.component, message.field);
  std::byte* value = row.at(column, type->size);
  if (expected && std::memcmp(value + place->offset, expected, bytes) != 0)
    return refuse(RefusalCode::value_mismatch, e, message.component, message.field);
  std::vector<std::byte>& changed = field_scratch_;
  changed.assign(value, value + type->size);
  std::memcpy(changed.data() + place->offset, message.value.data(), bytes);
  if (!verify_value(changed, *type->descriptor, types_.table()))
    return refuse(RefusalCode::bad_value, e, message.component, message.field);
  storage_.touch(*row.chunk, column);
  std::memcpy(value, changed.data(), changed.size());
  return {};
}

Refusal Structure::reparent(Entity e, const Reparent& message) {
  if (message.parent && !storage_.alive(message.parent))
    return refuse(RefusalCode::dead_entity, e, TypeTraits<Reparent>::id, hash32("parent"));
  if (message.parent && hierarchy_.is_below(message.parent, e))
    return refuse(RefusalCode::cycle, e, TypeTraits<Reparent>::id, hash32("parent"));
  if (message.before && (message.before == e || !storage_.alive(message.before) || !message.parent ||
                         hierarchy_.parent(message.before) != message.parent))
    return refuse(RefusalCode::before_is_no_child, e, TypeTraits<Reparent>::id, hash32("before"));
  const Entity old_parent = hierarchy_.parent(e);
  const Text name = name_of(e);
  if (name && message.parent != old_parent) {
    if (names_.find(message.parent, name))
      return refuse(RefusalCode::name_taken, e, TypeTraits<Reparent>::id, hash32("parent"));
    names_.remove(old_parent, name, texts_.find(name));
    names_.add(message.parent, name, e);
  }
  const std::uint32_t old_depth = hierarchy_.depth(e);
  const std::uint32_t depth = message.parent ? hierarchy_.depth(message.parent) + 1 : 0;
  if (old_parent && old_parent == message.parent)
    hierarchy_.unlink(e, old_parent);  // the entity is linked again below, so the parent keeps its
                                       // index of names
  else if (old_parent)
    unlink(e, old_parent);
  if (depth != old_depth) {
    subtree_.clear();
    hierarchy_.subtree(e, subtree_);
    if (!bulk_.change_depth(subtree_, old_depth, depth, message.parent))
      for (const Entity below : subtree_) {
        const Row row = storage_.find(below);
        const Entity parent = below == e ? message.parent : row.chunk->parents()[row.row];
        storage_.move(below, *row.chunk->archetype, row.chunk->depth + depth - old_depth, parent);
      }
  } else if (message.parent != old_parent) {
    storage_.set_parent(storage_.find(e), message.parent);
  }
  if (message.parent) link(e, message.parent, message.before);
  return {};
}

Refusal Structure::rename(Entity e, const Rename& message) {
  const Text old_name = name_of(e);
  const Entity parent = hierarchy_.parent(e);
  Text name = message.name;
  if (name == old_name) return {};
  if (name) {
    if (!texts_.knows(name)) return refuse(RefusalCode::bad_name, e, TypeTraits<Rename>::id, hash32("name"));
    if (names_.find(parent, name)) {
      if (message.clash == NameClash::refuse)
        return refuse(RefusalCode::name_taken, e, TypeTraits<Rename>::id, hash32("name"));
      name = names_.free_name(parent, name, texts_);
    }
  }
  Row row = storage_.find(e);
  if (old_name) names_.remove(parent, old_name, texts_.find(old_name));
  if (name && !old_name) {
    types_.need<Name>();
    row = storage_.move(e, storage_.with(*row.chunk->archetype, name_type), row.chunk->depth, parent);
  }
  if (!name) row = storage_.move(e, storage_.without(*row.chunk->archetype, name_type), row.chunk->depth, parent);
  if (name) {
    write_name(row, name);
    names_.add(parent, name, e);
  }
  return {};
}

}  // namespace muster
