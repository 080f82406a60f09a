// Lists the messages that the registry itself acts on.
#pragma once

#include <vector>

#include "messages/batch.h"
#include "schema/descriptor.h"
#include "schema/muster.h"

namespace muster {

/// True if a single message of this type creates or changes whole trees.
constexpr bool is_tree(TypeId message) noexcept {
  return message == TypeTraits<Spawn>::id || message == TypeTraits<MergeTemplate>::id;
}

/// True if each message of this type acts on a single entity or tree. Such a message is refused if
/// it is sent to the world or to a line of entities.
constexpr bool is_structural(TypeId message) noexcept {
  switch (message) {
    case TypeTraits<Create>::id:
    case TypeTraits<Destroy>::id:
    case TypeTraits<Set>::id:
    case TypeTraits<Remove>::id:
    case TypeTraits<SetField>::id:
    case TypeTraits<SetFieldIf>::id:
    case TypeTraits<Reparent>::id:
    case TypeTraits<Rename>::id:
    case TypeTraits<Spawn>::id:
    case TypeTraits<MergeTemplate>::id:
    case TypeTraits<ComponentChanged>::id: return true;
    default: return false;
  }
}
/// True if the registry itself acts on this message type.
constexpr bool is_builtin(TypeId message) noexcept {
  switch (message) {
    case TypeTraits<InternText>::id:
    case TypeTraits<DropTexts>::id:
    case TypeTraits<Grant>::id:
    case TypeTraits<ReturnGrant>::id:
    case TypeTraits<CancelTimer>::id:
    case TypeTraits<DefineTemplate>::id:
    case TypeTraits<EnableHandler>::id:
    case TypeTraits<HandlerRequest>::id:
    case TypeTraits<Step>::id:
    case TypeTraits<ReleaseIds>::id:
    case TypeTraits<DropCarried>::id:
    case TypeTraits<Advance>::id: return true;
    default: return is_structural(message);
  }
}

/// True if a push of this batch is delivered before the messages that a cut cascade carries over:
/// it switches a handler, interns the handler's name, or drops the carried messages.
inline bool goes_ahead(const BatchView& batch) noexcept {
  return batch.kind() != BatchKind::timed &&
         (batch.type() == TypeTraits<EnableHandler>::id || batch.type() == TypeTraits<DropCarried>::id ||
          batch.type() == TypeTraits<InternText>::id);
}

/// True if a Step may contain messages of this type: edits, and messages of the game. A registry
/// cannot take back its other messages.
constexpr bool fits_step(TypeId message) noexcept {
  switch (message) {
    case TypeTraits<InternText>::id:
    case TypeTraits<DefineTemplate>::id: return true;
    case TypeTraits<ComponentChanged>::id: return false;
    default: return is_structural(message) || !is_builtin(message);
  }
}

/// Appends the ids of the entities that the batch creates through Create, Spawn, and MergeTemplate
/// messages. For a timed batch, examines the batch inside it.
inline void add_made(BatchView batch, std::vector<Entity>& ids) {
  if (batch.kind() == BatchKind::timed) return add_made(batch.inner(), ids);
  if (batch.type() != TypeTraits<Create>::id && !is_tree(batch.type())) return;
  if (batch.kind() != BatchKind::each && batch.kind() != BatchKind::shared) return;
  for (std::uint32_t i = 0; i < batch.count(); ++i) ids.push_back(batch.target(i));
}

}  // namespace muster
