// Keeps the managers of a registry, by name, and the saved states of those that are not here.
// Private to registry/*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "registry/apply/manager.h"
#include "registry/apply/registry_state.h"
#include "registry/storage/storage.h"

namespace muster {

/// Where the rows of managers go; `key` is the hash64 of the manager's name.
class ManagerRows {
 public:
  virtual ~ManagerRows() = default;
  /// The row with the name, given every time, behind the parts.
  virtual void head(std::uint64_t key, std::span<const std::byte> bytes) = 0;
  /// As ManagerSink; versions are those of the registry's life.
  virtual bool has(std::uint64_t key, std::uint32_t number, std::uint64_t version) = 0;
  virtual void part(std::uint64_t key, std::uint32_t number, std::uint64_t version,
                    std::span<const std::byte> bytes) = 0;
};

// --- managers' rows on their way into a state that is read; each returns what is wrong, an empty
// text if nothing is ---

/// Keeps a saved head.
std::string keep_manager(ManagerStates& states, std::uint64_t key, std::span<const std::byte> head);
/// Keeps a part whose head came before.
std::string keep_manager_part(ManagerStates& states, std::uint64_t key, std::uint32_t number,
                              std::span<const std::byte> bytes);
/// To be called when all rows came. If something is wrong, `key` says with which.
std::string check_managers(const ManagerStates& states, std::uint64_t& key);

class Managers {
 public:
  explicit Managers(RegistryState& state) : storage_(state.storage), waiting_(state.managers) {}

  /// Throws SetupError where the name is taken, empty, or where the manager refuses the state that
  /// waits for it.
  void add(std::string name, Manager& manager);
  /// Takes a manager away. What it would save is kept, and given to the next manager of its name.
  void remove(Manager& manager);
  Manager* find(std::string_view name) const noexcept;
  const ManagerStates& waiting() const noexcept { return waiting_; }
  void set_waiting(ManagerStates states);

  /// Tells the managers which entities died since the last call.
  void tell_destroyed() {
    if (!gone_.empty()) [[unlikely]]
      tell();
  }
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;

  /// Gives the rows of each manager and of each state that waits, ascending by the hash64 of their
  /// names:
  ///   head   | version 4 | name length 4 | name | state |   bit 31 of version: the state is in parts, and here is | parts 4 |
  ///   parts  the manager's bytes, ascending by number
  void save(ManagerRows& to) const;
  /// To be called right before the registry's state is exchanged for one that has `incoming`. Gives
  /// each manager what that holds for it, and takes it out of there; a manager of which nothing is
  /// there gets what it had when it was added. What the managers would have saved goes to the
  /// registry's state. Returns what is wrong, an empty text if nothing is: then `key` says with
  /// which manager, and all managers and both states are as they were. A manager that does not take
  /// back what it saved itself stops the program.
  std::string exchange(ManagerStates& incoming, std::uint64_t& key);

 private:
  /// A manager that is here.
  struct Present {
    Manager* manager;
    std::uint64_t moment;   // when it came, or was loaded: its parts' versions count from there
    SavedManager at_first;  // what it would have saved when it was added
  };
  using ByName = std::map<std::string, Present, std::less<>>;

  void tell();
  /// Empty where the manager took it.
  static std::string give(std::string_view name, Manager& manager, const SavedManager& saved);
  /// The same; what the manager throws is what is wrong.
  static std::string give_caught(std::string_view name, Manager& manager, const SavedManager& saved);
  static void save_present(const std::string& name, const Present& present, ManagerRows& to);
  static void save_waiting(std::uint64_t key, const SavedManager& saved, ManagerRows& to);

  Storage& storage_;
  ByName managers_;
  ManagerStates& waiting_;     // of managers that are not here
  std::uint64_t moments_ = 0;  // at which a manager or a state came
  std::vector<Entity> gone_, telling_;
};

}  // namespace muster
