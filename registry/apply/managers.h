// Holds the managers of a registry, by name, and the saved states of absent managers. Private to
// registry/*.cc.
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

/// Receives the rows of managers; `key` is the hash64 of the manager's name.
class ManagerRows {
 public:
  virtual ~ManagerRows() = default;
  /// The row with the name, which is written at every save, after the parts.
  virtual void head(std::uint64_t key, std::span<const std::byte> bytes) = 0;
  /// As in ManagerSink, but versions count over the registry's whole lifetime.
  virtual bool has(std::uint64_t key, std::uint32_t number, std::uint64_t version) = 0;
  virtual void part(std::uint64_t key, std::uint32_t number, std::uint64_t version,
                    std::span<const std::byte> bytes) = 0;
};

// --- reading managers' rows into a state; each function returns an error text, empty on success ---

/// Stores a saved head.
std::string keep_manager(ManagerStates& states, std::uint64_t key, std::span<const std::byte> head);
/// Stores a part. Its head must have been stored before.
std::string keep_manager_part(ManagerStates& states, std::uint64_t key, std::uint32_t number,
                              std::span<const std::byte> bytes);
/// Must be called after the last row. On an error, `key` identifies the manager.
std::string check_managers(const ManagerStates& states, std::uint64_t& key);

class Managers {
 public:
  explicit Managers(RegistryState& state) : storage_(state.storage), waiting_(state.managers) {}

  /// Throws SetupError if the name is taken or empty, or if the manager refuses its waiting state.
  void add(std::string name, Manager& manager);
  /// Removes a manager. Its state is kept and given to the next manager of that name.
  void remove(Manager& manager);
  const ManagerStates& waiting() const noexcept { return waiting_; }
  void set_waiting(ManagerStates states);

  /// Tells the managers which entities have died since the last call.
  void tell_destroyed() {
    if (!gone_.empty()) [[unlikely]]
      tell();
  }
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;

  /// Writes the rows of each manager and of each waiting state, ascending by the hash64 of their
  /// names:
  ///   head   | version 4 | name length 4 | name | state |   if bit 31 of version is set: | parts 4 | instead of the state
  ///   parts  the manager's bytes, ascending by number
  void save(ManagerRows& to) const;
  /// Must be called right before the registry's state is exchanged for the one that has `incoming`.
  /// Moves the state of each manager from `incoming` to the manager; a manager without one gets the
  /// state that it had when it was added. The managers' old states go to the registry's state.
  /// Returns an error text, empty on success. On an error, `key` identifies the manager, and all
  /// managers and both states are unchanged. Stops the program if a manager refuses a state that it
  /// saved itself.
  std::string exchange(ManagerStates& incoming, std::uint64_t& key);

 private:
  /// A manager that has been added.
  struct Present {
    Manager* manager;
    std::uint64_t moment;   // when it was added or loaded; its parts' versions count from there
    SavedManager at_first;  // its state when it was added
  };
  using ByName = std::map<std::string, Present, std::less<>>;

  void tell();
  /// Gives the manager a state. Returns an error text, empty on success.
  static std::string give(std::string_view name, Manager& manager, const SavedManager& saved);
  /// Like give(), but returns the text of an exception that the manager throws.
  static std::string give_caught(std::string_view name, Manager& manager, const SavedManager& saved);
  static void save_present(const std::string& name, const Present& present, ManagerRows& to);
  static void save_waiting(std::uint64_t key, const SavedManager& saved, ManagerRows& to);

  Storage& storage_;
  ByName managers_;
  ManagerStates& waiting_;     // states of absent managers
  std::uint64_t moments_ = 0;  // number of managers and states received so far
  std::vector<Entity> gone_, telling_;
};

}  // namespace muster
