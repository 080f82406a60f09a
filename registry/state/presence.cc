#include "registry/state/presence.h"

#include <cstring>

#include "registry/apply/structure.h"

namespace muster {

bool settle_presence(Chunk& chunk) noexcept {
  const Archetype& archetype = *chunk.archetype;
  if (!archetype.enableable) return true;
  for (std::size_t i = 0; i < archetype.types.size(); ++i) {
    if (archetype.presences[i] == no_column) continue;
    const std::uint16_t column = archetype.columns[i];
    for (std::uint32_t row = 0; row < chunk.count; ++row) {
      const Row at{&chunk, row};
      const PresenceWord says = at.presence(archetype.presences[i]);
      if (says > 1) return false;
      if (says == 1 || column == no_column) continue;
      const std::uint32_t bytes = archetype.slot_bytes[column];
      std::memset(at.at(column, bytes), 0, bytes);
    }
  }
  return true;
}

void LackedComponents::add(Chunk& chunk, std::span<const std::byte> says, TypeId component) {
  for (std::uint32_t row = 0; row < chunk.count; ++row) {
    PresenceWord word;
    std::memcpy(&word, says.data() + row * sizeof word, sizeof word);
    if (word == 0) rows_.emplace_back(Row{&chunk, row}, component);
  }
}

void LackedComponents::fill() const noexcept {
  for (const auto& [row, component] : rows_) {
    const Archetype& archetype = *row.chunk->archetype;
    const std::uint16_t column = archetype.column(component);
    if (column >= archetype.pod_slots) continue;  // now a tag or a runtime component
    const StoredType& type = *archetype.slot_types[column];
    std::memcpy(row.at(column, type.size), type.descriptor->default_bytes.data(), type.size);
  }
}

void LackedComponents::take(Structure& structure) {
  std::vector<std::pair<Entity, Remove>> lacking;
  for (const auto& [row, component] : rows_)
    lacking.emplace_back(row.chunk->ids()[row.row], Remove{.component = component});
  rows_.clear();
  for (const auto& [e, message] : lacking)
    structure.apply(TypeTraits<Remove>::id, e, reinterpret_cast<const std::byte*>(&message), {});
}

}  // namespace muster
