#include "registry/state/template_change.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Converts the spans that the template itself sets. Removed parts are omitted.
std::vector<TemplateSpan> convert_given(const std::vector<TemplateSpan>& given, const SavedTypes::Reading& reading) {
  std::vector<TemplateSpan> made;
  for (const TemplateSpan& span : given)
    reading.change->each_move(span.offset, span.bytes, [&](std::uint32_t offset, std::uint32_t bytes) {
      made.push_back({.offset = offset, .bytes = bytes});
    });
  std::ranges::sort(made, {}, &TemplateSpan::offset);
  return made;
}

/// Combines the parts set by the template with those set by the game's own conversion.
void give_converted(std::vector<TemplateSpan>& given, std::span<const std::byte> then,
                    const std::vector<std::uint8_t>& now, const SavedTypes::Reading& reading) {
  std::vector<std::uint8_t> by_rules(now.size());
  reading.change->apply_rules(then, std::as_writable_bytes(std::span(by_rules)));
  for (const FieldDescriptor& field : reading.now->fields) {
    const std::uint32_t bytes = field.size * field.count, end = field.offset + bytes;
    if (std::memcmp(now.data() + field.offset, by_rules.data() + field.offset, bytes) == 0) continue;
    std::erase_if(given, [&](const TemplateSpan& span) { return span.offset >= field.offset && span.offset < end; });
    given.push_back({.offset = field.offset, .bytes = bytes});
  }
  std::ranges::sort(given, {}, &TemplateSpan::offset);
}

std::expected<void, SchemaError> convert(TemplateValue& value, const SavedTypes::Reading& reading) {
  value.type = reading.now->id;
  value.fingerprint = reading.now->fingerprint;
  if (reading.change == nullptr) return {};
  const auto then = std::as_bytes(std::span(value.value));
  if (then.size() < reading.then->size)
    return std::unexpected(SchemaError{reading.then->name, {}, "has a truncated value in a template"});
  std::vector<std::uint8_t> now(reading.now->size);
  reading.change->apply(then, std::as_writable_bytes(std::span(now)));
  std::vector<TemplateReference> references;
  for (const TemplateReference& reference : value.references)
    if (const auto place = reading.change->place(reference.offset))
      references.push_back({.offset = *place, .node = reference.node});
  value.given = convert_given(value.given, reading);
  if (reading.change->has_conversion()) give_converted(value.given, then, now, reading);
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
        if (!types.is_saved(value.type)) continue;  // the template's reader reports the error
        const auto reading = types.reading(value.type);
        if (!reading) return std::unexpected(reading.error());
        if (reading->change == nullptr && reading->now->id == value.type &&
            reading->now->fingerprint == value.fingerprint)
          continue;
        changed = true;
        if (auto converted = convert(value, *reading); !converted) return std::unexpected(converted.error());
      }
    // Sort again, because values are sorted by type and types may have new names.
    std::ranges::sort(node.components, {}, &TemplateValue::type);
  }
  if (!changed) return std::optional<DefineTemplate>();
  return made;
}

}  // namespace muster
