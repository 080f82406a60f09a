// A handler as the registry sees it: its terms and how it is run. Handlers are created from C++
// signatures (signature.h) or from run-time type ids (dynamic_handler.h). HandlerTable owns and
// orders them, and Delivery runs them.
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
class Log;
class Outbox;
class Spawner;
class Delivery;
struct MessageRoute;

enum class Access : std::uint8_t { read, write };
enum class Presence : std::uint8_t { required, optional, excluded };
enum class Source : std::uint8_t {
  self,
  parent,          ///< the nearest ancestor that has T, excluding the entity itself
  self_or_parent,  ///< the nearest ancestor that has T, including the entity itself
  parent_with,     ///< T of the nearest ancestor that has X; absent if this ancestor does not have
                   ///< T
  up_to,           ///< like self_or_parent, but the search stops at the first entity that has X
  any,             ///< any entity, by id (Lookup)
  other,           ///< the entity that the message names, or else its nearest ancestor that has T
};

/// A component that a handler uses.
struct Term {
  TypeId type = 0;
  Access access = Access::read;
  Presence presence = Presence::required;
  Source source = Source::self;
  bool value = true;  ///< false for With and Without, which only filter rows
  TypeId anchor = 0;  ///< the X of parent_with and up_to

  /// True if the component is enableable. Individual rows of an archetype that has such a component
  /// may lack it, so each row is checked.
  bool enableable = false;
};

struct Handler;

/// Memory that will be needed after the current rows. Loops over rows prefetch it a few rows at a
/// time as they proceed, because prefetching all of it at once would delay the current rows.
class RowsAhead {
 public:
  static constexpr std::uint32_t step = 32;  ///< number of rows prefetched at a time
  bool empty() const noexcept { return count_ == 0; }
  void clear(std::uint32_t rows) noexcept { count_ = 0, rows_ = rows; }
  /// Adds a column with values of `bytes` bytes each. `from` is the value of the first row. If the
  /// list is full, the column is not prefetched.
  void add(const std::byte* from, std::uint32_t bytes) noexcept {
    if (count_ < columns_.size()) columns_[count_++] = {from, bytes};
  }
  /// Returns the number of rows to prefetch. Prefetching starts when that many of the current rows
  /// remain.
  std::uint32_t rows() const noexcept { return rows_; }
  /// Prefetches rows [begin, end).
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
/// Memory is prefetched only if the storage has more rows than this.
constexpr std::uint64_t rows_in_cache = 50'000;

/// Objects that may be used during a handler's call in addition to its arguments.
struct RunContext {
  Storage& storage;
  Outbox& outbox;
  Spawner& spawner;
  Delivery* delivery = nullptr;
  /// The handler that is being called, for error messages and observers (see AtWork), or null.
  Shown<const Handler*> running = {};
  /// Entity::bits() of the entity for which the handler is being called, or 0. To save time, a push
  /// that calls its handler directly leaves the value at 0 and stores its target in
  /// RegistryCore::pushed_to. Therefore, code that sets `entity` must reset it to 0 afterward.
  Shown<std::uint64_t> entity = {};
  Shown<std::uint32_t> entities = 1;        ///< number of entities, as in AtWork, or 0
  std::vector<std::byte> chunk_bases = {};  ///< scratch memory for item_loops.h
  AllColumnStarts column_starts = {};
  const RowsAhead* ahead = nullptr;  ///< memory that will be needed after the rows of this call;
                                     ///< may be null
  Log* log = nullptr;                ///< never null while handlers are called
};

/// A placeholder chunk whose rows are never read, for handlers that do not use any entity.
Chunk& no_chunk() noexcept;

/// Calls the handler for rows [begin, end) of a chunk, with a single message. `message` points to
/// the POD or, for tables, to a std::span<const std::byte>. `columns` contains a slot for each
/// value term with the source `self`. Returns true if the message was consumed.
using RunRows = bool (*)(RunContext&, const Handler&, void* message, Chunk&, std::uint32_t begin, std::uint32_t end,
                         const std::uint16_t* columns);

struct CallSite;
struct KnownChunk;  // registry/handlers/known_chunks.h

/// Calls the handlers of a call site for one row, with a single message.
using RunOne = void (*)(RunContext&, const CallSite&, void* message, Chunk&, std::uint32_t row);
/// Like RunOne, but for a row of a known chunk.
using RunKnown = void (*)(RunContext&, const KnownChunk&, void* message, std::uint32_t row);
/// The handlers that a message calls for entities of one archetype. A message's route has a call
/// site for each archetype. Call sites are updated when handlers or archetypes are added, and one
/// is read for every message.
struct CallSite {
  RunOne run = nullptr;  ///< null if no handler matches

  /// The only matching handler, provided that its calls need no extra steps. Null if there are
  /// several handlers or the calls need extra steps.
  const Handler* handler = nullptr;
  const std::uint16_t* columns = nullptr;  ///< the columns of that handler
  MessageRoute* route = nullptr;
  RunKnown run_known = nullptr;      ///< like `run`, but for rows of known chunks
  Inside inside = Inside::handlers;  ///< the value of RegistryCore::inside while `run_known` runs
};
/// The value of `run` for all other call sites. Calls the route's handlers; if one of them changes
/// the message, uses a copy.
void run_several(RunContext&, const CallSite&, void* message, Chunk&, std::uint32_t row);
/// The default value of CallSite::run_known. Does not use cached data about the chunk.
void run_uncached(RunContext&, const KnownChunk&, void* message, std::uint32_t row);
/// The value of Handler::known_base if the handler's first parameter is the entity id of each row.
constexpr std::uint16_t known_ids = no_column - 1;

/// Consecutive POD messages, each with a single target. The messages are `bytes` apart, starting at
/// `first`. In each message, the target is at offset 0 and the payload is at `offset`.
struct ItemRun {
  const std::byte* first = nullptr;
  std::uint32_t count = 0, bytes = 0, offset = 0;
  /// For each item, the bits of the Locator of the target's row, or Locator::no_row. Null if the
  /// rows have not been looked up.
  const std::uint32_t* places = nullptr;
};
struct ItemCounts {
  std::uint32_t handled = 0, dead = 0;
};
/// Calls the handler for each message whose target is alive and matches the handler.
using RunItems = ItemCounts (*)(RunContext&, const Handler&, const ItemRun&);
/// Like RunItems, but for a short run. `first` points to `count` items without causes; `count` must
/// be greater than 0.
using RunFew = ItemCounts (*)(RunContext&, const Handler&, const std::byte* first, std::uint32_t count);

/// Sees the calls of handlers, to compare them. While a table has a probe, every call of a handler
/// takes the general way. Calls come from workers, too.
class CallProbe {
 public:
  virtual ~CallProbe() = default;
  /// Calls `own`, which is the handler's function, and returns its result.
  virtual bool rows(RunRows own, RunContext& context, const Handler& handler, void* message, Chunk& chunk,
                    std::uint32_t begin, std::uint32_t end, const std::uint16_t* columns) = 0;
  virtual ItemCounts items(RunItems own, RunContext& context, const Handler& handler, const ItemRun& run) = 0;
};
/// The functions of a handler whose calls are skipped or seen by a probe.
struct StandIn {
  RunRows rows = nullptr;
  RunItems items = nullptr;
  std::function<bool()> on_begin;
  CallProbe* probe = nullptr;  ///< null if the calls are skipped
};

/// Options of EntityRegistry::subscribe.
struct HandlerOptions {
  int priority = 0;  ///< lower values run first

  /// Names of handlers of the same message that must run after this handler (`before`) or before it
  /// (`after`). Another plugin may add such handlers later. If no handler has a name at the next
  /// flush or advance, the name is reported once through RegistryOptions::on_warning.
  std::vector<std::string> before = {}, after = {};
  /// Called once for each matching archetype. If it throws an exception during subscribe(), the
  /// exception is propagated and the handler is not subscribed. For archetypes that are created
  /// later, an exception stops the program, as an exception from a handler does.
  std::function<bool(const Archetype&)> filter = {};
  /// Called before each pass, on the thread that pushed it, after all handlers for which this one
  /// must wait. If it returns false, this handler skips the pass.
  std::function<bool()> on_begin = {};
  /// External resources, such as "renderer" or "octree". If no handler writes a resource that this
  /// handler reads, and its name resembles that of a resource that is written, the name is also
  /// reported once.
  std::vector<std::string> external_reads = {}, external_writes = {};
  /// If true, the handler is not called while inputs are done again (QuietInputs). Intended for
  /// what has already been heard or seen, such as sounds and effects. Such a handler may only read:
  /// if it posts, writes a component, changes or consumes messages, or may change a manager,
  /// subscribe() throws SetupError.
  bool skip_when_repeated = false;
};

/// A column that a handler writes, if another handler follows its component with Changed.
struct FollowedColumn {
  std::uint16_t column = 0;  ///< index into the handler's columns
  TypeId component = 0;
};

struct Handler {
  std::string name;
  TypeId message = 0;
  std::uint64_t ordinal = 0;  ///< ordinal of the subscription
  std::uint32_t part = 0;     ///< see RegistryHost::begin_part
  HandlerOptions options;
  std::vector<Term> terms;
  /// Offset in the message of the entity to which terms with the source `other` refer.
  std::uint32_t other_offset = ~0u;
  bool once = false;            ///< does not use any entity or component: called once per pass
  bool writes_message = false;  ///< takes Msg& or may consume the message
  bool consumes = false;        ///< may end the delivery of a message to a target
  bool pushes = false;          ///< takes an Outbox or a Spawner
  bool spawns = false;
  bool logs = false;  ///< takes a Log
  /// True if the handler has captures or an object. It then conflicts with other handlers that have
  /// state, unless resources are declared.
  bool has_state = false;
  bool of_manager = false;  ///< a non-const member function of a manager
  bool enabled = true;
  bool whole_rows = false;   ///< takes spans, so it is called once per run of rows
  bool looks_ahead = false;  ///< the `rows` function prefetches RunContext::ahead

  /// True if a call of `rows` may continue past the end of a chunk. In that case, the following
  /// chunks must continue all columns of the handler, and the columns that it writes must have been
  /// touched.
  bool joins_chunks = false;
  bool takes_ids = false;                ///< reads the id of every row
  bool takes_parents = false;            ///< reads the parent of every row
  std::vector<FollowedColumn> followed;  ///< empty if no handler follows what this one writes
  RunRows rows = nullptr;
  RunItems items = nullptr;
  RunOne one = nullptr;
  /// All functions except run_uncached rely on touched columns.
  RunKnown one_known = &run_uncached;

  /// The column to which KnownChunk::base points, known_ids, or no_column if there is none.
  std::uint16_t known_base = no_column;
  RunFew few = nullptr;
  std::uint32_t few_bytes = 0;  ///< size of an item that has no causes
  std::shared_ptr<void> state;  ///< the callable object

  /// The recent time per row in passes. Measured only if there are several workers.
  double row_ns = 0;

  /// Number of value terms with the source `self`, which is the length of a column list.
  std::uint32_t values = 0;
  std::uint32_t written = 0;  ///< bit mask: which of the first 32 values are written

  /// The columns of the value terms with the source `self`, indexed by archetype index. Null if the
  /// handler does not match the archetype.
  std::vector<const std::uint16_t*> bound;
  std::vector<Archetype*> matched;  ///< ascending by number
  std::vector<std::unique_ptr<std::uint16_t[]>> column_lists;
  /// Not null while the handler is skipped, or while its calls are compared.
  std::unique_ptr<StandIn> stand_in;

  const std::uint16_t* columns(const Archetype& archetype) const noexcept { return bound[archetype.index]; }
  /// Binds the handler to a new archetype if it matches.
  void bind(Archetype& archetype);
};

/// True if the order in which the two handlers run matters.
bool conflict(const Handler& a, const Handler& b) noexcept;

}  // namespace muster
