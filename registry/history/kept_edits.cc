#include "registry/history/kept_edits.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "registry/history/description.h"
#include "registry/history/parts.h"
#include "registry/history/rows_now.h"
#include "registry/host.h"

namespace muster::history {
namespace {

/// A message of a batch of edits.
struct Message {
  TypeId type = 0;
  bool shared = false;               // Spawn and MergeTemplate: the targets belong together
  std::vector<Entity> targets = {};  // empty for a table
  std::vector<std::byte> payload = {};
  std::vector<RowSetEntry> rows = {};
  std::vector<std::byte> table = {};
};

/// Calls f(Message) for each edit of a batch, which may be a Step.
template <class F>
void each_message(BatchView batch, F&& f) {
  if (batch.kind() == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      if (batch.type() == TypeTraits<muster::Step>::id) {
        StepBatches(item.table).for_each([&](BatchView inside) { each_message(inside, f); });
      } else if (is_edit(batch.type())) {
        f(Message{.type = batch.type(), .table = {item.table.begin(), item.table.end()}});
      }
    }
    return;
  }
  if (!is_edit(batch.type()) || batch.kind() == BatchKind::timed || batch.kind() == BatchKind::world) return;
  const std::uint32_t bytes = batch.header().payload_bytes;
  const auto message = [&](std::uint32_t i) {
    return Message{.type = batch.type(),
                   .payload = {batch.payload(i), batch.payload(i) + bytes},
                   .rows = {batch.row_set().begin(), batch.row_set().end()}};
  };
  if (batch.kind() == BatchKind::shared &&
      (batch.type() == TypeTraits<Spawn>::id || batch.type() == TypeTraits<MergeTemplate>::id)) {
    Message all = message(0);
    all.shared = true;
    for (std::uint32_t i = 0; i < batch.count(); ++i) all.targets.push_back(batch.target(i));
    return f(std::move(all));
  }
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    Message one = message(batch.kind() == BatchKind::shared ? 0 : i);
    one.targets = {batch.target(i)};
    f(std::move(one));
  }
}

template <class T>
T read(std::span<const std::byte> bytes) noexcept {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Calls f(offset) for each offset that lies within [place.offset, place.offset + place.size),
/// relative to the place.
template <class F>
void each_within(std::span<const std::uint32_t> offsets, const FieldPlace& place, std::size_t width, F&& f) {
  for (const std::uint32_t at : offsets)
    if (at >= place.offset && at + width <= place.offset + place.size) f(at - place.offset);
}

/// Calls entity(bytes) and text(bytes) for each reference in a message's payload.
template <class E, class T>
void each_reference(const TypeTable& types, Message& message, E&& entity, T&& text) {
  std::byte* const payload = message.payload.data();
  const auto of_type = [&](const TypeDescriptor* type, std::byte* value) {
    if (!type) return;
    for (const std::uint32_t at : type->entity_offsets) entity(value + at);
    for (const std::uint32_t at : type->text_offsets) text(value + at);
  };
  if (!message.payload.empty()) of_type(types.find(message.type), payload);
  for (const RowSetEntry& row : message.rows) of_type(types.find(row.type), payload + row.offset);
  if (message.type != TypeTraits<SetField>::id) return;
  const auto set = read<SetField>(message.payload);
  const TypeDescriptor* const component = types.find(set.component);
  const FieldPlace* const place = component ? types.place(*component, set.field) : nullptr;
  if (!place) return;
  std::byte* const value = payload + offsetof(SetField, value);
  each_within(component->entity_offsets, *place, sizeof(Entity), [&](std::uint32_t at) { entity(value + at); });
  each_within(component->text_offsets, *place, sizeof(Text), [&](std::uint32_t at) { text(value + at); });
}

/// Turns a SetFieldIf into a SetField, because the value was as expected when the edit was made.
void as_set_field(Message& message) {
  static_assert(offsetof(SetFieldIf, set) == 0);
  if (message.type != TypeTraits<SetFieldIf>::id) return;
  message.type = TypeTraits<SetField>::id;
  message.payload.resize(sizeof(SetField));
}

/// A selection in which places and steps are found quickly.
class Selected {
 public:
  Selected() = default;
  explicit Selected(const KeepSelection& selection) { add(selection); }
  void add(const KeepSelection& selection) {
    all_ = all_ || selection.all;
    steps_.insert(selection.steps.begin(), selection.steps.end());
    for (const KeepPlace& place : selection.places) {
      if (place.component == 0) {
        if (wanted_.insert(place.entity.bits()).second) whole_.push_back(place.entity);
        continue;
      }
      std::vector<KeepPlace>& of = parts_[place.entity.bits()];
      const auto same = [&](const KeepPlace& each) {
        return each.component == place.component && each.field == place.field;
      };
      if (std::ranges::none_of(of, same)) of.push_back(place);
    }
  }
  bool has_step(const history::Step& step) const { return all_ || steps_.contains(step.run_number()); }
  /// Returns the entities that are selected as a whole.
  std::span<const Entity> whole() const { return whole_; }
  /// Returns the components and fields of the entity that are selected.
  std::span<const KeepPlace> parts_of(Entity e) const {
    const auto at = parts_.find(e.bits());
    return at == parts_.end() ? std::span<const KeepPlace>() : at->second;
  }
  /// Returns true if the selection contains at least a part of the step.
  bool has_part_of(const history::Step& step, const TypeTable& types) const {
    if (has_step(step)) return true;
    return std::ranges::any_of(step.parts, [&](const Part& part) {
      if (wanted_.contains(part.entity.bits())) return true;
      return std::ranges::any_of(parts_of(part.entity), [&](const KeepPlace& place) {
        if (part.component != place.component) return false;
        if (place.field == 0) return true;
        const TypeDescriptor* const type = types.find(part.component);
        const FieldPlace* const field = type ? types.place(*type, place.field) : nullptr;
        if (!field || part.kind != PartKind::field) return field != nullptr;
        return part.offset < field->offset + field->size && field->offset < part.offset + part.before.size();
      });
    });
  }

 private:
  bool all_ = false;
  std::unordered_set<std::uint64_t> steps_, wanted_;
  std::vector<Entity> whole_;
  std::unordered_map<std::uint64_t, std::vector<KeepPlace>> parts_;
};

class Keeping {
 public:
  Keeping(EntityRegistry& level, std::span<const history::Step* const> run, const KeepSelection& selection)
      : level_(level), types_(level.types()), now_(level), selected_(selection) {
    for (const history::Step* step : run) {
      for (const auto& [in_run, in_level] : step->kept_as)
        if (now_.alive(in_level)) ids_[in_run.bits()] = in_level;
      for (const Entity e : step->strangers) strangers_.insert(e.bits());
    }
    std::vector<const history::Step*> steps(run.begin(), run.end());
    // Inputs of several steps may alternate.
    std::map<std::uint64_t, std::pair<const history::Step*, const SentInput*>> inputs;
    for (const history::Step* step : steps)
      for (const SentInput& input : step->inputs) inputs[input.sequence] = {step, &input};
    for (const auto& [sequence, of] : inputs) {
      const auto& [step, input] = of;
      const bool whole = selected_.has_step(*step);
      for_each_batch(input->bytes, [&](BatchView batch) {
        each_message(batch, [&](Message message) { add(std::move(message), whole); });
      });
      for (const std::string& text : step->texts) texts_.emplace(hash64(text), &text);
    }
  }

  KeptEdits keep(std::uint64_t session) {
    for (const Entity e : selected_.whole()) want(e);
    // The ancestors that edits have made come along, and so does what edits put below.
    for (bool again = true; again;) {
      again = false;
      for (Item& item : items_) {
        if (item.creates.empty()) continue;
        const auto above = created_.find(parent_of(item.message).bits());
        if (any_wanted(item.message) || (above != created_.end() && wanted_.contains(above->first))) {
          for (const Entity e : item.message.targets) again = want(e) || again;
          again = again || !item.kept;
          item.kept = true;
        }
        if (!item.kept || above == created_.end() || items_[above->second].kept) continue;
        items_[above->second].kept = again = true;
      }
    }
    grant(session);
    for (Item& item : items_) emit(item);
    made_.batches.assign(out_.bytes().begin(), out_.bytes().end());
    return std::move(made_);
  }

 private:
  struct Item {
    Message message;
    bool kept;                    // kept as it is
    std::vector<Entity> creates;  // those of the targets that the message creates
    bool is_there = false;        // all that it creates was kept earlier
  };

  static Entity parent_of(const Message& message) {
    if (message.type == TypeTraits<Create>::id) return read<Create>(message.payload).parent;
    if (message.type == TypeTraits<Spawn>::id) return read<Spawn>(message.payload).parent;
    if (message.type == TypeTraits<Reparent>::id) return read<Reparent>(message.payload).parent;
    return {};
  }
  void add(Message message, bool whole) {
    as_set_field(message);
    Item item{.message = std::move(message), .kept = whole, .creates = {}};
    const TypeId type = item.message.type;
    if (type == TypeTraits<Create>::id || type == TypeTraits<Spawn>::id || type == TypeTraits<MergeTemplate>::id)
      for (const Entity e : item.message.targets)
        if (type != TypeTraits<MergeTemplate>::id || (!now_.alive(e) && !created_.contains(e.bits())))
          if (created_.emplace(e.bits(), items_.size()).second) item.creates.push_back(e);
    items_.push_back(std::move(item));
  }
  bool any_wanted(const Message& message) const {
    return std::ranges::any_of(message.targets, [&](Entity e) { return wanted_.contains(e.bits()); });
  }
  bool want(Entity e) { return wanted_.insert(e.bits()).second; }

  void grant(std::uint64_t session) {
    for (Item& item : items_) {
      // An entity that was kept earlier is there already.
      const bool had_any = !item.creates.empty();
      std::erase_if(item.creates, [&](Entity e) { return ids_.contains(e.bits()); });
      item.is_there = had_any && item.creates.empty();
      if (item.kept)
        for (const Entity e : item.creates) made_.created.emplace_back(e, Entity{});
    }
    RegistryHost host = level_.host();
    std::size_t granted = 0;
    while (granted < made_.created.size()) {
      auto count = static_cast<std::uint32_t>(made_.created.size() - granted);
      if (const std::uint32_t returned = host.returned_ids()) count = std::min(count, returned);
      const Entity first = host.grant(count, session);
      for (std::uint32_t i = 0; i < count; ++i, ++granted) {
        auto& [in_run, in_level] = made_.created[granted];
        in_level = {first.index + i, 1};
        ids_.emplace(in_run.bits(), in_level);
      }
    }
  }
  /// Returns the entity's id in the level, or nil.
  Entity id(Entity e) const {
    if (const auto at = ids_.find(e.bits()); at != ids_.end()) return at->second;
    if (created_.contains(e.bits()) || strangers_.contains(e.bits())) return {};
    return now_.alive(e) ? e : Entity{};
  }

  void emit(Item& item) {
    Message& message = item.message;
    if (item.is_there) return;
    if (item.kept || (item.creates.empty() && any_wanted(message))) return put(message);
    if (message.targets.size() != 1 || message.shared) return;
    for (const KeepPlace& place : selected_.parts_of(message.targets.front())) emit_part(message, place);
  }

  /// Emits the part of a message that concerns a component or a field.
  void emit_part(const Message& message, const KeepPlace& place) {
    const TypeDescriptor* const component = types_.find(place.component);
    if (!component) return;
    const FieldPlace* const field = place.field != 0 ? types_.place(*component, place.field) : nullptr;
    if (place.field != 0 && !field) return;
    if (message.type == TypeTraits<Remove>::id) {
      Message copy = message;
      if (!field && read<Remove>(message.payload).component == place.component) put(copy);
      return;
    }
    if (message.type == TypeTraits<SetField>::id) {
      const auto set = read<SetField>(message.payload);
      const FieldPlace* const set_at = set.component == place.component ? types_.place(*component, set.field) : nullptr;
      if (!set_at) return;
      Message copy = message;
      if (!field || (set_at->offset >= field->offset && set_at->offset + set_at->size <= field->offset + field->size))
        return put(copy);
      if (field->offset >= set_at->offset && field->offset + field->size <= set_at->offset + set_at->size)
        put_field(message.targets.front(), place, *field,
                  message.payload.data() + offsetof(SetField, value) + (field->offset - set_at->offset));
      return;
    }
    if (message.type != TypeTraits<Set>::id) return;
    for (const RowSetEntry& row : message.rows) {
      if (row.type != place.component) continue;
      const std::byte* const value = message.payload.data() + row.offset;
      if (field) return put_field(message.targets.front(), place, *field, value + field->offset);
      const auto* const type = types_.find(TypeTraits<Set>::id);
      const TypeDescriptor* const of[] = {component};
      const RowSet rows(*type, of);
      Message one{
          .type = message.type, .targets = message.targets, .rows = {rows.entries().begin(), rows.entries().end()}};
      one.payload.resize(rows.shape().bytes);
      std::memcpy(one.payload.data(), message.payload.data(), type->size);
      std::memcpy(one.payload.data() + rows.offset(component->id), value, component->size);
      return put(one);
    }
  }
  void put_field(Entity e, const KeepPlace& place, const FieldPlace& field, const std::byte* value) {
    SetField set{.component = place.component, .field = place.field, .bytes = field.size};
    if (field.size > set.value.size())
      return skip(e, "a field of " + std::to_string(field.size) + " bytes can only be kept with its component");
    std::memcpy(set.value.data(), value, field.size);
    Message message{.type = TypeTraits<SetField>::id, .targets = {e}};
    message.payload.resize(sizeof set);
    std::memcpy(message.payload.data(), &set, sizeof set);
    put(message);
  }

  void skip(Entity e, const std::string& why) {
    made_.skipped.push_back("#" + std::to_string(e.index) + ":" + std::to_string(e.generation) + ": " + why);
  }

  void put(Message& message) {
    for (Entity& target : message.targets) {
      const Entity own = id(target);
      if (!own) return skip(target, "the level does not have this entity, and the edit that made it is not kept");
      target = own;
    }
    if (const Entity parent = parent_of(message); parent && !id(parent))
      return skip(message.targets.front(), "the level does not have its new parent");
    each_reference(
        types_, message,
        [&](std::byte* at) {
          auto e = read<Entity>({at, sizeof(Entity)});
          if (!e) return;
          const Entity own = id(e);
          if (!own) ++made_.nil_references;
          std::memcpy(at, &own, sizeof own);
        },
        [&](std::byte* at) {
          const auto text = read<Text>({at, sizeof(Text)});
          if (!text || now_.knows(text) || !interned_.insert(text.hash).second) return;
          const auto known = texts_.find(text.hash);
          if (known == texts_.end()) return;
          const InternText intern{.text = *known->second};
          out_.append_table(TypeTraits<InternText>::id, {}, encode(intern));
        });
    ++made_.messages;
    if (!message.table.empty()) return out_.append_table(message.type, {}, message.table);
    const TypeDescriptor& type = *types_.find(message.type);
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& row : message.rows) components.push_back(types_.find(row.type));
    const RowSet rows = message.rows.empty() ? RowSet() : RowSet(type, components);
    std::byte* payload = nullptr;
    if (message.shared)
      payload = message.rows.empty() ? out_.append_shared(PayloadShape::of(type), message.targets)
                                     : out_.append_rows_shared(rows, message.targets);
    else
      payload = message.rows.empty() ? out_.append(PayloadShape::of(type), message.targets.front())
                                     : out_.append_rows(rows, message.targets.front());
    std::memcpy(payload, message.payload.data(), message.payload.size());
  }

  EntityRegistry& level_;
  const TypeTable& types_;
  const RowsNow now_;
  const Selected selected_;
  std::unordered_set<std::uint64_t> strangers_;
  std::vector<Item> items_;
  // By an entity's bits: the item that creates it
  std::unordered_map<std::uint64_t, std::size_t> created_;
  std::unordered_set<std::uint64_t> wanted_;  // entities that are kept as a whole
  // Ids in the level of what the run has made
  std::unordered_map<std::uint64_t, Entity> ids_;
  std::unordered_map<std::uint64_t, const std::string*> texts_;
  std::unordered_set<std::uint64_t> interned_;
  BatchBuilder out_{batch_bytes_max};
  KeptEdits made_;
};

}  // namespace

bool is_edit(TypeId type) noexcept {
  switch (type) {
    case TypeTraits<Create>::id:
    case TypeTraits<Spawn>::id:
    case TypeTraits<MergeTemplate>::id:
    case TypeTraits<Destroy>::id:
    case TypeTraits<Set>::id:
    case TypeTraits<Remove>::id:
    case TypeTraits<SetField>::id:
    case TypeTraits<SetFieldIf>::id:
    case TypeTraits<Reparent>::id:
    case TypeTraits<Rename>::id:
    case TypeTraits<DefineTemplate>::id: return true;
    default: return false;
  }
}

KeptEdits kept_edits(EntityRegistry& level, std::span<const history::Step* const> run, const KeepSelection& selection,
                     std::uint64_t session) {
  return Keeping(level, run, selection).keep(session);
}

void find_strangers(const EntityRegistry& level, std::span<history::Step> run) {
  std::unordered_set<std::uint64_t> made;  // by edits of the run
  for (const bool looks_for_made : {true, false})
    for (history::Step& step : run) {
      std::unordered_set<std::uint64_t> found;
      const auto note = [&](Entity e) {
        if (e && !level.alive(e) && !made.contains(e.bits()) && found.insert(e.bits()).second)
          step.strangers.push_back(e);
      };
      const auto look = [&](Message message) {
        const bool makes = message.type == TypeTraits<Create>::id || message.type == TypeTraits<Spawn>::id ||
                           message.type == TypeTraits<MergeTemplate>::id;
        if (looks_for_made) {
          if (makes)
            for (const Entity e : message.targets) made.insert(e.bits());
          return;
        }
        for (const Entity e : message.targets) note(e);
        as_set_field(message);
        each_reference(
            level.types(), message, [&](std::byte* at) { note(read<Entity>({at, sizeof(Entity)})); },
            [](std::byte*) {});
      };
      for (const SentInput& input : step.inputs)
        for_each_batch(input.bytes, [&](BatchView batch) { each_message(batch, look); });
    }
}

KeepSelection selection_of(const history::Step& mark) {
  KeepSelection selection;
  if (mark.inputs.empty()) return selection;
  const BatchView batch(std::span<const std::byte>(mark.inputs.front().bytes));
  if (batch.type() != TypeTraits<KeepEdits>::id) return selection;
  const KeepEdits keep = KeepEditsView::from(table_item(batch, batch.body()).table).decode();
  selection.all = keep.all;
  selection.steps = keep.steps;
  for (std::size_t i = 0; i < keep.entities.size(); ++i)
    selection.places.push_back({.entity = keep.entities[i],
                                .component = i < keep.components.size() ? keep.components[i] : 0,
                                .field = i < keep.fields.size() ? keep.fields[i] : 0});
  return selection;
}

KeepEdits message_of(const KeepSelection& selection) {
  KeepEdits keep{.all = selection.all, .steps = selection.steps};
  for (const KeepPlace& place : selection.places) {
    keep.entities.push_back(place.entity);
    keep.components.push_back(place.component);
    keep.fields.push_back(place.field);
  }
  return keep;
}

std::vector<RunEdit> listed(std::span<const history::Step* const> run, std::span<const history::Step* const> marks,
                            std::uint32_t offset, std::uint32_t limit, const TypeTable& types) {
  Selected marked;
  for (const history::Step* mark : marks) marked.add(selection_of(*mark));
  std::vector<RunEdit> edits;
  for (std::size_t i = run.size() - std::min<std::size_t>(run.size(), offset); i-- > 0 && edits.size() < limit;) {
    const history::Step& step = *run[i];
    edits.push_back({.step = step.run_number(),
                     .user = step.user,
                     .what = step.label.empty() ? step.what : step.label,
                     .marked = marked.has_part_of(step, types)});
  }
  return edits;
}

bool selects(const KeepSelection& selection, std::span<const history::Step* const> run, const TypeTable& types) {
  const Selected selected(selection);
  return std::ranges::any_of(run, [&](const history::Step* step) { return selected.has_part_of(*step, types); });
}

std::string find_named(KeepSelection& selection, std::span<const history::Step* const> run) {
  for (KeepPlace& place : selection.places) {
    if (place.entity || place.name.empty()) continue;
    const std::string end = place.name.starts_with('/') ? place.name : '/' + place.name;
    for (const history::Step* step : run)
      for (const auto& [entity, path] : step->names) {
        if (place.name.starts_with('/') ? path != end : !path.ends_with(end)) continue;
        if (place.entity && place.entity != entity)
          return "several entities of the run are named '" + place.name + "'; keep one by its step";
        place.entity = entity;
      }
    if (!place.entity) return "the run has no edits of '" + place.name + "'";
  }
  return {};
}

void describe_run_step(history::Step& step, const RowsNow& now) {
  constexpr std::size_t names_max = 64;
  step.what = description(step, now);
  for (const Part& part : step.parts) {
    if (step.names.size() >= names_max) break;
    const auto known = std::ranges::find(step.names, part.entity, [](const auto& each) { return each.first; });
    if (!part.entity || known != step.names.end()) continue;
    std::string path = now.alive(part.entity) ? now.path(part.entity) : std::string();
    if (path.empty() && part.details && !part.details->snapshot.rows.empty())
      path = "/" + std::string(part.details->snapshot.root_name());
    if (path.size() > 1) step.names.emplace_back(part.entity, std::move(path));
  }
}

std::vector<std::string> texts_of(const EntityRegistry& registry, std::span<const std::byte> batches) {
  std::vector<std::string> texts;
  for_each_batch(batches, [&](BatchView batch) {
    each_message(batch, [&](Message message) {
      as_set_field(message);
      each_reference(
          registry.types(), message, [](std::byte*) {},
          [&](std::byte* at) {
            const auto text = read<Text>({at, sizeof(Text)});
            const std::string_view known = text ? registry.text(text) : std::string_view();
            if (!known.empty() && std::ranges::find(texts, known) == texts.end()) texts.emplace_back(known);
          });
    });
  });
  return texts;
}

}  // namespace muster::history
