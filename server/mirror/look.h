// Defines Look, which contains the chunks that have changed since the previous Look, with their
// watched columns. The world thread passes Looks to the watches. The watches read columns in place,
// and a column is copied only if it changes before it has been read
// (server/world/rows/preserved_columns.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messages/type_table.h"
#include "registry/storage/hierarchy.h"
#include "schema/builtin.h"
#include "server/world/rows/preserved_columns.h"

namespace muster {

/// The properties that all entities of a kind share.
struct SeenKind {
  /// Two kinds have the same number if they have the same components.
  std::uint32_t number = 0;
  std::vector<TypeId> types;  ///< sorted types of the components
  bool has(TypeId type) const noexcept { return std::ranges::binary_search(types, type); }
};

/// The kinds of a chunk's rows.
struct SeenKinds {
  struct Each {
    std::vector<std::shared_ptr<const SeenKind>> kinds;
    std::vector<std::uint32_t> of_row;  ///< index in `kinds`, for each row
  };
  std::shared_ptr<const SeenKind> whole;  ///< kind of rows with all components of the archetype
  std::shared_ptr<const Each> each;       ///< null if all rows have `whole`
  const SeenKind& at(std::uint32_t row) const noexcept { return each ? *each->kinds[each->of_row[row]] : *whole; }
};

/// A watched component. `size` is the size of its values, or 0 for a tag or a runtime component.
struct SeenType {
  TypeId id = 0;
  std::uint32_t size = 0;
  const TypeDescriptor* type = nullptr;  ///< the registry's descriptor, or null if unknown
  bool operator==(const SeenType&) const = default;
};

/// The interned texts that the world has added or removed since the previous TextNews.
struct TextNews {
  bool anew = false;  ///< if true, the reader must discard all earlier texts
  std::vector<std::uint64_t> gone;
  std::vector<std::pair<std::uint64_t, std::string>> came;
  bool empty() const noexcept { return !anew && gone.empty() && came.empty(); }
};

/// Created by the world thread (class Looks), and read by one other thread until that thread calls
/// done(). The world thread then releases the Look.
struct Look {
  static constexpr std::uint32_t no_column = ~std::uint32_t{0};
  struct Column {
    TypeId type;
    std::uint32_t number;  ///< index in Look::columns
  };
  struct ChunkNews {
    std::uint64_t uid;
    std::shared_ptr<const SeenKind> kind;  ///< kind of rows with all components of the archetype
    std::uint32_t number, depth, rows;
    /// If rows have moved, the index of the id column in `columns`. In that case, all watched
    /// columns are included.
    std::uint32_t ids = no_column;
    /// Index of the parent column in `columns`. May be set even if the ids are not included.
    std::uint32_t parents = no_column;
    std::uint32_t first = 0, last = 0;            ///< range in `values`
    std::uint32_t says_first = 0, says_last = 0;  ///< the chunk's range in `says`, if rows have
                                                  ///< moved
    bool rows_moved() const noexcept { return ids != no_column; }
  };
  struct Links {
    std::uint32_t page;
    std::unique_ptr<Hierarchy::Page> links;
  };

  std::uint64_t sequence = 0, clock_ns = 0;
  std::vector<ChunkNews> chunks;
  std::vector<Column> values;
  std::vector<Column> says;         ///< presence columns (PresenceWord) by component
  std::vector<std::uint32_t> gone;  ///< numbers of removed chunks
  std::vector<Links> links;
  /// All watched components, sorted, or null if the list has not changed.
  std::shared_ptr<const std::vector<SeenType>> wanted;
  std::vector<TypeId> learned;  ///< components that the registry has newly learned
  TextNews texts;
  PreservedColumns columns{~std::uint64_t{0}};

  bool empty() const noexcept {
    return chunks.empty() && gone.empty() && links.empty() && !wanted && learned.empty() && texts.empty();
  }
  void finish() noexcept { done_.store(true, std::memory_order_release); }
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> done_ = false;
};

}  // namespace muster
