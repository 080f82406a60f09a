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
  /// The version of what save() writes; load() is told which one it gets.
  virtual std::uint32_t state_version() const { return 1; }
  /// Appends everything that decides what the manager does later. The same history must give the same bytes.
  virtual void save(std::vector<std::byte>& out) const { static_cast<void>(out); }
  /// Takes over what save() wrote, in this process or an older one. An error names what is wrong; the manager is then
  /// as it was before.
  [[nodiscard]] virtual std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) {
    static_cast<void>(version);
    static_cast<void>(bytes);
    return {};
  }
};

/// Saved managers by hash64 of their names: name, version and state.
using ManagerStates = std::map<std::uint64_t, std::vector<std::byte>>;

}  // namespace muster
