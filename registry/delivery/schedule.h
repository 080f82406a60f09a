// Determines from their terms which handlers of a pass may run at the same time, and which may be
// split. A later handler waits for an earlier one only if the two conflict; everything else may
// overlap.
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

/// A reason why two handlers must not run at the same time, with the access and the source of each.
struct Conflict {
  ConflictKind kind = ConflictKind::component;
  TypeId component = 0;
  bool first_writes = false, second_writes = false;
  Source first_source = Source::self, second_source = Source::self;
  TypeId first_anchor = 0, second_anchor = 0;
  std::string resource = {};
};
/// Returns all conflicts of two handlers; empty if the two may overlap.
std::vector<Conflict> conflicts(const Handler& first, const Handler& second);

enum class Split : std::uint8_t {
  rows,      ///< any rows may run at the same time
  branches,  ///< children of a parent may run at the same time, after the parent
  whole,     ///< rows run one after another
};
enum class WholeBecause : std::uint8_t { splits, once, spawns, hidden_state, external_write, reads_by_id };
struct Splitting {
  Split split = Split::rows;
  WholeBecause because = WholeBecause::splits;
  TypeId component = 0;  ///< the component concerned, for branches and reads_by_id
  Source source = Source::self;
};
Splitting splitting(const Handler& handler) noexcept;
/// True if the handler may find other entities' rows by their ids.
bool reads_directory(const Handler& handler) noexcept;

/// The graph of a message's active handlers, in their order.
struct PassSchedule {
  struct Node {
    const Handler* handler = nullptr;
    Splitting splitting;
    /// Earlier nodes that this one conflicts with, ascending. A node may be left out if another
    /// node in the list already waits for it, directly or indirectly. Therefore, the number of
    /// nodes in all lists is about that of the handlers' terms.
    std::vector<std::uint32_t> earlier;
    std::vector<std::uint32_t> later;  ///< nodes that have this node in `earlier`, ascending

    /// Number of the group, which is greater than those of all nodes in `earlier`. All handlers of
    /// a group may overlap.
    std::uint32_t group = 0;
    /// Number of passes in which this handler will not be split, because its tasks recently waited
    /// for each other.
    std::uint32_t in_turn = 0;
    /// Estimated time from the beginning of the pass to the end of this node if the pass is spread.
    /// Decides whether spreading pays off.
    double done_ns = 0;
  };
  std::vector<Node> nodes;
  std::uint32_t groups = 0;
  std::uint64_t steps = 0;  ///< number of accesses compared to make the schedule, for tests

  // The cost of earlier passes, so that a pass that gains nothing from several workers is not
  // spread. Affects no result.
  double gain = 1;  ///< time on several workers, relative to the time on one

  /// Number of passes that will not be spread, because the last ones gained nothing.
  std::uint32_t serially = 0;
  std::uint32_t rest = 0;  ///< the value that `serially` had when it was last set
};
PassSchedule make_schedule(std::span<Handler* const> active);

// --- as text; all lines end with a line break ---

/// Returns a Graphviz graph with a node for each handler, which lists what the handler reads and
/// writes, and an edge if one handler waits for another and no other edges imply it.
std::string schedule_as_dot(const MessageRoute& route, const TypeTable& types);
/// Lists the groups whose handlers may overlap, and for each handler how it may be split.
std::string schedule_as_groups(const MessageRoute& route, const TypeTable& types);
/// Explains why these two handlers do not overlap, or that they may. If both names are equal,
/// explains how that handler is split.
std::string why_apart(const MessageRoute& route, const TypeTable& types, std::string_view first,
                      std::string_view second);

}  // namespace muster
