#include "server/edits/hidden_targets.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "messages/step_batches.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/handlers/handler_table.h"
#include "registry/host.h"
#include "schema/hash.h"
#include "schema/muster.h"
#include "server/session/judge.h"
#include "server/session/session.h"
#include "server/session/shown_text.h"

namespace muster {
namespace {

/// Returns an id that no entity has, from which the entity can be found again.
Entity dead_id_of(Entity e) noexcept { return {e.index, e.generation ^ replacing_bit}; }

/// An id that no entity ever has. Not derived from another id, of which an entity might be alive.
constexpr Entity no_entity{0xffffffffu, 0xffffffffu};

class HiddenTargets {
 public:
  HiddenTargets(const EntityRegistry& registry, SeenNow& sight, std::vector<Entity>& replaced)
      : registry_(registry), sight_(sight), replaced_(replaced) {}

  bool look(std::byte* bytes) {
    const BatchView edit(bytes);
    if (edit.kind() == BatchKind::timed)
      return may_time(edit.inner()) && look(bytes + (edit.inner().bytes().data() - bytes));
    if (!may_name_types(edit)) return false;
    if (edit.kind() == BatchKind::table) return edit.type() == TypeTraits<Step>::id ? step(bytes) : tables(bytes);
    targets(bytes);
    if (!is_of_muster(edit.type())) return true;
    references(bytes);
    return may_place(edit) && may_restructure(edit);
  }

  std::optional<session::Fault> fault;

 private:
  bool is_of_muster(TypeId type) const {
    const TypeDescriptor* const known = registry_.types().find(type);
    return known && known->name.starts_with("muster.");
  }

  void replace(std::byte* at) {
    Entity e;
    std::memcpy(&e, at, sizeof e);
    if (!e || sight_.sees(e)) return;
    // An id that could replace another one is shown in faults like the one that it could replace.
    if (!registry_.alive(e) && (e.generation & replacing_bit)) replaced_.push_back(dead_id_of(e));
    if (!registry_.alive(e)) return;
    replaced_.push_back(e);
    e = dead_id_of(e);
    std::memcpy(at, &e, sizeof e);
  }

  void targets(std::byte* bytes) {
    const BatchView edit(bytes);
    if (edit.kind() == BatchKind::world) return;
    const bool is_shared = edit.kind() == BatchKind::shared;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const std::byte* const at = is_shared ? edit.shared_targets() + std::size_t{i} * 8 : edit.item(i);
      replace(bytes + (at - bytes));
    }
  }

  /// Replaces the parents and siblings that messages of Muster name.
  void references(std::byte* bytes) {
    const BatchView edit(bytes);
    const TypeDescriptor& type = *registry_.types().find(edit.type());
    const std::uint32_t payloads = edit.kind() == BatchKind::shared ? 1 : edit.count();
    for (std::uint32_t i = 0; i < payloads; ++i)
      for (const std::uint32_t offset : type.entity_offsets) replace(bytes + (edit.payload(i) + offset - bytes));
  }

  bool tables(std::byte* bytes) {
    const BatchView edit(bytes);
    const std::byte* at = edit.body();
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const TableItem item = table_item(edit, at);
      replace(bytes + (at - bytes));
      at = item.next;
    }
    return true;
  }

  bool step(std::byte* bytes) {
    const BatchView edit(bytes);
    const auto in_table = StepView::from(table_item(edit, edit.body()).table).batches();
    // Batches are aligned to 16 bytes, but not inside a table.
    std::vector<std::byte> batches(std::as_bytes(in_table).begin(), std::as_bytes(in_table).end());
    bool may = true;
    for (std::size_t at = 0; may && at < batches.size(); at += BatchView(batches.data() + at).bytes().size())
      may = look(batches.data() + at);
    std::memcpy(bytes + (reinterpret_cast<const std::byte*>(in_table.data()) - bytes), batches.data(), batches.size());
    return may;
  }

  template <class M>
  static M read(BatchView edit, std::uint32_t i) {
    M message;
    std::memcpy(&message, edit.payload(edit.kind() == BatchKind::shared ? 0 : i), sizeof message);
    return message;
  }

  bool deny(TypeId type, Entity e, std::string text) {
    session::Fault denied = fault_of(session::FaultCode::no_right, "rule", std::move(text));
    denied.type = type;
    denied.entity = e;
    fault = std::move(denied);
    return false;
  }

  /// Refuses hidden types in messages such as Remove and SetField as if the world did not know
  /// them. The answer of the world would depend on the entity's value.
  bool may_name_types(BatchView edit) {
    const TypeDescriptor* const type = registry_.types().find(edit.type());
    const HiddenTypes& hidden = *sight_.hidden();
    if (!type || hidden.empty()) return true;
    for_each_written_type(edit, *type, registry_.types(), [&](const TypeDescriptor& written) {
      if (fault || !hidden.contains(written.id)) return;
      fault = fault_of(session::FaultCode::refused, "unknown_component",
                       "type " + std::to_string(written.id) + " is not a component of this world");
      fault->type = written.id;
      fault->refused = edit.count();
      if (edit.kind() == BatchKind::each || edit.kind() == BatchKind::shared) fault->entity = edit.target(0);
    });
    return !fault;
  }

  /// Until the message is due, the entity may get another name or parent, so nothing can be judged.
  bool may_time(BatchView inner) {
    const TypeId type = inner.type();
    const bool places = type == TypeTraits<Create>::id || type == TypeTraits<Spawn>::id ||
                        type == TypeTraits<Reparent>::id || type == TypeTraits<Rename>::id;
    return !places || sight_.sight()->places().empty() ||
           deny(type, {},
                "a rule of this server hides places from this user, whose timed messages therefore cannot create, "
                "rename or move entities");
  }

  /// Judges each message as if the preceding ones of the edit had been applied.
  bool may_place(BatchView edit) {
    const TypeId type = edit.type();
    // The world refuses the others.
    if (edit.kind() != BatchKind::each && edit.kind() != BatchKind::shared) return true;
    for (std::uint32_t i = 0; i < edit.count(); ++i) {
      const Entity e = edit.target(i);
      Placed at = placed_now(e);
      if (type == TypeTraits<Create>::id)
        at = {read<Create>(edit, i).parent, read<Create>(edit, i).name};
      else if (type == TypeTraits<Spawn>::id)
        at = {read<Spawn>(edit, i).parent, read<Spawn>(edit, i).name};
      else if (type == TypeTraits<Reparent>::id)
        at.parent = read<Reparent>(edit, i).parent;
      else if (type == TypeTraits<Rename>::id)
        at.name = read<Rename>(edit, i).name;
      else
        return true;
      if (!may_be_at(at))
        return deny(type, e,
                    "a rule of this server hides the place from this user to which " + shown_id(e) + " would go");
      // The nodes of a template get names that this edit does not contain.
      if (type == TypeTraits<Spawn>::id) at.name.reset();
      placed_.insert_or_assign(e, at);
    }
    return true;
  }

  struct Placed {
    Entity parent;
    std::optional<Text> name;  // nothing if it is not known
  };
  Placed placed_now(Entity e) const {
    if (const auto placed = placed_.find(e); placed != placed_.end()) return placed->second;
    // An entity that is not alive may be a node of a template that this edit merges.
    if (!registry_.alive(e)) return {no_entity, std::nullopt};
    const std::string_view name = registry_.name(e);
    return {registry_.parent(e), Text{name.empty() ? 0 : hash64(name)}};
  }
  bool may_be_at(const Placed& at) {
    // The world refuses a dead parent, unless an earlier message of the edit creates it.
    if (at.parent && !registry_.alive(at.parent)) return true;
    if (at.name) return sight_.may_place(at.parent, *at.name);
    const bool has_named_children =
        at.parent ? !sight_.named_at_or_below(at.parent).empty() : !sight_.sight()->places().empty();
    return !has_named_children && sight_.may_place(at.parent, {});
  }

  bool may_restructure(BatchView edit) {
    const TypeId type = edit.type();
    const bool is_structural = type == TypeTraits<Reparent>::id || type == TypeTraits<Rename>::id ||
                               type == TypeTraits<Destroy>::id || type == TypeTraits<MergeTemplate>::id;
    for (std::uint32_t i = 0; is_structural && i < edit.count(); ++i) {
      const std::string path = sight_.named_at_or_below(edit.target(i));
      if (!path.empty())
        return deny(type, edit.target(i),
                    shown_id(edit.target(i)) + " is, or would contain, " + path +
                        ", which a rule about what this user may see names; this user cannot change its place");
    }
    return true;
  }

  const EntityRegistry& registry_;
  SeenNow& sight_;
  std::vector<Entity>& replaced_;
  std::unordered_map<Entity, Placed> placed_;  // what the messages so far have placed or named
};

/// Returns true if a hidden component decides whether a handler of the message is called.
bool has_hidden_terms(const EntityRegistry& registry, const HiddenTypes& hidden, TypeId message) {
  const auto is_hidden = [&](const Term& term) { return hidden.contains(term.type) || hidden.contains(term.anchor); };
  const auto depends = [&](const Handler* handler) {
    return handler->message == message && std::ranges::any_of(handler->terms, is_hidden);
  };
  return !hidden.empty() && std::ranges::any_of(registry.host().handlers().handlers(), depends);
}

}  // namespace

std::optional<session::Fault> hide_targets(const EntityRegistry& registry, SeenNow& sight, std::span<std::byte> edit,
                                           std::vector<Entity>& replaced) {
  HiddenTargets targets(registry, sight, replaced);
  (void)targets.look(edit.data());
  return std::move(targets.fault);
}

void show_replaced(session::Fault& fault, const std::vector<Entity>& replaced) {
  for (const Entity e : replaced) {
    const Entity dead = dead_id_of(e);
    if (fault.entity == dead) fault.entity = e;
    const std::string shown = shown_id(dead);
    for (std::size_t at = fault.text.find(shown); at != std::string::npos; at = fault.text.find(shown, at))
      fault.text.replace(at, shown.size(), shown_id(e));
  }
}

Receipt visible_receipt(const EntityRegistry& registry, SeenNow& sight, const Receipt& receipt, BatchView edit) {
  const bool names_all =
      edit.kind() == BatchKind::each || edit.kind() == BatchKind::shared ||
      (edit.kind() == BatchKind::table && edit.header().argument == 0 && edit.type() != TypeTraits<Step>::id);
  Receipt visible = receipt;
  if (!names_all) visible.dead = 0;
  if (!names_all || has_hidden_terms(registry, *sight.hidden(), edit.type())) visible.handled = visible.unhandled = 0;
  return visible;
}

}  // namespace muster
