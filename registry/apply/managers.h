// The managers of a registry, by name. Private to registry/*.cc.
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
  /// What it would save is kept, and given to the next one of its name.
  void remove(Manager& manager);
  Manager* find(std::string_view name) const noexcept;
  const ManagerStates& waiting() const noexcept { return waiting_; }
  void set_waiting(ManagerStates states) { waiting_ = std::move(states); }

  /// Tells who died since the last call.
  void tell_destroyed() {
    if (!gone_.empty()) [[unlikely]]
      tell();
  }
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;

  /// One row per manager and per state that waits: | version 4 | name length 4 | name | state |, key hash64 of the name.
  void save(const std::function<void(std::uint64_t key, std::span<const std::byte>)>& row) const;
  /// Empty, or what is wrong.
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
