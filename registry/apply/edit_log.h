// The interface for logs of sessions' edits, for example to undo them. A log sees each message that
// changes structure as Structure applies it, if a session sent the message. Messages from handlers,
// timers and the host are not edits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/batch.h"
#include "registry/apply/receipt.h"

namespace muster {

/// The sender of an input, as in Envelope.
struct Editor {
  std::uint64_t session = 0;  ///< 0 if the sender is not a session
  std::uint64_t user = 0, request = 0;
};

/// A message from a session. Valid during the call.
struct Edit {
  const Editor& by;
  TypeId type;
  /// The target entities; empty for a message to the world. A message to many entities may be split
  /// into several edits, in order.
  std::span<const Entity> targets;
  const std::byte* payload;           ///< the message; null for a table
  std::span<const RowSetEntry> rows;  ///< components in the payload
  std::span<const std::byte> table;   ///< the message if it is a table
};

/// Called on the registry's thread. Must not use the registry, except for reading its storage and
/// hierarchy.
class EditLog {
 public:
  virtual ~EditLog() = default;
  /// Called before the edit changes anything.
  virtual void before(const Edit& edit) = 0;
  /// Called after the edit was applied completely, or refused without effect.
  virtual void after(const Edit& edit, const Refusal& refusal) = 0;
};

}  // namespace muster
