// Keeps the managers of a registry, by name, and the saved states of those that are not here. Private to registry/*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "registry/apply/manager.h"
#include "registry/storage/storage.h"

namespace muster {

class Managers {
 public:
  explicit Managers(Storage& storage) : storage_(storage) {}

  /// Throws SetupError where the name is taken, empty, or where the manager refuses the state that waits for it.
  void add(std::string name, Manager& manager);
  /// Takes a manager away. What it would save is kept, and given to the next manager of its name.
  void remove(Manager& manager);
  Manager* find(std::string_view name) const noexcept;
  const ManagerStates& waiting() const noexcept { return waiting_; }
  void set_waiting(ManagerStates states) { waiting_ = std::move(states); }

  /// Tells the managers which entities died since the last call.
  void tell_destroyed() {
    if (!gone_.empty()) [[unlikely]]
      tell();
  }
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;

  /// Calls `row` for each manager and each state that waits: | version 4 | name length 4 | name | state |; the key is
  /// the hash64 of the name.
  void save(const std::function<void(std::uint64_t key, std::span<const std::byte>)>& row) const;
  /// Gives a saved row to its manager, or keeps it until that comes. Returns what is wrong; an empty text: nothing.
  std::string load(std::uint64_t key, std::span<const std::byte> row);

 private:
  void tell();
  static std::vector<std::byte> row_of(const std::string& name, const Manager& manager);

  Storage& storage_;
  std::map<std::string, Manager*, std::less<>> managers_;
  ManagerStates waiting_;  // rows of managers that are not here
  std::vector<Entity> gone_, telling_;
};

}  // namespace muster
