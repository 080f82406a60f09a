// The border between a registry and whatever keeps its state: rows of bytes, each with a key and a version. The world
// file stores one database row per StateKey; a test keeps them in a map. What stores a row checksums it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schema/builtin.h"
#include "schema/descriptor.h"

namespace muster {

/// Numbers are part of the file format.
enum class StateSection : std::uint16_t {
  registry = 1,        ///< one row: clock, sequences, counters
  schema = 2,          ///< key: ordinal; one .bfbs each
  directory = 3,       ///< key: page; generations and states of ids
  free_queue = 4,      ///< one row: the free indices in order
  grants = 5,          ///< not used: grants are states of ids
  archetypes = 6,      ///< key: archetype number; its component type ids, sizes and fingerprints
  chunks = 7,          ///< key: chunk uid; archetype, depth, place in its group, rows
  columns = 8,         ///< key: chunk uid, column: component type id (0: entity ids, 1: parents)
  hierarchy = 9,       ///< key: page; order of children
  texts = 10,          ///< key: page; the text table
  pending = 11,        ///< key: ordinal; posted or carried batches with their envelopes
  timers = 12,         ///< key: timer id; the timed batch
  managers = 13,       ///< key: hash64 of the manager's name
  templates = 14,      ///< key: hash64 of the template's name
  disabled = 15,       ///< one row: the handlers that are passed over
  manager_parts = 16,  ///< key: hash64 of the manager's name, column: number of the part
};

struct StateKey {
  StateSection section = StateSection::registry;
  std::uint64_t key = 0;
  std::uint32_t column = 0;
  friend constexpr auto operator<=>(const StateKey&, const StateKey&) noexcept = default;
};

/// Receives a registry's rows. `version` is another one whenever the bytes may have changed, provided that the registry's
/// begin_version() is called before each save: a keeper that has the row at this version need not write it again. It grows,
/// except that a state which was swapped out comes back with the versions that its rows had; no row with other bytes had them.
class StateSink {
 public:
  virtual ~StateSink() = default;
  /// Asked before a row's bytes are put together. True: an earlier save of this registry gave the row at this version, and
  /// the keeper keeps it; then row() is not called for it. Asked for a chunk with the newest version of its columns, and
  /// stands for them too: none of them is asked for or given where the chunk's answer is true. Not asked for rows that are
  /// given every time. A keeper that says false throughout is given everything.
  virtual bool has(const StateKey&, std::uint64_t /*version*/) { return false; }
  /// `bytes` are valid during the call. Rows that a save neither gives nor asks for are no more.
  virtual void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// Gives rows back, in key order within a section.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual void rows(StateSection section,
                    const std::function<void(const StateKey&, std::span<const std::byte>)>& take) = 0;
};

/// A value that no bool or enum of the field has (a handler or a caller in C++ wrote it), and what loading put in its place.
struct MendedState {
  StateKey at;
  Entity entity;             ///< whose component it is; nil in messages that wait, timers and templates
  std::string type, field;   ///< "game.Member", "team"
  std::string found, put;    ///< in figures
  std::string text() const;  ///< one sentence for people
};

/// What loading put right. Such state is loaded all the same: whatever was saved can be opened again.
struct LoadReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t mended = 0;              ///< values
  std::vector<MendedState> listed = {};  ///< the first `listed_max` of them
  /// Types of components and templates that were saved with another layout or name, and what is otherwise now: "game.Health: armor is
  /// new". Their values were converted (registry/state/layout_change.h).
  std::vector<std::string> converted = {};
  /// Handlers that were subscribed or ended inside a handler, and whose turn had not come when the state was saved: they
  /// belong to the process that asked, so here nobody begins or ends.
  std::uint64_t lost_requests = 0;
};

/// Why a state was not accepted: where, and what was found.
struct StateError {
  StateKey at;
  std::string what;
  std::string text() const;
};

}  // namespace muster
