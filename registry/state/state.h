// The boundary between a registry and storage for its state: rows of bytes, each with a key and a
// version. The world file has one database row per StateKey; a test uses a map. The code that
// stores a row also checksums it.
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
  grants = 5,          ///< unused, because grants are saved as states of ids
  archetypes = 6,      ///< key: archetype number; its component type ids, sizes and fingerprints
  chunks = 7,          ///< key: chunk uid; archetype, depth, place in its group, rows
  columns = 8,         ///< key: chunk uid, column: component type id (0: entity ids, 1: parents)
  hierarchy = 9,       ///< key: page; order of children
  texts = 10,          ///< key: page; the text table
  pending = 11,        ///< key: ordinal; posted or carried batches with their envelopes
  timers = 12,         ///< key: timer id; the timed batch
  managers = 13,       ///< key: hash64 of the manager's name
  templates = 14,      ///< key: hash64 of the template's name
  disabled = 15,       ///< one row: the disabled handlers
  manager_parts = 16,  ///< key: hash64 of the manager's name, column: number of the part
};

struct StateKey {
  StateSection section = StateSection::registry;
  std::uint64_t key = 0;
  std::uint32_t column = 0;
  friend constexpr auto operator<=>(const StateKey&, const StateKey&) noexcept = default;
};

/// Receives a registry's rows. `version` changes whenever the bytes may have changed, provided that
/// the registry's begin_version() is called before each save, so a row stored at this version need
/// not be written again. Versions only grow, except that the rows of a state that was swapped out
/// and returns have their old versions again. No row with different bytes ever had these versions.
class StateSink {
 public:
  virtual ~StateSink() = default;
  /// Called before a row's bytes are built. Returns true if the row is stored at this version from
  /// an earlier save of this registry; row() is then not called for it. For a chunk, `version` is
  /// the newest of its columns; true covers the columns as well, and neither function is called for
  /// them. Not called for rows that are written at every save. A sink that always returns false
  /// receives everything.
  virtual bool has(const StateKey&, std::uint64_t /*version*/) { return false; }
  /// `bytes` are valid during the call. Rows for which a save calls neither function no longer
  /// exist.
  virtual void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// Returns rows, in key order within a section.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual void rows(StateSection section,
                    const std::function<void(const StateKey&, std::span<const std::byte>)>& take) = 0;
};

/// A bool or enum value that is invalid for its field (written by a handler or by C++ code), and
/// its replacement on loading.
struct MendedState {
  StateKey at;
  /// The component's entity; nil in waiting messages, timers and templates.
  Entity entity;
  std::string type, field;   ///< "game.Member", "team"
  std::string found, put;    ///< as numbers
  std::string text() const;  ///< one sentence for users
};

/// The corrections made while loading. They do not prevent loading: anything that was saved can be
/// opened again.
struct LoadReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t mended = 0;              ///< number of values
  std::vector<MendedState> listed = {};  ///< the first `listed_max` corrections

  /// Component and template types that were saved with another layout or name, and how they
  /// changed: "game.Health: armor is new". Their values were converted
  /// (registry/state/layout_change.h).
  std::vector<std::string> converted = {};
  /// Requests from inside handlers to subscribe or end a handler that were still waiting when the
  /// state was saved. They belong to the process that made them and have no effect here.
  std::uint64_t lost_requests = 0;
};

/// The reason why a state was refused: the place, and a description of what was found there.
struct StateError {
  StateKey at;
  std::string what;
  std::string text() const;
};

}  // namespace muster
