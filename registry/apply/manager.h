// An owner of component data outside the registry's chunks: several values per entity, big arrays,
// objects of another engine. It chooses its own layout and lookup, and subscribes to messages like
// any other subscriber, naming the data it touches in the options' external_reads and
// external_writes. The registry calls only the functions below, and all of them are optional to
// implement.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

/// A manager's data for an entity, as shown to inspectors and snapshots. Views are valid during the
/// call.
struct Held {
  /// Type of the value if its bytes are a schema's struct; otherwise 0.
  TypeId type = 0;
  std::string_view name;       ///< its name, such as "mesh"
  std::uint64_t instance = 0;  ///< distinguishes several values per entity; 0 if at most one
  std::span<const std::byte> bytes;
};

/// Receives the parts that a manager saves. Belongs to the caller of Manager::save_parts and is
/// destroyed after that returns.
class ManagerSink {
 public:
  virtual ~ManagerSink() = default;
  /// Call this before building a part's bytes. If true, an earlier save of this manager wrote the
  /// part at this version and it is still stored; part() must not be called for it.
  virtual bool has(std::uint32_t number, std::uint64_t version) = 0;
  /// `bytes` are valid during the call.
  virtual void part(std::uint32_t number, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// One part of a saved manager. The bytes are valid during the call and may be unaligned.
struct ManagerPart {
  std::uint32_t number = 0;
  std::span<const std::byte> bytes;
};

/// Belongs to the host and must be removed from the registry before it is destroyed. Called on the
/// registry's thread, between messages and never while a handler runs. It may read the registry but
/// not change it.
class Manager {
 public:
  virtual ~Manager() = default;
  /// Reports the entities that died, in order of destruction. Called after each delivered input,
  /// and after each batch that handlers pushed, if any died. A manager that cleans up gradually can
  /// leave this out and call EntityRegistry::alive.
  virtual void on_destroyed(std::span<const Entity> gone) { static_cast<void>(gone); }
  /// Calls `take` for each component of a living entity, in an order that does not depend on
  /// addresses.
  virtual void describe(Entity e, const std::function<void(const Held&)>& take) const {
    static_cast<void>(e);
    static_cast<void>(take);
  }
  /// The version of the format that save() or save_parts() writes, below 2^31. load() and
  /// load_parts() receive the version of the saved state. State of a newer version is refused
  /// without calling them.
  virtual std::uint32_t state_version() const { return 1; }
  /// Appends everything that determines the manager's future behavior. The same history must give
  /// the same bytes.
  virtual void save(std::vector<std::byte>& out) const { static_cast<void>(out); }
  /// Replaces the manager's state with what save() wrote, in this process or an older one. On an
  /// error, which says what is wrong, the manager must be unchanged. The default accepts only an
  /// empty state.
  [[nodiscard]] virtual std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) {
    static_cast<void>(version);
    if (bytes.empty()) return {};
    return std::unexpected("its state is in one piece, which this build cannot read");
  }

  /// True if the manager saves its state in parts, each in its own row. save_parts() is then called
  /// instead of save(), and a checkpoint builds and writes only changed parts. For large managers:
  /// for example, one part per 1024 instances.
  virtual bool in_parts() const { return false; }
  /// Calls has() for each part, in ascending order of numbers below 2^32 - 1, and part() for those
  /// that are not stored. A part for which neither is called ceases to exist. A part's version is
  /// below 2^40 and must change whenever its bytes may have changed since a save, even if the part
  /// was removed and added again; EntityRegistry::version() at the part's last change is suitable.
  /// After load_parts(), and in another manager of the same name, versions may start over. The same
  /// history must give the same bytes in the same parts, because they are hashed. Stops the program
  /// if the order is wrong or a version is too large.
  virtual void save_parts(ManagerSink& to) const { static_cast<void>(to); }
  /// Like load(), for the parts that save_parts() wrote: all of them, in ascending order. State
  /// saved in one piece goes to load(), and is saved in parts the next time.
  [[nodiscard]] virtual std::expected<void, std::string> load_parts(std::uint32_t version,
                                                                    std::span<const ManagerPart> parts) {
    static_cast<void>(version);
    static_cast<void>(parts);
    return std::unexpected("its state is in parts, which this build cannot read");
  }
};

/// The saved state of a manager.
struct SavedManager {
  /// Version, name, and the state if it is in one piece.
  std::vector<std::byte> head;
  std::map<std::uint32_t, std::vector<std::byte>> parts;  ///< by part number
  /// The moment at which the registry received the state, as counted by that registry.
  std::uint64_t moment = 0;
};
/// Keyed by the hash64 of the managers' names.
using ManagerStates = std::map<std::uint64_t, SavedManager>;

}  // namespace muster
