#include "registry/history/recording.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "registry/history/snapshot_taking.h"

namespace muster::history {

namespace {

constexpr TypeId name_type = TypeTraits<Name>::id;

template <class M>
M read(const Edit& edit) noexcept {
  M message;
  std::memcpy(&message, edit.payload, sizeof message);
  return message;
}

}  // namespace

void texts_in(const RowsNow& now, const TypeDescriptor& type, std::span<const std::byte> value, std::uint32_t offset,
              std::vector<std::string>& texts) {
  for (const std::uint32_t at : type.text_offsets) {
    if (at < offset || at - offset + sizeof(Text) > value.size()) continue;
    Text text;
    std::memcpy(&text, value.data() + (at - offset), sizeof text);
    if (const std::string_view bytes = now.text(text); !bytes.empty()) texts.emplace_back(bytes);
  }
}

std::vector<Entity> ancestors_of(const RowsNow& now, Entity e) {
  std::vector<Entity> ancestors;
  if (!e) return ancestors;
  for (Entity up = now.hierarchy().parent(e); up && ancestors.size() < Details::ancestors_max;
       up = now.hierarchy().parent(up))
    ancestors.push_back(up);
  return ancestors;
}

void Recording::begin_step(bool revives) {
  revives_ = revives;
  created_.clear();
}

void Recording::before(const Edit& edit) {
  was_.clear();
  bytes_.clear();
  parts_.clear();
  switch (edit.type) {
    case TypeTraits<Set>::id: return keep_all(edit);
    case TypeTraits<Remove>::id: {
      const TypeId component = read<Remove>(edit).component;
      if (component == name_type) return keep_names(edit);
      for (const Entity e : edit.targets) keep(e, component);
      return;
    }
    case TypeTraits<SetField>::id:
      for (const Entity e : edit.targets) keep(e, read<SetField>(edit).component);
      return;
    case TypeTraits<SetFieldIf>::id:
      for (const Entity e : edit.targets) keep(e, read<SetFieldIf>(edit).set.component);
      return;
    case TypeTraits<MergeTemplate>::id: return keep_merge(edit);
    case TypeTraits<Rename>::id: return keep_names(edit);
    case TypeTraits<Reparent>::id: return keep_places(edit);
    case TypeTraits<Destroy>::id: parts_ = destroyed_parts(now_, edit.targets); return;
    case TypeTraits<DefineTemplate>::id: return keep_template(edit);
    default: return;
  }
}

void Recording::after(const Edit& edit, bool refused, const std::function<void(Part)>& take) {
  if (refused) return;
  const auto give = [&](Part part) {
    part.sequence = edit.by.sequence;
    if (!part.idle()) take(std::move(part));
  };
  if (edit.type == TypeTraits<MergeTemplate>::id || edit.type == TypeTraits<Create>::id ||
      edit.type == TypeTraits<Spawn>::id)
    take_created(edit, give);
  for (const Was& was : was_) compare(was, give);
  for (Part& part : parts_) {
    switch (part.kind) {
      case PartKind::renamed: part.after = now_.name(part.entity); break;
      case PartKind::moved: part.details->after = now_.place(part.entity); break;
      case PartKind::defined: part.after = view_of(now_.definition(part.details->name)); break;
      default: break;
    }
    give(std::move(part));
  }
  parts_.clear();
}

// --- what is kept before an edit ---

void Recording::keep(Entity e, TypeId component) {
  const Row row = now_.storage().find(e);
  if (!row) return;
  was_.push_back({e, now_.layout(component), row.has(component), bytes_.size()});
  if (!was_.back().present) return;
  const std::span<const std::byte> value = RowsNow::bytes(row, component);
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

void Recording::keep_all(const Edit& edit) {
  for (const Entity e : edit.targets)
    for (const RowSetEntry& entry : edit.rows) keep(e, entry.type);
}

void Recording::keep_merge(const Edit& edit) {
  living_.clear();
  for (const Entity e : edit.targets) living_.push_back(now_.alive(e));
  const std::shared_ptr<const Template> what = now_.host().find_template(now_.text(read<MergeTemplate>(edit).what));
  if (!what || what->size() != edit.targets.size()) return;
  for (std::size_t i = 0; i < edit.targets.size(); ++i)
    if (living_[i])
      for (const Template::Value& value : what->components(what->nodes()[i])) keep(edit.targets[i], value.type);
}

void Recording::keep_names(const Edit& edit) {
  for (const Entity e : edit.targets) {
    if (!now_.alive(e)) continue;
    Part part{.kind = PartKind::renamed, .entity = e};
    part.before = now_.name(e);
    parts_.push_back(std::move(part));
  }
}

void Recording::keep_places(const Edit& edit) {
  for (const Entity e : edit.targets) {
    if (!now_.alive(e)) continue;
    Part part{.kind = PartKind::moved, .entity = e};
    part.details = std::make_unique<Details>();
    part.details->before = now_.place(e);
    part.details->ancestors = ancestors_of(now_, part.details->before.parent);
    parts_.push_back(std::move(part));
  }
}

void Recording::keep_template(const Edit& edit) {
  Part part{.kind = PartKind::defined};
  part.details = std::make_unique<Details>();
  part.details->name = DefineTemplateView::from(edit.table).name();
  part.before = view_of(now_.definition(part.details->name));
  parts_.push_back(std::move(part));
}

// --- what an edit changed ---

void Recording::take_created(const Edit& edit, const std::function<void(Part)>& take) {
  const bool merges = edit.type == TypeTraits<MergeTemplate>::id, spawns = edit.type == TypeTraits<Spawn>::id;
  const Entity spawned_under = spawns ? read<Spawn>(edit).parent : Entity{};
  const Storage& storage = now_.storage();
  const std::span<const Entity> targets = edit.targets;
  IdSet added;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Entity e = targets[i];
    if (merges && living_[i]) continue;
    const Row row = storage.find(e);
    const Entity parent = row && row.chunk->depth ? row.chunk->parents()[row.row] : Entity{};
    if (merges) {
      added.add(e);
      if (parent && added.contains(parent)) continue;
    } else if (spawns && parent != spawned_under) {
      continue;  // not a root of the spawn
    }
    if (revives_) {
      created_.add(e);
      if (parent && created_.contains(parent)) continue;
    }
    take(Part{.kind = PartKind::created, .entity = e});
  }
}

void Recording::compare(const Was& was, const std::function<void(Part)>& take) const {
  const auto value = now_.value(was.entity, was.layout.type);
  const std::span<const std::byte> before =
      was.present ? std::span(bytes_).subspan(was.at, was.layout.bytes) : std::span<const std::byte>{};
  if (was.present && value) return compare_values(was, before, *value, take);
  if (!was.present && !value) return;
  // The type may have become known in this edit.
  const Layout layout = now_.layout(was.layout.type);
  Part part{.kind = value ? PartKind::added : PartKind::removed,
            .component = layout.type,
            .entity = was.entity,
            .bytes = layout.bytes,
            .fingerprint = layout.fingerprint};
  if (!value) {
    part.before = view_of(before);
    if (const StoredType& stored = *now_.storage().component(layout.type); !stored.descriptor->text_offsets.empty()) {
      part.details = std::make_unique<Details>();
      texts_in(now_, *stored.descriptor, before, 0, part.details->texts);
    }
  }
  take(std::move(part));
}

void Recording::compare_values(const Was& was, std::span<const std::byte> before, std::span<const std::byte> after,
                               const std::function<void(Part)>& take) const {
  if (before.size() != after.size() || std::ranges::equal(before, after)) return;
  const TypeDescriptor& type = *now_.storage().component(was.layout.type)->descriptor;
  each_property(type, [&](std::uint32_t offset, std::uint32_t bytes) {
    const std::span<const std::byte> old = before.subspan(offset, bytes), value = after.subspan(offset, bytes);
    if (std::ranges::equal(old, value)) return;
    Part part{.kind = PartKind::field,
              .component = type.id,
              .entity = was.entity,
              .offset = offset,
              .fingerprint = type.fingerprint};
    part.before = view_of(old);
    part.after = view_of(value);
    if (!type.text_offsets.empty()) {
      part.details = std::make_unique<Details>();
      texts_in(now_, type, old, offset, part.details->texts);
      if (part.details->texts.empty()) part.details.reset();
    }
    take(std::move(part));
  });
}

}  // namespace muster::history
