// The interface for logs that record the edits made by sessions, for example to undo them. When
// Structure applies a structural message that a session sent, it passes the message to the log.
// Messages from handlers, timers, and the host are not edits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/batch.h"
#include "registry/apply/receipt.h"
#include "schema/muster.h"

namespace muster {

/// The sender of an input, as in Envelope.
struct Sender {
  std::uint64_t session = 0;  ///< 0 if the sender is not a session
  std::uint64_t user = 0, request = 0;
  std::uint64_t sequence = 0;  ///< of the input
};

/// A message from a session. Valid only during the call.
struct Edit {
  const Sender& by;
  TypeId type;
  /// The target entities; empty for a message to the world. A message with many targets may be
  /// split into several consecutive edits. Creates of a Step with the same components can be one
  /// edit; EditLog::after() then receives only the entities that were created.
  std::span<const Entity> targets;
  const std::byte* payload;           ///< the first message; null for a table
  std::span<const RowSetEntry> rows;  ///< components contained in the payload
  std::span<const std::byte> table;   ///< the message if it is a table; otherwise empty
};

/// If a registry has a log, ids that an edit destroys are parked (IdState::parked): they keep their
/// generation, and are issued again only after a ReleaseIds. A Create within a Step whose `act` is
/// not `edit` may use a parked id. Parked ids are part of the state, so a replay needs a log, too.
///
/// A Step is delivered message by message, to all handlers. If a message is refused or its target
/// is not alive, the Step is refused as a whole: the log takes back the edits before it, and the
/// messages that handlers have pushed during the Step are dropped. Values that these handlers
/// wrote, values of runtime components, and texts that the Step added are not taken back.
///
/// A registry refuses a Step as a whole (RefusalCode::no_edit_log) if it has no log, or if the Step
/// comes from its host, a handler, or a timer: then nothing could be taken back.
///
/// All functions are called on the registry's thread. They must not use the registry, except to
/// read its storage and hierarchy.
class EditLog {
 public:
  virtual ~EditLog() = default;
  /// Called before the edit changes anything.
  virtual void before(const Edit& edit) = 0;
  /// Called after the edit was applied completely or was refused without effect.
  virtual void after(const Edit& edit, const Refusal& refusal) = 0;
  /// Called before the edits of a Step.
  virtual void step_begins(const Sender& by, const StepView& step) = 0;
  /// Called if a message of the Step was refused. Returns batches that take back the edits of the
  /// Step so far, in order: structural messages of kind each or shared, and DefineTemplate. They
  /// are aligned to 16 bytes and valid until the next call. The registry applies them without
  /// calling the log or any handler. They may create entities with parked ids. If they destroy an
  /// entity that the Step created, the registry gives its id the state from before the Step.
  virtual std::span<const std::byte> take_back() = 0;
  /// Called after the last edit of a Step, or after the Step was taken back.
  virtual void step_ends(bool applied) = 0;
};

}  // namespace muster
