// Answers Show with an entity and its values, and GetText with an interned text.
#include <cstring>

#include "messages/judge/verifier.h"
#include "messages/row_set.h"
#include "messages/utf8.h"
#include "registry/apply/manager.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

/// Limit on the sizes of the values of managers in one answer, together, in bytes.
constexpr std::size_t held_bytes_max = 64u << 10;

/// Sends the interned texts to which the entity's values refer, as room becomes available. Then
/// sends all values together.
class Showing final : public Inquiry {
 public:
  Showing(Asked asked, Entity e) : asked_(std::move(asked)), entity_(e) {}

  Progress go_on(Steps& steps) override {
    const EntityRegistry& registry = asked_.registry;
    if (!asked_.sees(entity_)) {
      asked_.fault(dead_fault(entity_, "entity"));
      return Progress::done;
    }
    for (const TypeId component : components()) {
      const auto* stored = registry.host().storage().component(component);
      // A tag or a runtime component has no value.
      if (!stored || stored->saved_size() == 0) continue;
      if (const Progress sent = send_texts(*stored->descriptor, registry.find(entity_, component), steps);
          sent != Progress::done)
        return sent;
    }
    session::Shown shown;
    describe(shown);
    for (const session::HeldValue& held : shown.held)
      if (held.type != 0)
        if (const Progress sent = send_texts(*registry.types().find(held.type), held.value.data(), steps);
            sent != Progress::done)
          return sent;
    return tell(std::move(shown), steps);
  }

 private:
  /// Returns the components that the user may see.
  std::vector<TypeId> components() const {
    if (asked_.sight) return asked_.sight->components(entity_);
    const auto all = asked_.registry.host().components(entity_);
    return {all.begin(), all.end()};
  }
  /// Sends the texts to which a value refers. Returns `done` if all of them were sent.
  Progress send_texts(const TypeDescriptor& type, const auto* value, Steps& steps) {
    const EntityRegistry& registry = asked_.registry;
    for (const std::uint32_t offset : type.text_offsets) {
      Text text;
      std::memcpy(&text, value + offset, sizeof text);
      if (!must_be_sent(asked_.to(), registry, text)) continue;
      if (!steps.left()) return Progress::again;
      if (!asked_.has_room(registry.text(text).size())) return Progress::room;
      steps.spend_bytes(registry.text(text).size());
      send_text(asked_.to(), registry, text);
    }
    return Progress::done;
  }
  /// Adds the values of managers.
  void describe(session::Shown& shown) const {
    const EntityRegistry& registry = asked_.registry;
    std::size_t bytes = 0;
    registry.host().describe(entity_, [&](std::string_view manager, const Held& held) {
      // A value whose type is not known could contain anything.
      if (asked_.sight && !asked_.sight->sees(held.type)) return;
      constexpr std::size_t fields_bytes = 64;
      const std::size_t size = fields_bytes + manager.size() + held.name.size() + held.bytes.size();
      if (bytes + size > held_bytes_max) {
        ++shown.held_left_out;
        return;
      }
      bytes += size;
      session::HeldValue& value = shown.held.emplace_back();
      value.manager = valid_utf8(manager);
      value.name = valid_utf8(held.name);
      value.instance = held.instance;
      // A value that does not fit its type is sent as bytes.
      const TypeDescriptor* const type = held.type == 0 ? nullptr : registry.types().find(held.type);
      if (type && !type->is_table && type->size == held.bytes.size() &&
          verify_value(held.bytes, *type, registry.types()))
        value.type = held.type;
      const auto* const first = reinterpret_cast<const std::uint8_t*>(held.bytes.data());
      value.value.assign(first, first + held.bytes.size());
    });
  }
  Progress tell(session::Shown shown, Steps& steps) {
    const EntityRegistry& registry = asked_.registry;
    const std::size_t name_max = asked_.limits.path_bytes_max;
    shown.sequence = registry.sequence();
    shown.clock_ns = registry.now_ns();
    shown.entity = entity_;
    shown.parent = registry.parent(entity_);
    shown.name = shown_name(registry.name(entity_), name_max);
    shown.path = shown_path(registry, entity_, name_max, steps);
    shown.depth = registry.depth(entity_);
    shown.child_count = asked_.sight ? asked_.sight->child_count(entity_) : registry.child_count(entity_);
    const std::vector<TypeId> components = this->components();
    shown.components.assign(components.begin(), components.end());

    std::vector<PayloadShape> shapes;
    for (const TypeId component : components) {
      const TypeDescriptor* type = registry.types().find(component);
      if (!type || shapes.size() == row_set_components_max) continue;
      shapes.push_back(PayloadShape::of(*type));
    }
    BatchBuilder builder;
    if (!shapes.empty()) {
      const RowSet rows(PayloadShape::of<Set>(), shapes);
      std::byte* payload = builder.append_rows(rows, entity_);
      const Set set{};
      std::memcpy(payload, &set, sizeof set);
      for (const PayloadShape& shape : shapes) {
        const auto* stored = registry.host().storage().component(shape.type);
        if (!stored || stored->saved_size() == 0) continue;
        std::memcpy(payload + rows.offset(shape.type), registry.find(entity_, shape.type), stored->size);
      }
    }
    std::size_t bytes = shown.path.size() + shown.name.size() + 4 * components.size() + builder.bytes().size();
    for (const session::HeldValue& held : shown.held)
      bytes += held.manager.size() + held.name.size() + held.value.size();
    if (!asked_.has_room(bytes)) return Progress::room;
    steps.spend_bytes(bytes);
    answer(asked_.to(), asked_.request, shown, shapes.empty() ? 0 : std::uint32_t{frame_more});
    if (!shapes.empty()) asked_.to().outgoing()->control(builder.bytes(), asked_.request);
    return Progress::done;
  }

  const Asked asked_;
  const Entity entity_;
};

}  // namespace

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::Show& what) {
  return std::make_unique<Showing>(asked, what.entity);
}

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::GetText& what) {
  const Text text{what.hash};
  const std::size_t bytes = asked.registry.text(text).size();
  const Seat& seat = *asked.to().seat();
  if (bytes == 0 || (asked.sight && !seat.texts_sent.may_be_known(text.hash) && !seat.texts_told.contains(text.hash)))
    return refuse(asked, fault_of(session::FaultCode::not_found, "unknown_text",
                                  "the world knows no text of hash " + std::to_string(text.hash)));
  return once(
      asked,
      [asked, text](Steps&) {
        asked.to().seat()->texts_sent.tell(
            text.hash, true, [&] { asked.answer(InternText{.text = std::string(asked.registry.text(text))}); });
      },
      bytes);
}

}  // namespace muster
