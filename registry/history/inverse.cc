#include "registry/history/inverse.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/row_set.h"
#include "registry/history/held_data.h"
#include "schema/table.h"

namespace muster::history {

namespace {

constexpr std::uint32_t steps_up_max = 100'000;
constexpr std::size_t looked_ahead = 1u << 15;  // at least the number of Creates in a batch

}  // namespace

UndoReport Inverse::undo(const Step& step, StepAct act, Conflicts conflicts) {
  conflicts_ = conflicts;
  report_.label = step.label;
  edits_.begin_step(step.label, act, step.number);
  make(step);
  return std::move(report_);
}

std::vector<std::byte> Inverse::take_back(const Step& step) {
  exact_ = true;
  conflicts_ = Conflicts::overwrite;
  make(step);
  const std::span<const std::byte> batches = edits_.batches();
  return {batches.begin(), batches.end()};
}

void Inverse::make(const Step& step) {
  step_ = &step;
  revivable_.assign(step.parts.size(), 0);
  for (std::size_t i = 0; i < step.parts.size(); ++i)
    if (step.parts[i].kind == PartKind::destroyed)
      revivable_[i] = std::ranges::all_of(step.parts[i].details->snapshot.rows, [&](const Snapshot::Row& row) {
        return now_.storage().in_state(row.entity, IdState::parked);
      });
  for (std::size_t i = step.parts.size(); i-- > 0;)
    if (!step.parts[i].idle()) part(step.parts[i], i == 0);
  write_fields();
}

void Inverse::part(const Part& part, bool last) {
  if (part.kind != PartKind::field || part.entity != written_ || part.component != written_component_) write_fields();
  switch (part.kind) {
    case PartKind::created: return created(part, last);
    case PartKind::destroyed: return destroyed(part, last);
    case PartKind::defined: return defined(part);
    default: break;
  }
  if (!overlay_.alive(part.entity)) return skip(Skip::not_alive, part);
  if (sight_ && part.component != 0 && !sight_->sees(part.component)) return skip(Skip::component_missing, part);
  switch (part.kind) {
    case PartKind::field: return field(part);
    case PartKind::added: return added(part);
    case PartKind::removed: return removed(part);
    case PartKind::moved: return moved(part);
    default: return renamed(part);
  }
}

// --- one function for each kind of part; the numbers are those of the table in docs/undo.md ---

void Inverse::field(const Part& part) {
  const auto value = overlay_.value(part.entity, part.component);
  const StoredType* const stored = now_.storage().component(part.component);
  if (!value || !stored || stored->descriptor->fingerprint != part.fingerprint ||
      part.offset + part.before.size() > value->size())
    return skip(Skip::component_missing, part);  // 2
  const std::string_view theirs = view_of(value->subspan(part.offset, part.before.size()));
  if (theirs != part.after &&
      conflicts(places_.property(part.entity, part.component, part.offset, part.sequence, step_->user),
                Skip::edited_by_other, part, theirs))
    return;  // 1
  std::string mine = part.before;
  const std::uint32_t cleared =
      clear_references(*stored->descriptor, std::as_writable_bytes(std::span(mine)), part.offset);
  if (theirs == mine) return;
  if (step_->saved) {
    std::string changed(view_of(*value));
    changed.replace(part.offset, mine.size(), mine);
    if (!verify_value(bytes_of(changed), *stored->descriptor, now_.types())) return skip(Skip::component_missing, part);
  }
  report_.nil_references += cleared;
  if (part.details) intern_all(part.details->texts);
  overlay_.write(part.entity, part.component, part.offset, mine);
  written_ = part.entity;
  written_component_ = part.component;
  ++report_.done;
}

void Inverse::added(const Part& part) {
  if (!overlay_.value(part.entity, part.component)) return;  // 5
  if (conflicts(places_.any_property(part.entity, part.component, part.sequence, step_->user), Skip::edited_by_other,
                part))
    return;  // 4
  edits_.append(part.entity, Remove{.component = part.component});
  overlay_.remove(part.entity, part.component);
  ++report_.done;
}

void Inverse::removed(const Part& part) {
  if (overlay_.value(part.entity, part.component)) return skip(Skip::component_exists, part);  // 6
  const StoredType* const stored = now_.storage().component(part.component);
  std::string value = part.before;
  if (!known_layout({part.component, part.bytes, part.fingerprint}) ||
      (step_->saved && part.bytes != 0 && !verify_value(bytes_of(value), *stored->descriptor, now_.types())))
    return skip(Skip::component_missing, part);
  report_.nil_references += clear_references(*stored->descriptor, std::as_writable_bytes(std::span(value)), 0);
  if (part.details) intern_all(part.details->texts);
  set(part.entity, *stored, bytes_of(value), SetMode::add);
  overlay_.put(part.entity, part.component, bytes_of(value));
  ++report_.done;
}

void Inverse::created(const Part& part, bool last) {
  if (!overlay_.alive(part.entity)) return;  // 8
  if (!exact_) {
    Places::User other;
    std::uint64_t newest = part.sequence;
    overlay_.subtree(part.entity, [&](Entity e) {
      if (const Places::User found = places_.entity(e, newest, step_->user, sight_)) other = found;
      return true;
    });
    if (conflicts(other, Skip::worked_on_by_other, part)) return;  // 7
  }
  edits_.append(part.entity, Destroy{});
  if (!last) overlay_.destroy(part.entity);
  ++report_.done;
}

void Inverse::destroyed(const Part& part, bool last) {
  const auto number = static_cast<std::size_t>(&part - step_->parts.data());
  if (!revivable_[number] || (step_->saved && any_alive(part.details->snapshot)))
    return skip(Skip::id_released, part);  // 9
  const Details& details = *part.details;
  Entity parent = details.before.parent, before;
  if (parent && !overlay_.alive(parent)) {
    parent = living_ancestor(parent, details.ancestors);  // 10
    ++report_.other_parents;
  } else {
    before = before_at(details.before, part.entity);
  }
  if (hides(parent, details.snapshot.root_name())) return skip(Skip::not_alive, part);
  const std::string name = free_name(parent, details.snapshot.root_name(), part.entity);  // 11
  create_rows(details.snapshot, parent, before, name);
  if (!exact_) append_held(part);  // managers have not heard of a deletion that is taken back
  if (!last) overlay_.revive(details.snapshot, parent, before, name);
  ++report_.done;
}

void Inverse::moved(const Part& part) {
  const Place place = overlay_.place(part.entity);
  const Details& details = *part.details;
  // A sibling that was recorded may be hidden.
  const bool there = place.parent == details.after.parent && (sight_ || place.next == details.after.next);
  if (!there && conflicts(places_.moved(part.entity, part.sequence, step_->user), Skip::edited_by_other, part))
    return;  // 12
  Entity parent = details.before.parent, before;
  const bool other_parent = parent && !overlay_.alive(parent);
  if (other_parent) parent = living_ancestor(parent, details.ancestors);  // 13
  const bool circle = parent && overlay_.is_below(parent, part.entity);
  if (circle) return skip(Skip::would_be_circle, part);  // 14
  if (!other_parent) before = before_at(details.before, part.entity);
  if (place.parent == parent && (!parent || place.next == before)) return;
  const std::string name(overlay_.name(part.entity));
  if (hides(parent, name)) return skip(Skip::not_alive, part);
  std::string free = name;
  if (parent != place.parent) free = free_name(parent, name, part.entity);  // 11
  if (free != name) edits_.append(part.entity, Rename{});
  edits_.append(part.entity, Reparent{.parent = parent, .before = before});
  if (free != name) edits_.append(part.entity, Rename{.name = intern(free)});
  if (free != name) overlay_.rename(part.entity, {});
  overlay_.move(part.entity, parent, before);
  if (free != name) overlay_.rename(part.entity, free);
  report_.other_parents += other_parent ? 1 : 0;
  ++report_.done;
}

void Inverse::renamed(const Part& part) {
  const std::string_view name = overlay_.name(part.entity);
  if (name != part.after &&
      conflicts(places_.renamed(part.entity, part.sequence, step_->user), Skip::edited_by_other, part))
    return;  // 15
  if (name == part.before) return;
  if (hides(overlay_.parent(part.entity), part.before)) return skip(Skip::not_alive, part);
  const std::string free = free_name(overlay_.parent(part.entity), part.before, part.entity);  // 11
  if (free == name) return;
  edits_.append(part.entity, Rename{.name = intern(free)});
  overlay_.rename(part.entity, free);
  ++report_.done;
}

void Inverse::defined(const Part& part) {
  const std::string& name = part.details->name;
  const std::string_view definition = view_of(now_.definition(name));
  if (definition != part.after &&
      conflicts(places_.defined(name, part.sequence, step_->user), Skip::edited_by_other, part))
    return;  // 16
  if (definition == part.before) return;
  if (part.before.empty()) {
    edits_.append_table(TypeTraits<DefineTemplate>::id, {}, muster::encode(DefineTemplate{.name = name}));
  } else {
    if (!known_definition(bytes_of(part.before))) return skip(Skip::component_missing, part);
    edits_.append_table(TypeTraits<DefineTemplate>::id, {}, bytes_of(part.before));
  }
  ++report_.done;
}

// --- conflicts ---

bool Inverse::conflicts(const Places::User& user, Skip reason, const Part& part, std::string_view theirs) {
  if (!user || conflicts_ == Conflicts::overwrite) return false;
  skip(reason, part, *user, theirs);
  return true;
}

void Inverse::skip(Skip reason, const Part& part, std::uint64_t user, std::string_view theirs) {
  SkippedPart skipped{.reason = reason, .entity = part.entity, .component = part.component, .user = user};
  if (part.kind == PartKind::defined) skipped.field = part.details->name;
  if (part.kind == PartKind::field) {
    if (const TypeDescriptor* const type = now_.types().find(part.component);
        type && type->fingerprint == part.fingerprint)
      skipped.field = property_name(*type, part.offset);
    const auto copy = [](std::string_view from) {
      const std::span<const std::byte> bytes = bytes_of(from);
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    if (user != 0 || reason == Skip::edited_by_other) {
      skipped.mine = copy(part.before);
      skipped.theirs = copy(theirs);
    }
  }
  report_.skipped.push_back(std::move(skipped));
}

bool Inverse::known_layout(const Layout& layout) const {
  return now_.storage().component(layout.type) && now_.layout(layout.type) == layout;
}

bool Inverse::known_definition(std::span<const std::byte> table) const {
  BatchBuilder alone;
  alone.append_table(TypeTraits<DefineTemplate>::id, {}, table);
  if (!verify_batch(alone.bytes(), now_.types(), own_limits)) return false;
  const auto known = [&](const TemplateValueView value) {
    const TypeDescriptor* const type = now_.types().find(value.type());
    return type && type->fingerprint == value.fingerprint();
  };
  for (const TemplateNodeView node : DefineTemplateView::from(table).nodes()) {
    for (const TemplateValueView value : node.components())
      if (!known(value)) return false;
    for (const TemplateValueView value : node.messages())
      if (!known(value)) return false;
  }
  return true;
}

bool Inverse::any_alive(const Snapshot& snapshot) const {
  return std::ranges::any_of(snapshot.rows, [&](const Snapshot::Row& row) { return overlay_.alive(row.entity); });
}

std::uint32_t Inverse::clear_references(const TypeDescriptor& type, std::span<std::byte> value, std::uint32_t offset) {
  std::uint32_t cleared = 0;
  if (exact_) return cleared;
  for (const std::uint32_t at : type.entity_offsets) {
    if (at < offset || at - offset + sizeof(Entity) > value.size()) continue;
    Entity e;
    std::memcpy(&e, value.data() + (at - offset), sizeof e);
    if (!e || now_.alive(e) || now_.storage().in_state(e, IdState::parked)) continue;
    std::memset(value.data() + (at - offset), 0, sizeof e);
    ++cleared;
  }
  return cleared;
}

// --- places and names ---

Entity Inverse::living_ancestor(Entity parent, const std::vector<Entity>& ancestors) const {
  std::size_t known = 0;  // the ancestors from this one on are above `parent`
  // Damaged bytes could form a circle.
  for (std::uint32_t up = 0; parent && !overlay_.alive(parent); ++up) {
    if (up == steps_up_max) return {};
    if (const Entity* const last = parked_.parent(parent)) {
      parent = *last;
    } else {
      parent = known < ancestors.size() ? ancestors[known] : Entity{};
    }
    if (const auto at = std::ranges::find(ancestors, parent); at != ancestors.end())
      known = static_cast<std::size_t>(at - ancestors.begin()) + 1;
  }
  return parent;
}

Entity Inverse::before_at(const Place& place, Entity e) const {
  if (!place.parent) return {};
  const auto child = [&](Entity sibling) {
    return sibling && sibling != e && overlay_.alive(sibling) && overlay_.parent(sibling) == place.parent;
  };
  // Siblings that were recorded may be hidden now.
  if (const Entity next = overlay_.seen_from(place.next); child(next)) return next;
  const Entity previous = overlay_.seen_back_from(place.previous);
  if (!child(previous)) return {};
  const Entity next = overlay_.next(previous);
  return next == e ? overlay_.next(e) : next;
}

std::string Inverse::free_name(Entity parent, std::string_view name, Entity e) {
  const auto free = [&](std::string_view tried) {
    const Entity sibling = overlay_.child(parent, tried);
    return !sibling || sibling == e;
  };
  std::string made(name);
  // While an input is being applied, the registry does not look up names.
  if (name.empty() || exact_ || free(name)) return made;
  ++report_.other_names;
  std::uint32_t& suffix =
      suffixes_.try_emplace(std::to_string(parent.bits()) + "/" + made, FreeSuffixes::first).first->second;
  do made = std::string(name) + "~" + std::to_string(suffix++);
  while (!free(made));
  return made;
}

// --- messages ---

Text Inverse::intern(std::string_view text) {
  const Text made = text_of(text);
  if (made && !now_.knows(made) && interned_.insert(made.hash).second)
    edits_.append_table(TypeTraits<InternText>::id, {}, muster::encode(InternText{.text = std::string(text)}));
  return made;
}

void Inverse::intern_all(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) intern(text);
}

void Inverse::set(Entity e, const StoredType& type, std::span<const std::byte> value, SetMode mode) {
  const PayloadShape shape = PayloadShape::of(*type.descriptor);
  const RowSet rows(PayloadShape::of<Set>(), {&shape, 1});
  std::byte* const payload = edits_.append_rows(rows, e);
  const Set message{.mode = mode};
  std::memcpy(payload, &message, sizeof message);
  if (!value.empty()) std::memcpy(payload + rows.offset(type.id), value.data(), value.size());
}

void Inverse::write_fields() {
  if (!written_) return;
  const auto value = overlay_.value(written_, written_component_);
  set(written_, *now_.storage().component(written_component_), *value, SetMode::replace);
  written_ = {};
}

void Inverse::append_held(const Part& part) {
  const HeldData& held = part.details->held;
  if (held.messages.empty()) return;
  bool known = true;
  for (const Layout& layout : held.types) {
    const TypeDescriptor* const type = now_.types().find(layout.type);
    if (type && type->fingerprint == layout.fingerprint) continue;
    known = false;
    report_.skipped.push_back({.reason = Skip::component_missing, .entity = part.entity, .component = layout.type});
  }
  if (!known || (step_->saved && !are_held_messages(held.messages, part.details->snapshot, now_.types()))) return;
  for_each_batch(held.messages, [&](const BatchView& batch) { edits_.append_batch(batch); });
}

Inverse::RowPlan Inverse::plan(const Snapshot::Shape& shape) const {
  std::vector<PayloadShape> shapes;
  for (const Layout& layout : shape.components)
    if (known_layout(layout)) shapes.push_back(PayloadShape::of(*now_.storage().component(layout.type)->descriptor));
  RowPlan plan{.rows = RowSet(PayloadShape::of<Create>(), shapes), .copies = {}};
  std::uint32_t from = 0, filled = sizeof(Create);
  for (const Layout& layout : shape.components) {
    if (layout.bytes != 0 && known_layout(layout)) {
      const TypeDescriptor* type = now_.storage().component(layout.type)->descriptor;
      if (!step_->saved && type->entity_offsets.empty()) type = nullptr;
      const std::uint32_t to = plan.rows.offset(layout.type);
      filled += layout.bytes;
      RowPlan::Copy* const last = plan.copies.empty() ? nullptr : &plan.copies.back();
      if (last && !type && !last->type && last->from + last->bytes == from && last->to + last->bytes == to)
        last->bytes += layout.bytes;
      else
        plan.copies.push_back({from, to, layout.bytes, type});
    }
    from += layout.bytes;
  }
  const PayloadShape all = plan.rows.shape();
  plan.payload_offset = payload_offset_for(BatchKind::each, false, all.align);
  plan.item_bytes = item_bytes_for(plan.payload_offset, all.bytes, all.align);
  plan.has_gaps = sizeof(Entity) + filled != plan.item_bytes;
  return plan;
}

[[gnu::always_inline]] inline void Inverse::write_row(const RowPlan& plan, const Create& message,
                                                      const std::byte* values, std::byte* payload) {
  std::memcpy(payload, &message, sizeof message);
  for (const RowPlan::Copy& copy : plan.copies) {
    copy_value(payload + copy.to, values + copy.from, copy.bytes);
    if (!copy.type) [[likely]]
      continue;
    const std::span<std::byte> value(payload + copy.to, copy.bytes);
    report_.nil_references += clear_references(*copy.type, value, 0);
    if (step_->saved && !verify_value(value, *copy.type, now_.types()))
      std::ranges::copy(copy.type->default_bytes, value.begin());
  }
}

void Inverse::create_rows(const Snapshot& snapshot, Entity parent, Entity before, std::string_view name) {
  intern_all(snapshot.texts);
  std::vector<RowPlan> plans;
  for (const Snapshot::Shape& shape : snapshot.shapes) plans.push_back(plan(shape));
  const std::vector<Snapshot::Row>& rows = snapshot.rows;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowPlan& plan = plans[rows[i].shape];
    bytes += plan.item_bytes;
    if (i == 0 || rows[i].shape != rows[i - 1].shape)
      bytes += sizeof(BatchHeader) + row_set_bytes(static_cast<std::uint32_t>(plan.rows.entries().size())) + 16;
  }
  edits_.expect(bytes + bytes / 1024);
  const auto create = [&](std::size_t i) {
    return Create{.parent = rows[rows[i].parent].entity, .name = rows[i].name};
  };
  for (std::size_t i = 0; i < rows.size();) {
    const std::uint32_t shape = rows[i].shape;
    const RowPlan& plan = plans[shape];
    const Create first = i == 0 ? Create{.parent = parent, .before = before, .name = intern(name)} : create(i);
    std::byte* const payload = plan.rows.entries().empty() ? edits_.append(PayloadShape::of<Create>(), rows[i].entity)
                                                           : edits_.append_rows(plan.rows, rows[i].entity);
    write_row(plan, first, snapshot.values.data() + rows[i].at, payload);
    std::size_t end = ++i;
    while (end < rows.size() && end - i < looked_ahead && rows[end].shape == shape) ++end;
    const StepWriter::Items items = edits_.append_like_last(end - i);
    // The bytes that are written could be any object, so whatever the loop needs is in variables.
    const bool has_gaps = plan.has_gaps;
    const std::size_t payload_offset = plan.payload_offset;
    const Snapshot::Row* const all = rows.data();
    const std::byte* const values = snapshot.values.data();
    std::byte* item = items.at;
    for (end = i + items.count; i < end; ++i, item += items.bytes) {
      const Snapshot::Row row = all[i];
      if (has_gaps) std::memset(item, 0, items.bytes);
      std::memcpy(item, &row.entity, sizeof row.entity);
      write_row(plan, {.parent = all[row.parent].entity, .name = row.name}, values + row.at, item + payload_offset);
    }
  }
}

}  // namespace muster::history
