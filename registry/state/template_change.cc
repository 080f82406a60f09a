#include "registry/state/template_change.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Of the spans that a template gives itself, the parts that are still there.
std::vector<TemplateSpan> convert_given(const std::vector<TemplateSpan>& given, const SavedTypes::Reading& reading) {
  std::vector<TemplateSpan> made;
  for (const TemplateSpan& span : given)
    reading.change->each_move(span.offset, span.bytes, [&](std::uint32_t offset, std::uint32_t bytes) {
      made.push_back({.offset = offset, .bytes = bytes});
    });
  std::ranges::sort(made, {}, &TemplateSpan::offset);
  return made;
}

std::expected<void, SchemaError> convert(TemplateValue& value, const SavedTypes::Reading& reading) {
  value.type = reading.now->id;
  value.fingerprint = reading.now->fingerprint;
  if (reading.change == nullptr) return {};
  const auto then = std::as_bytes(std::span(value.value));
  if (then.size() < reading.then->size)
    return std::unexpected(SchemaError{reading.then->name, {}, "has a value in a template that is cut off"});
  std::vector<std::uint8_t> now(reading.now->size);
  reading.change->apply(then, std::as_writable_bytes(std::span(now)));
  std::vector<TemplateReference> references;
  for (const TemplateReference& reference : value.references)
    if (const auto place = reading.change->place(reference.offset))
      references.push_back({.offset = *place, .node = reference.node});
  value.given = convert_given(value.given, reading);
  value.references = std::move(references);
  value.value = std::move(now);
  return {};
}

}  // namespace

std::expected<std::optional<DefineTemplate>, SchemaError> convert_template(DefineTemplateView saved,
                                                                           SavedTypes& types) {
  bool changed = false;
  DefineTemplate made = saved.decode();
  for (TemplateNode& node : made.nodes) {
    for (std::vector<TemplateValue>* values : {&node.components, &node.messages})
      for (TemplateValue& value : *values) {
        if (!types.is_saved(value.type)) continue;  // the template's own reader says what is wrong
        const auto reading = types.reading(value.type);
        if (!reading) return std::unexpected(reading.error());
        if (reading->change == nullptr && reading->now->id == value.type &&
            reading->now->fingerprint == value.fingerprint)
          continue;
        changed = true;
        if (auto converted = convert(value, *reading); !converted) return std::unexpected(converted.error());
      }
    std::ranges::sort(node.components, {}, &TemplateValue::type);  // names decide the order, and may be others
  }
  if (!changed) return std::optional<DefineTemplate>();
  return made;
}

}  // namespace muster
