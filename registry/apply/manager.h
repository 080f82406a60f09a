// An owner of component data outside the registry's chunks, such as several values per entity,
// large arrays, or objects of another engine. A manager chooses its own layout and lookup. It
// subscribes to messages like any other subscriber and names the data it touches in the options'
// external_reads and external_writes. The registry calls only the functions below, all of which
// have default implementations.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

class BatchWriter;  // messages/batch_writer.h

/// A value that a manager holds for an entity, as shown to inspectors and snapshots. Views are
/// valid only during the call.
struct Held {
  /// The type of the value if its bytes are a struct of the schema; otherwise 0.
  TypeId type = 0;
  std::string_view name;       ///< the name of the value, such as "mesh"
  std::uint64_t instance = 0;  ///< distinguishes several values of one entity; 0 if there is at
                               ///< most one
  std::span<const std::byte> bytes;
};

/// Receives the parts that a manager saves. The caller of Manager::save_parts owns the sink and
/// destroys it after the call.
class ManagerSink {
 public:
  virtual ~ManagerSink() = default;
  /// Must be called before the bytes of a part are built. Returns true if an earlier save of this
  /// manager wrote the part at this version and the part is still stored. In that case, part() must
  /// not be called for it.
  virtual bool has(std::uint32_t number, std::uint64_t version) = 0;
  /// Stores a part. `bytes` need to be valid only during the call.
  virtual void part(std::uint32_t number, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// One part of a saved manager. The bytes are valid only during the call and may be unaligned.
struct ManagerPart {
  std::uint32_t number = 0;
  std::span<const std::byte> bytes;
};

/// The state of a manager at a moment (registry/moments/moments.h). The manager defines what it
/// contains. Moments share it, so it must not change.
class ManagerMoment {
 public:
  virtual ~ManagerMoment() = default;
  /// Returns the number of bytes that the moment occupies, for the limit on all moments. Bytes that
  /// several moments share count once for each of them.
  virtual std::size_t bytes() const { return 0; }
};

/// A manager belongs to the host and must be removed from the registry before it is destroyed. Its
/// functions are called on the registry's thread, between messages and never while a handler runs.
/// They may read the registry but must not change it.
class Manager {
 public:
  virtual ~Manager() = default;
  /// Reports the entities that have died, in order of destruction. Called after each delivered
  /// input and after each batch that handlers posted, if any entity died. A manager that cleans up
  /// gradually can call EntityRegistry::alive instead of implementing this function.
  virtual void on_destroyed(std::span<const Entity> gone) { static_cast<void>(gone); }
  /// Calls `take` for each component that this manager holds for a living entity. The order must
  /// not depend on addresses.
  virtual void describe(Entity e, const std::function<void(const Held&)>& take) const {
    static_cast<void>(e);
    static_cast<void>(take);
  }
  /// Appends messages to `to` that make the manager hold for `e` what it holds for it now. Called
  /// for each living entity that an edit is about to destroy. If the deletion is undone, the
  /// entity's handlers receive the messages after all entities of the subtree have been revived.
  /// All messages must be addressed to `e` alone, and none may be of a type on which the registry
  /// itself acts. If it holds nothing for `e`, it appends nothing and returns true.
  ///
  /// Returns false, without appending anything, if the manager cannot do this, as the default does.
  /// If describe() shows that the manager holds something for `e`, the deletion is final for that
  /// data, which the history and lost_if_destroyed() report (registry/history/held_data.h).
  virtual bool save_entity(Entity e, BatchWriter& to) const {
    static_cast<void>(e);
    static_cast<void>(to);
    return false;
  }
  /// Returns the version of the format that save() or save_parts() writes; it must be below 2^31.
  /// load() and load_parts() receive the version of the saved state. If the saved version is newer
  /// than the current one, the state is refused and neither function is called.
  virtual std::uint32_t state_version() const { return 1; }
  /// Appends everything that determines the manager's future behavior. The same history must
  /// produce the same bytes.
  virtual void save(std::vector<std::byte>& out) const { static_cast<void>(out); }
  /// Replaces the manager's state with the state that save() wrote, possibly in an earlier process.
  /// On failure, returns a description of the problem and leaves the manager unchanged. The default
  /// accepts only an empty state.
  [[nodiscard]] virtual std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) {
    static_cast<void>(version);
    if (bytes.empty()) return {};
    return std::unexpected("its state is in one piece, which this build cannot read");
  }

  /// Keeps the current state in memory, so that return_to() can restore it. A manager that has not
  /// changed since the previous call may return the same object. The default returns null, which
  /// means that the manager cannot do this; Moments::keep() then fails and names the manager.
  virtual std::shared_ptr<const ManagerMoment> keep() { return nullptr; }
  /// Returns to a state that keep() returned for this object. Must succeed. Called after rows and
  /// ids were restored.
  virtual void return_to(const ManagerMoment& moment) { static_cast<void>(moment); }

  /// True if the manager saves its state in parts, each in its own row. In that case, save_parts()
  /// is called instead of save(), and a checkpoint builds and writes only the parts that have
  /// changed. Intended for large managers, for example with one part per 1024 instances.
  virtual bool in_parts() const { return false; }
  /// For each part, in ascending order of part numbers below 2^32 - 1, calls has(), and then part()
  /// if the part is not stored. A part for which neither function is called ceases to exist.
  ///
  /// A part's version must be below 2^40. It must change whenever the part's bytes may have changed
  /// since a save, even if the part was removed and added again; the value of
  /// EntityRegistry::version() at the part's last change is suitable. Versions may start over after
  /// load_parts() and in another manager of the same name.
  ///
  /// The parts are hashed, so the same history must produce the same bytes in the same parts. Stops
  /// the program if the order is wrong or a version is too large.
  virtual void save_parts(ManagerSink& to) const { static_cast<void>(to); }
  /// Like load(), but for parts written by save_parts(). Receives all parts, in ascending order.
  /// State that was saved in one piece is passed to load() instead, and is saved in parts the next
  /// time.
  [[nodiscard]] virtual std::expected<void, std::string> load_parts(std::uint32_t version,
                                                                    std::span<const ManagerPart> parts) {
    static_cast<void>(version);
    static_cast<void>(parts);
    return std::unexpected("its state is in parts, which this build cannot read");
  }
};

/// The saved state of a manager.
struct SavedManager {
  /// The version, the name, and the state if it was saved in one piece.
  std::vector<std::byte> head;
  std::map<std::uint32_t, std::vector<std::byte>> parts;  ///< by part number
  /// The time at which the registry received the state, given as the number of managers and states
  /// that it had received so far.
  std::uint64_t moment = 0;
};
/// Keyed by the hash64 of the managers' names.
using ManagerStates = std::map<std::uint64_t, SavedManager>;

}  // namespace muster
