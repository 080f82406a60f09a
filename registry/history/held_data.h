// What managers hold for entities that are about to be destroyed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/history/parts.h"
#include "registry/history/rows_now.h"

namespace muster {

/// A manager that would lose data for good.
struct LostData {
  std::string manager;
  std::uint32_t entities = 0;  ///< number of entities for which it holds data
};

/// Returns what an undo could not bring back if these entities and everything below them were
/// destroyed by an edit: the data of managers that describe it (Manager::describe) but do not save
/// it (Manager::save_entity). Ascending by the managers' names. The time is proportional to the
/// number of entities and managers. Used between inputs, on the registry's thread.
std::vector<LostData> lost_if_destroyed(const EntityRegistry& registry, std::span<const Entity> targets);

namespace history {

/// Asks all managers what they hold for the entities of a snapshot. Adds the texts that their
/// messages mention to the snapshot's. Stops the program if a manager returns messages that
/// Manager::save_entity must not return.
HeldData held_data(const RowsNow& now, Snapshot& snapshot);

/// True if `bytes` consists of messages that handlers receive and whose targets are in the
/// snapshot. Types must be known. False for damaged bytes.
bool are_held_messages(std::span<const std::byte> bytes, const Snapshot& snapshot, const TypeTable& types);

}  // namespace history

}  // namespace muster
