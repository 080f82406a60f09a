// Answers Show with an entity and its values, and GetText with an interned text.
#include <cstring>

#include "messages/row_set.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

/// Sends the interned texts to which the entity's values refer, as room becomes available. Then
/// sends all values together.
class Showing final : public Inquiry {
 public:
  Showing(Asked asked, Entity e) : asked_(std::move(asked)), entity_(e) {}

  Progress go_on(Steps& steps) override {
    const EntityRegistry& registry = asked_.registry;
    if (!registry.alive(entity_)) {
      asked_.fault(dead_fault(entity_, "entity"));
      return Progress::done;
    }
    for (const TypeId component : registry.host().components(entity_)) {
      const auto* stored = registry.host().storage().component(component);
      // A tag or a runtime component has no value.
      if (!stored || stored->saved_size() == 0) continue;
      const std::byte* value = registry.find(entity_, component);
      for (const std::uint32_t offset : stored->descriptor->text_offsets) {
        Text text;
        std::memcpy(&text, value + offset, sizeof text);
        if (!must_be_sent(asked_.to(), registry, text)) continue;
        if (!steps.left()) return Progress::again;
        if (!asked_.has_room(registry.text(text).size())) return Progress::room;
        steps.spend_bytes(registry.text(text).size());
        send_text(asked_.to(), registry, text);
      }
    }
    return tell(steps);
  }

 private:
  Progress tell(Steps& steps) {
    const EntityRegistry& registry = asked_.registry;
    const std::size_t name_max = asked_.limits.path_bytes_max;
    session::Shown shown;
    shown.sequence = registry.sequence();
    shown.clock_ns = registry.now_ns();
    shown.entity = entity_;
    shown.parent = registry.parent(entity_);
    shown.name = shown_name(registry.name(entity_), name_max);
    shown.path = shown_path(registry, entity_, name_max, steps);
    shown.depth = registry.depth(entity_);
    shown.child_count = registry.child_count(entity_);
    const auto components = registry.host().components(entity_);
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
    const std::size_t bytes = shown.path.size() + shown.name.size() + 4 * components.size() + builder.bytes().size();
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
  if (bytes == 0)
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
