#include "registry/apply/text_mentions.h"

#include <cstring>

#include "messages/step_batches.h"

namespace muster {
namespace {

Text text_at(const std::byte* at) noexcept {
  Text text;
  std::memcpy(&text, at, sizeof text);
  return text;
}

}  // namespace

void TextMentions::in_bytes(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(Text) <= bytes.size(); at += 4) in(text_at(bytes.data() + at));
}

void TextMentions::in(BatchView batch, std::uint32_t first, std::size_t offset) {
  if (batch.type() == TypeTraits<DropTexts>::id) return;
  switch (batch.kind()) {
    case BatchKind::timed: return in(batch.inner());
    case BatchKind::table: {
      const std::byte* at = batch.body() + offset;
      for (std::uint32_t i = first; i < batch.count(); ++i) {
        const TableItem item = table_item(batch, at);
        if (batch.type() == TypeTraits<InternText>::id) in(text_of(InternTextView::from(item.table).text()));
        if (batch.type() == TypeTraits<Step>::id)
          StepBatches(item.table).for_each([&](const BatchView& inside) { in(inside); });
        in_bytes(item.table);
        at = item.next;
      }
      return;
    }
    case BatchKind::shared: return in_bytes({batch.payload(0), batch.header().payload_bytes});
    default:
      for (std::uint32_t i = first; i < batch.count(); ++i) in_bytes({batch.payload(i), batch.header().payload_bytes});
  }
}

void TextMentions::in(const Template& what, DefineTemplateView definition, const TypeTable& types) {
  // Defining a template adds these texts, and loading a state defines the template again.
  in(text_of(definition.name()));
  for (const std::string_view text : definition.texts()) in(text_of(text));
  const auto look = [&](std::span<const Template::Value> values) {
    for (const Template::Value& value : values) {
      const TypeDescriptor* type = types.find(value.type);
      const std::byte* const bytes = what.data() + value.at;
      if (!type || type->is_table)
        in_bytes({bytes, value.bytes});
      else if (value.bytes != 0)
        for (const std::uint32_t at : type->text_offsets) in(text_at(bytes + at));
    }
  };
  for (const Template::Node& node : what.nodes()) {
    in(node.name);
    look(what.components(node));
    look(what.messages(node));
  }
}

void TextMentions::in(const Storage& storage) {
  for (const auto& archetype : storage.archetypes()) {
    for (std::uint32_t slot = column_first; slot < archetype->pod_slots; ++slot) {
      const StoredType& type = *archetype->slot_types[slot];
      for (const std::uint32_t offset : type.descriptor->text_offsets)
        for (const Group& group : archetype->groups)
          for (const Chunk* chunk : group.chunks) {
            const std::byte* at = chunk->slots()[slot].data + offset;
            for (std::uint32_t row = 0; row < chunk->count; ++row, at += type.size) in(text_at(at));
          }
    }
  }
}

}  // namespace muster
