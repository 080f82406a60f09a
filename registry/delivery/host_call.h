// The shortcut for some of the host's own calls: create, set, remove, and destroy of single
// entities, create_many, and spawn. These calls write rows without delivering a message, with the
// same results as Structure (registry/apply/structure.h).
//
//   a session's input   Inputs > Delivery > Structure      the sender: Envelope::session
//   a handler's push    Inputs > Delivery > Structure
//   the host's call     Inputs > Delivery > Structure
//     or, as a shortcut HostCall                           HostEnvelope: never a session
//
// Therefore, a log of sessions' edits needs to observe only Structure. The types enforce this:
// apart from Structure, only a HostCall can write to Storage, and the input of a HostCall cannot
// come from a session.
#pragma once

#include <cstdint>
#include <span>

#include "registry/delivery/registry_core.h"

namespace muster {

/// Numbers the input of a call and shows it to the sinks, after which the caller writes the rows.
/// For the lifetime of the HostCall, the registry counts as processing this input.
class HostCall {
 public:
  /// If there is a sink, calls `seal()`, which builds the batch, and shows the batch to the sink.
  /// If the sink throws, calls `undo()`.
  template <class Seal, class Undo>
  [[gnu::always_inline]] HostCall(RegistryCore& core, HostEnvelope& envelope, Seal seal, Undo undo)
      : core_(core), mark_(core), envelope_(envelope) {
    if (InputSink* const sink = core.told) {
      try {
        core.tell_to(*sink, envelope, seal());
      } catch (...) {
        undo();
        throw;
      }
    } else {
      core.number();
    }
  }
  template <class Seal>
  [[gnu::always_inline]] HostCall(RegistryCore& core, Seal seal) : HostCall(core, core.pushed, seal, [] {}) {}
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  /// Issue ids that do not have a state yet. Must be called before the HostCall is constructed. The
  /// call must create the entities of these ids, or `undo` must return the ids.
  [[gnu::always_inline]] static Entity take_id(RegistryCore& core) { return core.state.storage.take_id(); }
  static void take_ids(RegistryCore& core, std::span<Entity> ids) { core.state.storage.take_ids(ids); }
  static void undraw(RegistryCore& core, Entity taken) noexcept { core.state.storage.undraw_taken(taken); }

  /// Creates a row for a taken id in `open`, which must have room for it. Returns the number of the
  /// row.
  [[gnu::always_inline]] std::uint32_t create(Entity e, const OpenChunk& open) const {
    return core_.state.storage.create_plain(e, *open.chunk);
  }
  /// Finds the chunk in which the next row will be placed.
  void reopen(CreateSite& site, std::span<const TypeId> types) const {
    site.open.reopen(core_.state.storage, *site.archetype, types);
  }
  /// See Storage::create_run.
  Storage::Run create_run(std::span<const Entity> taken, Archetype& archetype) const {
    return core_.state.storage.create_run(taken, archetype);
  }
  Storage::Run create_run(std::size_t count, Archetype& archetype, bool far) const {
    return core_.state.storage.create_run(count, archetype, far);
  }
  /// Moves a row that its site already knows. Returns the number of the row in the site's open
  /// chunk.
  [[gnu::always_inline]] std::uint32_t move_recent(MoveSite& site, Entity e, std::uint64_t place) const {
    return site.move_known(core_.state.storage, e, static_cast<std::uint32_t>(place));
  }
  /// Moves any row of the site that is at depth 0.
  std::uint32_t move(MoveSite& site, Entity e, Chunk& from, std::uint64_t place) const {
    return site.move(core_.state.storage, e, from, static_cast<std::uint32_t>(place));
  }
  /// Moves any row of the site that is below depth 0.
  Row move_below(const MoveSite& site, Entity e, Row row) const { return site.move_below(core_.state.storage, e, row); }
  /// Must be called before a value is overwritten in place.
  [[gnu::always_inline]] void touch(Chunk& chunk, std::uint16_t slot) const { core_.state.storage.touch(chunk, slot); }
  [[gnu::always_inline]] void enable(Row row, std::uint16_t presence) const {
    core_.state.storage.enable(row, presence);
  }
  [[gnu::always_inline]] void disable(Row row, std::uint16_t presence, std::uint16_t column, std::uint32_t size) const {
    core_.state.storage.disable(row, presence, column, size);
  }
  /// Destroys an entity for which stands_alone() is true.
  [[gnu::always_inline]] void destroy(Row row, Entity e) const { core_.state.storage.destroy_plain(row, e); }

  /// Must be called after the rows have been written.
  [[gnu::always_inline]] Receipt done(std::uint32_t handled = 1) const {
    core_.count({.handled = handled});
    if (core_.told_pushes) [[unlikely]]
      core_.tell_receipt(envelope_, {.sequence = core_.state.sequence, .handled = handled});
    return {.sequence = core_.state.sequence, .handled = handled};
  }

 private:
  RegistryCore& core_;
  InInput mark_;
  const HostEnvelope& envelope_;
};

}  // namespace muster
