// An owner of component data outside the registry's chunks: several per entity, big arrays, a foreign engine's objects.
// It decides its own layout and lookup, and subscribes to messages like anyone (naming what it touches in the options'
// external_reads and external_writes). All that the registry asks of it is here, and all of it may be left out.
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

/// What a manager holds for an entity, as shown to inspectors and snapshots. Views are valid during the call.
struct Held {
  TypeId type = 0;             ///< of the value's bytes, where they are those of a schema's struct; else 0
  std::string_view name;       ///< what it is called: "mesh"
  std::uint64_t instance = 0;  ///< tells several of one entity apart; 0 where there is one at most
  std::span<const std::byte> bytes;
};

/// Receives the parts of what a manager saves. Belongs to who calls Manager::save_parts, and goes when that returns.
class ManagerSink {
 public:
  virtual ~ManagerSink() = default;
  /// To be asked before a part's bytes are put together. True: an earlier save of this manager gave the part at this version, and
  /// it is kept; part() must not be called for it then.
  virtual bool has(std::uint32_t number, std::uint64_t version) = 0;
  /// `bytes` are valid during the call.
  virtual void part(std::uint32_t number, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// One part of a saved manager. The bytes are valid during the call and begin at any address.
struct ManagerPart {
  std::uint32_t number = 0;
  std::span<const std::byte> bytes;
};

/// Belongs to the host and must be removed from the registry before it goes. Called on the registry's thread, between
/// messages and never while a handler runs; it may read the registry but not change it.
class Manager {
 public:
  virtual ~Manager() = default;
  /// Tells which entities died, in the order of their destruction. Called after a delivered input, and after each batch
  /// that handlers pushed, where any died. A manager that rather sweeps by and by leaves it out and asks
  /// EntityRegistry::alive.
  virtual void on_destroyed(std::span<const Entity> gone) { static_cast<void>(gone); }
  /// Calls `take` for each component of a (living) entity, in an order of its own that does not depend on addresses.
  virtual void describe(Entity e, const std::function<void(const Held&)>& take) const {
    static_cast<void>(e);
    static_cast<void>(take);
  }
  /// The version of what save() or save_parts() writes, below 2^31. load() and load_parts() are told which one they get. State of a
  /// newer version than this is refused, and they are not called.
  virtual std::uint32_t state_version() const { return 1; }
  /// Appends everything that decides what the manager does later. The same history must give the same bytes.
  virtual void save(std::vector<std::byte>& out) const { static_cast<void>(out); }
  /// Takes over what save() wrote, in this process or an older one. An error names what is wrong; the manager is then
  /// as it was before. Left out, it takes a state without bytes alone.
  [[nodiscard]] virtual std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) {
    static_cast<void>(version);
    if (bytes.empty()) return {};
    return std::unexpected("its state is in one piece, which this build cannot read");
  }

  /// True: what it saves is in parts, each a row of its own, and a checkpoint puts together and writes those alone that changed. Then
  /// save_parts() is called in place of save(). For large managers: a part for each 1024 instances, say.
  virtual bool in_parts() const { return false; }
  /// Asks for each part whether it is there at its version, and gives it where it is not, in ascending order of their numbers, which are
  /// below 2^32 - 1. A part that is neither asked for nor given is no more. A part's version is below 2^40 and another one whenever its
  /// bytes may have changed since a save, also where the part went and came again: EntityRegistry::version() at its last change is such.
  /// After load_parts(), and in another manager of the name, versions may begin anew. The same history must give the same bytes in
  /// the same parts: they are hashed. A wrong order and a version that is too large end the program.
  virtual void save_parts(ManagerSink& to) const { static_cast<void>(to); }
  /// As load(), of what save_parts() gave: all parts, in ascending order. What was saved in one piece comes by load(), and is saved in parts
  /// the next time.
  [[nodiscard]] virtual std::expected<void, std::string> load_parts(std::uint32_t version,
                                                                    std::span<const ManagerPart> parts) {
    static_cast<void>(version);
    static_cast<void>(parts);
    return std::unexpected("its state is in parts, which this build cannot read");
  }
};

/// What a manager saved.
struct SavedManager {
  std::vector<std::byte> head;                            ///< version, name, and the state where it is in one piece
  std::map<std::uint32_t, std::vector<std::byte>> parts;  ///< by their numbers
  std::uint64_t moment = 0;                               ///< when its registry got it, in figures of that registry
};
/// By hash64 of the managers' names.
using ManagerStates = std::map<std::uint64_t, SavedManager>;

}  // namespace muster
