// The boundary between a registry and the storage for its state. A state consists of rows of bytes,
// each with a key and a version. The world file has one database row for each StateKey; a test
// might use a map. The code that stores a row also computes its checksum.
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

/// The values are part of the file format.
enum class StateSection : std::uint16_t {
  registry = 1,        ///< one row: clock, sequence numbers, counters
  schema = 2,          ///< key: ordinal; one .bfbs file each
  directory = 3,       ///< key: page; generations and states of ids
  free_queue = 4,      ///< one row: the free indices, in order
  grants = 5,          ///< unused, because grants are saved as states of ids
  archetypes = 6,      ///< key: archetype number; its component type ids, sizes, and fingerprints
  chunks = 7,          ///< key: chunk uid; archetype, depth, place in its group, number of rows
  columns = 8,         ///< key: chunk uid, column: component type id (0: entity ids, 1: parents)
  hierarchy = 9,       ///< key: page; order of children
  texts = 10,          ///< key: page; the text table
  pending = 11,        ///< key: ordinal; posted or carried batches, with their envelopes
  timers = 12,         ///< key: timer id; the timed batch
  managers = 13,       ///< key: hash64 of the manager's name
  templates = 14,      ///< key: hash64 of the template's name
  disabled = 15,       ///< one row: the names of disabled handlers
  manager_parts = 16,  ///< key: hash64 of the manager's name, column: number of the part
};

struct StateKey {
  StateSection section = StateSection::registry;
  std::uint64_t key = 0;
  std::uint32_t column = 0;
  friend constexpr auto operator<=>(const StateKey&, const StateKey&) noexcept = default;
};

/// Receives the rows of a registry. Provided that the registry's begin_version() is called before
/// each save, `version` changes whenever the bytes may have changed, so a row that is stored at
/// this version does not have to be written again. Versions only increase, with one exception: when
/// a state that was swapped out is swapped back in, its rows have their old versions again. A given
/// version of a row always stands for the same bytes.
class StateSink {
 public:
  virtual ~StateSink() = default;
  /// Called before the bytes of a row are built. Returns true if an earlier save of this registry
  /// stored the row at this version and it is still stored; row() is then not called for it. For a
  /// chunk, `version` is that of its newest column. Returning true for a chunk also covers its
  /// columns; neither function is then called for them. Not called for rows that are written at
  /// every save. A sink that always returns false receives all rows.
  virtual bool has(const StateKey&, std::uint64_t /*version*/) { return false; }
  /// Stores a row. `bytes` are valid only during the call. Rows for which a save calls neither
  /// function no longer exist.
  virtual void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) = 0;
};

/// Returns the rows of a section in key order.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual void rows(StateSection section,
                    const std::function<void(const StateKey&, std::span<const std::byte>)>& take) = 0;
};

/// A bool or enum value that is invalid for its field, because a handler or C++ code wrote it, and
/// the value that replaced it during loading.
struct MendedState {
  StateKey at;
  /// The entity that has the component. Nil in pending messages, timers, and templates.
  Entity entity;
  std::string type, field;   ///< such as "game.Member" and "team"
  std::string found, put;    ///< the invalid value and its replacement, as numbers
  std::string text() const;  ///< a sentence for users
};

/// Corrections that were made during loading. Corrections do not prevent loading, so everything
/// that was saved can be loaded again.
struct LoadReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t mended = 0;              ///< number of corrected values
  std::vector<MendedState> listed = {};  ///< the first `listed_max` corrections

  /// Component and template types that were saved with another layout or name, and how they
  /// changed, such as "game.Health: armor is new". Their values have been converted
  /// (registry/state/layout_change.h).
  std::vector<std::string> converted = {};
  /// Number of requests to subscribe or end a handler that were made inside handlers and were still
  /// pending when the state was saved. Such requests belong to the process that made them and have
  /// no effect here.
  std::uint64_t lost_requests = 0;
};

/// The reason why a state was refused: the position, and a description of what was found there.
struct StateError {
  StateKey at;
  std::string what;
  std::string text() const;
};

}  // namespace muster
