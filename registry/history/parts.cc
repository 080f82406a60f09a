#include "registry/history/parts.h"

#include <algorithm>

#include "registry/storage/text_table.h"

namespace muster::history {

bool Part::idle() const noexcept {
  switch (kind) {
    case PartKind::field:
    case PartKind::renamed:
    case PartKind::defined: return before == after;
    case PartKind::moved: return details->before == details->after;
    default: return false;
  }
}

std::uint64_t Part::memory() const noexcept {
  const auto heap = [](const std::string& text) { return text.size() > 15 ? text.size() + 1 : 0; };
  const auto all = [&](const std::vector<std::string>& texts) {
    std::uint64_t sum = 0;
    for (const std::string& text : texts) sum += sizeof text + heap(text);
    return sum;
  };
  std::uint64_t sum = sizeof *this + heap(before) + heap(after);
  if (!details) return sum;
  const Snapshot& snapshot = details->snapshot;
  sum += sizeof *details + details->ancestors.size() * sizeof(Entity) + heap(details->name) + all(details->texts);
  for (const Snapshot::Shape& shape : snapshot.shapes) sum += sizeof shape + shape.components.size() * sizeof(Layout);
  sum += details->held.messages.size() + details->held.types.size() * sizeof(Layout) + all(details->held.lost);
  return sum + snapshot.rows.size() * sizeof(Snapshot::Row) + snapshot.values.size() + all(snapshot.texts);
}

std::uint32_t Step::active_parts() const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(parts, [](const Part& part) { return !part.idle(); }));
}

std::uint64_t Step::measure() const noexcept {
  std::uint64_t sum = sizeof *this + label.size();
  for (const Part& part : parts) sum += part.memory();
  for (const SentInput& input : inputs) sum += sizeof input + input.bytes.size();
  for (const std::string& text : texts) sum += sizeof text + text.size();
  for (const auto& name : names) sum += sizeof name + name.second.size();
  return sum;
}

std::string_view Snapshot::root_name() const noexcept {
  const Text name = rows.front().name;
  const auto found = std::ranges::find(texts, name, [](std::string_view text) { return text_of(text); });
  return name && found != texts.end() ? std::string_view(*found) : std::string_view();
}

std::string property_name(const TypeDescriptor& type, std::uint32_t offset) {
  for (const FieldDescriptor& field : type.fields) {
    const std::uint32_t bytes = field.size * field.count;
    if (offset < field.offset || offset - field.offset >= bytes) continue;
    if (!field.is_array) return field.name;
    return field.name + "[" + std::to_string((offset - field.offset) / field.size) + "]";
  }
  return {};
}

}  // namespace muster::history
