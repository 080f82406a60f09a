// A handler as the registry keeps it: what it asks for and how it is run. It is made from a C++ signature (signature.h)
// or from run-time type ids (dynamic_handler.h). HandlerTable keeps and orders handlers, Delivery runs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "registry/handlers/at_work.h"
#include "registry/storage/archetype.h"
#include "registry/storage/column_starts.h"
#include "schema/descriptor.h"

namespace muster {

class Storage;
class Outbox;
class Spawner;
class EntityRegistry;
class Delivery;
struct MessageRoute;

enum class Access : std::uint8_t { read, write };
enum class Presence : std::uint8_t { required, optional, excluded };
enum class Source : std::uint8_t {
  self,
  parent,          ///< the nearest ancestor that has it, the entity itself left out
  self_or_parent,  ///< the nearest that has it, the entity itself included
  parent_with,     ///< T of the nearest ancestor that has X, absent where that one lacks T
  up_to,           ///< the nearest that has it, itself included, but none above the nearest that has X
  any,             ///< Lookup: read by id
  other,           ///< of the entity that the message names, or its nearest ancestor that has it
};

/// One component that a handler asks for.
struct Term {
  TypeId type = 0;
  Access access = Access::read;
  Presence presence = Presence::required;
  Source source = Source::self;
  bool value = true;  ///< false: With and Without, which only decide where the handler runs
  TypeId anchor = 0;  ///< X of parent_with and up_to
  /// Of an enableable component: an archetype that has it has rows with it and rows without, and each is asked.
  bool enableable = false;
};

struct Handler;

/// Memory that will be needed after the rows at hand: loops over rows ask for it as they go, a few rows' worth at a time. To ask
/// for all of it at once would make the rows at hand wait.
class RowsAhead {
 public:
  static constexpr std::uint32_t step = 32;  ///< so many rows are asked for at a time
  bool empty() const noexcept { return count_ == 0; }
  void clear(std::uint32_t rows) noexcept { count_ = 0, rows_ = rows; }
  /// A column's values of `bytes` each, from that of the first row on. What does not fit the list is not asked for.
  void add(const std::byte* from, std::uint32_t bytes) noexcept {
    if (count_ < columns_.size()) columns_[count_++] = {from, bytes};
  }
  /// How many rows are asked for: meanwhile the last of the rows at hand are gone through, as many.
  std::uint32_t rows() const noexcept { return rows_; }
  /// Asks for rows [begin, end).
  void ask(std::uint32_t begin, std::uint32_t end) const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
      const Column& column = columns_[i];
      const std::byte* const last = column.from + std::size_t{end} * column.bytes;
      for (const std::byte* at = column.from + std::size_t{begin} * column.bytes; at < last; at += 64)
        __builtin_prefetch(at);
    }
  }

 private:
  struct Column {
    const std::byte* from;
    std::uint32_t bytes;
  };
  std::array<Column, 8> columns_;
  std::uint32_t count_ = 0, rows_ = 0;
};
/// In a storage with more rows, memory is asked for ahead.
constexpr std::uint64_t rows_in_cache = 50'000;

/// What a handler's call may reach besides its arguments.
struct RunContext {
  Storage& storage;
  Outbox& outbox;
  Spawner& spawner;
  const EntityRegistry& registry;
  Delivery* delivery = nullptr;
  // The handler that is being called, for error texts and for who looks (AtWork), and for whom. `entity` is what it was last set to: whoever
  // sets it has it 0 again before the next push that goes straight to its handler, which leaves it so.
  Shown<const Handler*> running = {};
  Shown<std::uint64_t> entity = {};         ///< bits; 0: the target of the type's sealed batch, or nobody
  Shown<std::uint32_t> entities = 1;        ///< as AtWork has it; 0: for nobody
  std::vector<std::byte> chunk_bases = {};  ///< scratch memory of item_loops.h
  AllColumnStarts column_starts = {};
  const RowsAhead* ahead = nullptr;  ///< of the rows that the handler is called for; null: nothing
};

/// Stands for a chunk where a handler asks for no entity: its rows are never looked at.
Chunk& no_chunk() noexcept;

/// Calls the handler for rows [begin, end) of a chunk, with one message. `message` points to the POD, or, for tables,
/// to a std::span<const std::byte>. `columns` has a slot per value term with source self. True: the message is
/// consumed.
using RunRows = bool (*)(RunContext&, const Handler&, void* message, Chunk&, std::uint32_t begin, std::uint32_t end,
                         const std::uint16_t* columns);

/// The handlers that a message to an entity of one archetype calls. Made when handlers or archetypes come, read for
/// every message.
struct CallSite;
using RunOne = void (*)(RunContext&, const CallSite&, void* message, Chunk&, std::uint32_t row);
/// The same for a row of a known chunk (registry/handlers/known_chunks.h).
struct KnownChunk;
using RunKnown = void (*)(RunContext&, const KnownChunk&, void* message, std::uint32_t row);
struct CallSite {
  RunOne run = nullptr;                    ///< null: no handler matches
  const Handler* handler = nullptr;        ///< where only one matches, and nothing has to be done around its call
  const std::uint16_t* columns = nullptr;  ///< of that one
  MessageRoute* route = nullptr;
  RunKnown known = nullptr;          ///< as `run`, for rows of known chunks
  Inside inside = Inside::handlers;  ///< while `known` is called
};
/// The `run` of all other call sites: goes through the route's handlers, with a copy of the message where one changes
/// it.
void run_several(RunContext&, const CallSite&, void* message, Chunk&, std::uint32_t row);
/// CallSite::known where there is nothing better: as if the chunk were not known.
void run_known(RunContext&, const KnownChunk&, void* message, std::uint32_t row);
/// Handler::known_base of a handler that takes the ids of rows first.
constexpr std::uint16_t known_ids = no_column - 1;

/// POD messages to one target each, one behind the other: `bytes` apart from `first` on, the target at 0, the payload
/// at `offset`.
struct ItemRun {
  const std::byte* first = nullptr;
  std::uint32_t count = 0, bytes = 0, offset = 0;
  /// By item: the bits of the Locator of the target's row, Locator::no_row where it has none. Null: nobody has looked yet.
  const std::uint32_t* places = nullptr;
};
struct ItemCounts {
  std::uint32_t handled = 0, dead = 0;
};
/// Calls the handler for each message whose target is alive and matches.
using RunItems = ItemCounts (*)(RunContext&, const Handler&, const ItemRun&);
/// Calls the handler for each of a few messages whose target is alive and matches. There are `count` > 0 items without
/// causes at `first`.
using RunFew = ItemCounts (*)(RunContext&, const Handler&, const std::byte* first, std::uint32_t count);

/// Options of EntityRegistry::subscribe.
struct HandlerOptions {
  int priority = 0;  ///< smaller runs first
  /// Names of handlers of the same message that run later, and earlier. Another plugin may bring them later; a name that no handler
  /// has at the next flush or advance is said once, as RegistryOptions::on_warning says.
  std::vector<std::string> before = {}, after = {};
  /// Asked once per archetype that matches. What it throws in subscribe() is thrown there, and nothing is subscribed; when an
  /// archetype comes later it stops the program, as what a handler throws does.
  std::function<bool(const Archetype&)> filter = {};
  /// Called before a pass on the thread that pushed it, after the handlers that this one has to wait for; false skips
  /// the pass.
  std::function<bool()> on_begin = {};
  /// Resources outside: "renderer", "octree". One that is read, that no handler writes, and whose name is much like one that is
  /// written, is said as above.
  std::vector<std::string> external_reads = {}, external_writes = {};
};

/// A column that a handler writes, of a component that another handler follows with Changed.
struct FollowedColumn {
  std::uint16_t column = 0;  ///< which of the handler's columns
  TypeId component = 0;
};

struct Handler {
  std::string name;
  TypeId message = 0;
  std::uint64_t ordinal = 0;  ///< of its subscription
  std::uint32_t part = 0;     ///< of the program: see EntityRegistry::begin_part
  HandlerOptions options;
  std::vector<Term> terms;
  std::uint32_t other_offset = ~0u;  ///< in the message: where terms with source other find their entity
  bool once = false;                 ///< asks for no entity and no component, so a pass calls it once
  bool writes_message = false;       ///< takes Msg&, or may consume
  bool consumes = false;             ///< may end the delivery to a target
  bool pushes = false;               ///< takes an Outbox or a Spawner
  bool spawns = false;
  bool has_state =
      false;  ///< captures or an object: conflicts with all others of that kind unless externals are declared
  bool of_manager = false;  ///< a manager's member function that is not const
  bool enabled = true;
  bool whole_rows = false;   ///< takes spans: called once per run of rows
  bool looks_ahead = false;  ///< its `rows` asks for RunContext::ahead
  /// Its `rows` may go on past a chunk's end where the chunks that follow continue all columns that it takes: all of those that it writes
  /// must be touched before.
  bool joins_chunks = false;
  bool takes_ids = false;                ///< reads them of every row
  bool takes_parents = false;            ///< likewise
  std::vector<FollowedColumn> followed;  ///< empty: no handler follows what this one writes
  RunRows rows = nullptr;
  RunItems items = nullptr;
  RunOne one = nullptr;
  RunKnown known = &run_known;           ///< another one relies on touched columns
  std::uint16_t known_base = no_column;  ///< which of its columns KnownChunk::base is, known_ids, or no_column: none
  RunFew few = nullptr;
  std::uint32_t few_bytes = 0;  ///< of an item without causes
  std::shared_ptr<void> state;  ///< the callable
  double row_ns = 0;  ///< what a row of a pass has taken lately; measured only where there are several workers

  std::uint32_t values = 0;   ///< value terms with source self: entries of a list of columns
  std::uint32_t written = 0;  ///< which of the first 32 of them are written, by bit
  /// By archetype index: columns of the value terms with source self, or null where the handler does not match.
  std::vector<const std::uint16_t*> bound;
  std::vector<Archetype*> matched;  ///< ascending by number
  std::vector<std::unique_ptr<std::uint16_t[]>> column_lists;

  const std::uint16_t* columns(const Archetype& archetype) const noexcept { return bound[archetype.index]; }
  /// Looks at a new archetype.
  void bind(Archetype& archetype);
};

/// Whether it makes a difference which of the two runs first.
bool conflict(const Handler& a, const Handler& b) noexcept;

}  // namespace muster
