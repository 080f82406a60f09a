// Uses the terms of a pass's handlers to determine which of them may run at the same time, and
// which may be split. A later handler waits for an earlier one only if the two conflict; all other
// handlers may overlap.
//
//   two handlers conflict     one writes a component that the other reads or writes, from any source
//                             (self, Parent, SelfOrParent, ParentWith, Other, Lookup); unless both use
//                             their own rows and one requires a component that the other excludes
//                             one writes an external resource that the other reads or writes
//                             both have state (captures, an object, on_begin) and name no resource
//                             both take a Spawner; one takes a Spawner and the other finds entities by
//                             id, or has state and may ask the registry if an entity is alive
//   one handler is split      over its rows, unless
//                             it reads from ancestors what it writes: over branches, parents before
//                             children
//                             it uses no entity, takes a Spawner, has state but names no resource,
//                             writes one, or reads by id (Lookup, Other) what it writes: not at all
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

struct MessageRoute;
class TypeTable;

enum class ConflictKind : std::uint8_t { component, external, hidden_state, ids };

/// A reason why two handlers must not run at the same time, with each handler's access and source.
struct Conflict {
  ConflictKind kind = ConflictKind::component;
  TypeId component = 0;
  bool first_writes = false, second_writes = false;
  Source first_source = Source::self, second_source = Source::self;
  TypeId first_anchor = 0, second_anchor = 0;
  std::string resource = {};
};
/// Returns all conflicts between two handlers, or an empty list if they may overlap.
std::vector<Conflict> conflicts(const Handler& first, const Handler& second);

enum class Split : std::uint8_t {
  rows,      ///< any rows may run at the same time
  branches,  ///< children of a parent may run at the same time, but after the parent
  whole,     ///< rows run one after another
};
enum class WholeBecause : std::uint8_t { splits, once, spawns, hidden_state, external_write, reads_by_id };
struct Splitting {
  Split split = Split::rows;
  WholeBecause because = WholeBecause::splits;
  TypeId component = 0;  ///< the component that causes branches or reads_by_id
  Source source = Source::self;
};
Splitting splitting(const Handler& handler) noexcept;
/// True if the handler may look up rows of other entities by id.
bool reads_directory(const Handler& handler) noexcept;

/// The dependency graph of a message's active handlers, in handler order.
struct PassSchedule {
  struct Node {
    const Handler* handler = nullptr;
    Splitting splitting;
    /// Earlier nodes that conflict with this one, in ascending order. A node may be omitted if
    /// another node in the list already waits for it, directly or indirectly. Therefore, the total
    /// number of nodes in all lists is roughly the number of terms of all handlers.
    std::vector<std::uint32_t> earlier;
    std::vector<std::uint32_t> later;  ///< nodes whose `earlier` contains this node, ascending

    /// The number of this node's group. It is greater than the group numbers of all nodes in
    /// `earlier`. All handlers in a group may overlap.
    std::uint32_t group = 0;
    /// Number of passes during which this handler will not be split, because its tasks recently had
    /// to wait for each other.
    std::uint32_t in_turn = 0;
    /// Estimated time from the beginning of the pass to the end of this node, assuming that the
    /// pass is spread. Used to decide whether spreading is worthwhile.
    double done_ns = 0;
  };
  std::vector<Node> nodes;
  std::uint32_t groups = 0;
  std::uint64_t steps = 0;  ///< number of accesses compared to build the schedule, for tests

  // The cost of earlier passes. Used to avoid spreading a pass that does not benefit from several
  // workers. Does not affect any result.
  double gain = 1;  ///< time on several workers, relative to the time on one

  /// Number of passes that will not be spread, because recent passes did not benefit from being
  /// spread.
  std::uint32_t serially = 0;
  std::uint32_t rest = 0;  ///< the value of `serially` when it was last set
};
PassSchedule make_schedule(std::span<Handler* const> active);

// --- as text; all lines end with a newline ---

/// Returns a graph in Graphviz format. Each node is a handler and lists what the handler reads and
/// writes. Each edge means that one handler waits for another; edges implied by others are omitted.
std::string schedule_as_dot(const MessageRoute& route, const TypeTable& types);
/// Lists the groups whose handlers may overlap, and how each handler may be split.
std::string schedule_as_groups(const MessageRoute& route, const TypeTable& types);
/// Explains why two handlers do not overlap, or states that they may. If both names are equal,
/// explains how that handler is split.
std::string why_apart(const MessageRoute& route, const TypeTable& types, std::string_view first,
                      std::string_view second);

}  // namespace muster
