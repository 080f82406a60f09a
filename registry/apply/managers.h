// Holds a registry's managers by name, together with the saved states of absent managers. Private
// to registry/*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/apply/manager.h"
#include "registry/apply/registry_state.h"
#include "registry/storage/storage.h"

namespace muster {

/// Receives the rows of managers. `key` is the hash64 of the manager's name.
class ManagerRows {
 public:
  virtual ~ManagerRows() = default;
  /// Receives the row that contains the manager's name. The row is written at every save, after the
  /// parts.
  virtual void head(std::uint64_t key, std::span<const std::byte> bytes) = 0;
  /// Like the functions of ManagerSink, except that each version is unique over the registry's
  /// whole lifetime.
  virtual bool has(std::uint64_t key, std::uint32_t number, std::uint64_t version) = 0;
  virtual void part(std::uint64_t key, std::uint32_t number, std::uint64_t version,
                    std::span<const std::byte> bytes) = 0;
};

/// Returns the name in a head that Managers wrote.
std::string_view manager_name(std::span<const std::byte> head);

// --- reading managers' rows into a state; each returns an error message, or "" on success ---

/// Stores a saved head.
std::string keep_manager(ManagerStates& states, std::uint64_t key, std::span<const std::byte> head);
/// Stores a part. The head of its manager must already have been stored.
std::string keep_manager_part(ManagerStates& states, std::uint64_t key, std::uint32_t number,
                              std::span<const std::byte> bytes);
/// Checks the complete states. Must be called after the last row. On error, `key` identifies the
/// manager.
std::string check_managers(const ManagerStates& states, std::uint64_t& key);

/// The managers at a moment.
struct KeptManagers {
  struct Kept {
    std::string name;
    std::uint64_t added;  ///< identifies the manager
    std::shared_ptr<const ManagerMoment> moment;
  };
  std::vector<Kept> managers;  ///< ascending by name
  std::uint64_t waiting_changes = 0;
  std::size_t bytes() const;
};

class Managers {
 public:
  explicit Managers(RegistryState& state) : storage_(state.storage), waiting_(state.managers) {}

  /// Adds a manager. Throws SetupError if the name is empty or taken, or if the manager refuses its
  /// saved state.
  void add(std::string name, Manager& manager);
  /// Removes a manager. Its state is stored and passed to the next manager of that name.
  void remove(Manager& manager);
  const ManagerStates& waiting() const noexcept { return waiting_; }
  void set_waiting(ManagerStates states);

  /// Reports to the managers which entities have died since the previous call.
  void tell_destroyed() {
    if (!gone_.empty()) [[unlikely]]
      tell();
  }
  void describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const;
  /// See RegistryReader::save_held().
  void save_entity(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const;
  bool empty() const noexcept { return managers_.empty(); }

  /// Writes the rows of each manager and of each saved state of an absent manager, in ascending
  /// order of the hash64 of their names:
  ///   head   | version 4 | name length 4 | name | state |   if bit 31 of version is set: | parts 4 | instead of the state
  ///   parts  the manager's bytes, ascending by number
  void save(ManagerRows& to) const;
  /// Must be called immediately before the registry's state is exchanged for the one that contains
  /// `incoming`. Moves each manager's state from `incoming` to the manager. A manager without a
  /// state in `incoming` returns to the state that it had when it was added. The managers' old
  /// states are moved to the registry's state. Returns an error message, or an empty string on
  /// success. On error, `key` identifies the manager, and all managers and both states are
  /// unchanged. Stops the program if a manager refuses a state that it saved itself.
  std::string exchange(ManagerStates& incoming, std::uint64_t& key);

  /// Keeps the states of all managers. Returns an empty string on success, or an error message that
  /// names a manager that cannot keep its state.
  std::string keep(KeptManagers& kept);
  /// Returns the reason why return_to() is impossible, or an empty string.
  std::string cannot_return(const KeptManagers& kept) const;
  /// Returns all managers to a moment. Requires that cannot_return() returned an empty string.
  void return_to(const KeptManagers& kept);

 private:
  /// A manager that has been added.
  struct Present {
    Manager* manager;
    std::uint64_t moment;   // when it was added or loaded; makes the versions of its parts unique
    SavedManager at_first;  // its state when it was added
    std::uint64_t added;    // when it was added
  };
  using ByName = std::map<std::string, Present, std::less<>>;

  void tell();
  /// Loads a saved state into a manager. Returns an error message, or an empty string on success.
  static std::string give(std::string_view name, Manager& manager, const SavedManager& saved);
  /// Like give(), but if the manager throws an exception, returns the exception's message.
  static std::string give_caught(std::string_view name, Manager& manager, const SavedManager& saved);
  static void save_present(const std::string& name, const Present& present, ManagerRows& to);
  static void save_waiting(std::uint64_t key, const SavedManager& saved, ManagerRows& to);

  Storage& storage_;
  ByName managers_;
  ManagerStates& waiting_;             // states of absent managers
  std::uint64_t moments_ = 0;          // number of managers and states received so far
  std::uint64_t waiting_changes_ = 0;  // number of changes to the states of absent managers
  std::vector<Entity> gone_, telling_;
};

}  // namespace muster
