#include "server/edits/dry_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "messages/row_set.h"
#include "messages/step_batches.h"
#include "registry/apply/template.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/history/held_data.h"
#include "registry/host.h"
#include "server/edits/partial_copy.h"
#include "server/edits/refusal_text.h"

namespace muster {
namespace {

class Trial {
 public:
  Trial(const EntityRegistry& world, const ServerLimits& limits) : world_(world), limits_(limits), copy_(world) {}

  std::expected<session::WouldChange, session::Fault> run(BatchView edit) {
    const bool is_step = edit.type() == TypeTraits<Step>::id;
    if (is_step)
      step(edit);
    else
      each_part(edit, [&](BatchView part) { return push(part), true; });
    if (sum_.refused > 0) {
      // Nothing remains of a refused Step, but what a refused batch did to other targets does.
      auto fault = refusal_fault(is_step ? world_ : copy_.registry(), limits_, sum_, edit.bytes());
      fault.sequence = world_.sequence();
      return std::unexpected(std::move(fault));
    }
    return changes();
  }

 private:
  template <class M>
  static M read(BatchView batch) {
    M message;
    std::memcpy(&message, batch.payload(0), sizeof message);
    return message;
  }

  /// Calls f(part) for the smallest parts of a batch that can be delivered separately with the same
  /// result, until f returns false.
  template <class F>
  void each_part(BatchView batch, F&& f) {
    const bool each = batch.kind() == BatchKind::each;
    if (!is_structural(batch.type()) || (!each && batch.kind() != BatchKind::shared) ||
        (!each && is_tree(batch.type()))) {
      f(batch);
      return;
    }
    const TypeTable& types = copy_.registry().types();
    const TypeDescriptor& type = *types.find(batch.type());
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& entry : batch.row_set()) components.push_back(types.find(entry.type));
    const RowSet rows = batch.has_rows() ? RowSet(type, components) : RowSet();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      BatchBuilder one;
      std::byte* const payload = batch.has_rows() ? one.append_rows(rows, batch.target(i))
                                                  : one.append(PayloadShape::of(type), batch.target(i));
      std::memcpy(payload, batch.payload(each ? i : 0), batch.header().payload_bytes);
      if (!f(one.front())) return;
    }
  }

  /// Delivers the batches of a Step like Delivery::step().
  void step(BatchView edit) {
    bool is_refused = false;
    StepBatches(table_item(edit, edit.body()).table).for_each([&](BatchView batch) {
      if (is_refused) return;
      each_part(batch, [&](BatchView part) {
        const bool creates = part.type() == TypeTraits<Create>::id || is_tree(part.type());
        const bool has_targets = part.kind() == BatchKind::each || part.kind() == BatchKind::shared;
        for (std::uint32_t i = 0; has_targets && !creates && i < part.count(); ++i)
          if (copy_.bring(part.target(i)); !copy_.registry().alive(part.target(i))) {
            sum_.refused = 1;
            sum_.refusal = {RefusalCode::dead_entity, part.target(i), part.type()};
          }
        if (sum_.refused == 0) push(part);
        is_refused = sum_.refused > 0;
        return !is_refused;
      });
    });
    if (is_refused) sum_ = {.refused = 1, .refusal = sum_.refusal};
  }

  void push(BatchView part) {
    prepare(part);
    const Receipt receipt = copy_.registry().host().push_batch(part.bytes());
    if (sum_.refused == 0) sum_.refusal = receipt.refusal;
    sum_.handled += receipt.handled;
    sum_.unhandled += receipt.unhandled;
    sum_.dead += receipt.dead;
    sum_.refused += receipt.refused;
    if (receipt.handled > 0 && part.type() == TypeTraits<Reparent>::id) moved_.insert(part.target(0));
  }

  /// Copies everything that the edit may look at.
  void prepare(BatchView part) {
    const TypeId type = part.type();
    if (type == TypeTraits<InternText>::id || type == TypeTraits<DefineTemplate>::id) return prepare_tables(part);
    const bool has_targets = part.kind() == BatchKind::each || part.kind() == BatchKind::shared;
    if (!has_targets) return;  // it will be refused
    for (std::uint32_t i = 0; i < part.count(); ++i) copy_.bring(part.target(i));
    const Entity target = part.target(0);
    switch (type) {
      case TypeTraits<Create>::id: {
        const auto message = read<Create>(part);
        created_.push_back(target);
        return prepare_place(message.parent, message.before, message.name, message.clash, 1);
      }
      case TypeTraits<Destroy>::id: return copy_.bring_below(target);
      case TypeTraits<Set>::id:
        for (const RowSetEntry& entry : part.row_set()) copy_.bring(target, entry.type);
        return;
      case TypeTraits<Remove>::id: return copy_.bring(target, read<Remove>(part).component);
      case TypeTraits<SetField>::id: return copy_.bring(target, read<SetField>(part).component);
      case TypeTraits<SetFieldIf>::id: return copy_.bring(target, read<SetFieldIf>(part).set.component);
      case TypeTraits<Reparent>::id: {
        const auto message = read<Reparent>(part);
        const Text name = text_of(copy_.registry().name(target));
        return prepare_place(message.parent, message.before, name, NameClash::refuse, 1);
      }
      case TypeTraits<Rename>::id: {
        const auto message = read<Rename>(part);
        const Entity parent = copy_.registry().parent(target);
        return prepare_place(parent, {}, message.name, message.clash, 1);
      }
      case TypeTraits<Spawn>::id: {
        const auto message = read<Spawn>(part);
        const std::size_t nodes = prepare_template(message.what, part);
        const auto trees = static_cast<std::uint32_t>(part.count() / std::max<std::size_t>(nodes, 1) + 1);
        return prepare_place(message.parent, message.before, message.name, message.clash, trees);
      }
      case TypeTraits<MergeTemplate>::id: {
        prepare_template(read<MergeTemplate>(part).what, part);
        return prepare_merge(part);
      }
      default: return;
    }
  }
  void prepare_place(Entity parent, Entity before, Text name, NameClash clash, std::uint32_t uses) {
    copy_.bring(parent);
    copy_.bring(before);
    copy_.bring(name);
    if (clash == NameClash::suffix)
      copy_.bring_suffixed(parent, name, uses);
    else
      copy_.bring_child(parent, name);
  }
  /// Returns the number of the template's nodes.
  std::size_t prepare_template(Text name, BatchView part) {
    for (std::uint32_t i = 0; i < part.count(); ++i) created_.push_back(part.target(i));
    copy_.bring(name);
    copy_.bring_template(world_.text(name));
    const auto known = copy_.registry().host().find_template(copy_.registry().text(name));
    return known ? known->size() : 0;
  }
  /// Copies the entities and components that the template's nodes would be merged with.
  void prepare_merge(BatchView part) {
    const auto what = copy_.registry().host().find_template(copy_.registry().text(read<MergeTemplate>(part).what));
    if (!what) return;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(part.count(), what->size()); ++i) {
      const Template::Node& node = what->nodes()[i];
      if (i > 0) copy_.bring_child(part.target(node.parent), node.name);
      for (const Template::Value& value : what->components(node)) copy_.bring(part.target(i), value.type);
    }
  }
  void prepare_tables(BatchView part) {
    const std::byte* at = part.body();
    for (std::uint32_t i = 0; i < part.count(); ++i) {
      const TableItem item = table_item(part, at);
      at = item.next;
      if (part.type() == TypeTraits<InternText>::id) {
        copy_.bring(text_of(InternTextView::from(item.table).text()));
        continue;
      }
      const auto defined = DefineTemplateView::from(item.table);
      copy_.bring(text_of(defined.name()));
      for (const std::string_view text : defined.texts()) copy_.bring(text_of(text));
      for (const TemplateNodeView node : defined.nodes()) copy_.bring(text_of(node.name()));
      copy_.bring_template(defined.name());
    }
  }

  bool is_changed(Entity e) {
    EntityRegistry& copy = copy_.registry();
    return moved_.contains(e) || copy.parent(e) != world_.parent(e) || copy.name(e) != world_.name(e);
  }
  session::WouldChange changes() {
    EntityRegistry& copy = copy_.registry();
    session::WouldChange would;
    would.sequence = world_.sequence();
    would.handled = sum_.handled;
    would.unhandled = sum_.unhandled;
    would.dead = sum_.dead;
    std::size_t bytes = 0;
    const auto add = [&](std::uint32_t& count, session::Changing what, Entity e, std::string_view name) {
      ++count;
      if (would.entities.size() >= limits_.rows_max || bytes >= limits_.page_bytes_max) return;
      bytes += 32 + name.size();
      would.entities.push_back(e);
      would.changes.push_back(static_cast<std::uint8_t>(what));
      would.names.emplace_back(name);
    };
    std::unordered_set<Entity> seen;
    for (const Entity e : created_)
      if (!world_.alive(e) && copy.alive(e) && seen.insert(e).second)
        add(would.created, session::Changing::created, e, copy.name(e));
    std::unordered_set<Entity> changed;
    for (const auto& [e, component] : copy_.components()) {
      const std::byte *before = world_.find(e, component), *after = copy.find(e, component);
      const std::uint32_t size = copy.types().find(component)->size;
      if ((before == nullptr) != (after == nullptr) || (before && size > 0 && std::memcmp(before, after, size) != 0))
        changed.insert(e);
    }
    std::unordered_set<Entity> destroyed;
    for (const Entity e : copy_.entities()) {
      if (!copy.alive(e)) {
        destroyed.insert(e);
        add(would.destroyed, session::Changing::destroyed, e, world_.name(e));
      } else if (changed.contains(e) || is_changed(e)) {
        add(would.changed, session::Changing::changed, e, copy.name(e));
      }
    }
    std::vector<Entity> tops;
    for (const Entity e : destroyed)
      if (!destroyed.contains(world_.parent(e))) tops.push_back(e);
    for (LostData& lost : lost_if_destroyed(world_, tops)) {
      would.lost_managers.push_back(std::move(lost.manager));
      would.lost_entities.push_back(lost.entities);
    }
    return would;
  }

  const EntityRegistry& world_;
  const ServerLimits& limits_;
  PartialCopy copy_;
  Receipt sum_;
  std::vector<Entity> created_;
  std::unordered_set<Entity> moved_;
};

}  // namespace

std::expected<session::WouldChange, session::Fault> dry_run(const EntityRegistry& registry, const ServerLimits& limits,
                                                            BatchView edit) {
  return Trial(registry, limits).run(edit);
}

}  // namespace muster
