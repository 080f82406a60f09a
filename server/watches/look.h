// What the world's thread hands to whoever watches: which chunks changed since the last look, and their watched columns. Bytes of columns
// are not copied here: they are read where they lie, and are copied only if they change before (server/world/rows/preserved_columns.h).
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

/// What entities of an archetype have in common.
struct SeenKind {
  std::uint32_t number = 0;   ///< of the archetype; another one of those that lack some of its components
  std::vector<TypeId> types;  ///< sorted
  bool has(TypeId type) const noexcept { return std::ranges::binary_search(types, type); }
};

/// What the rows of a chunk have.
struct SeenKinds {
  struct Each {
    std::vector<std::shared_ptr<const SeenKind>> kinds;
    std::vector<std::uint32_t> of_row;  ///< in `kinds`
  };
  std::shared_ptr<const SeenKind> whole;  ///< all that the archetype has
  std::shared_ptr<const Each> each;       ///< null: all rows have the whole
  const SeenKind& at(std::uint32_t row) const noexcept { return each ? *each->kinds[each->of_row[row]] : *whole; }
};

/// A component that is watched. `size`: of the values that are told; of a tag or a runtime component 0.
struct SeenType {
  TypeId id = 0;
  std::uint32_t size = 0;
  const TypeDescriptor* type = nullptr;  ///< the registry's, which never moves; null: it does not know it
  bool operator==(const SeenType&) const = default;
};

/// Texts that the world has learned, and forgotten, since those that were told before.
struct TextNews {
  bool anew = false;  ///< what was told before is to be forgotten
  std::vector<std::uint64_t> gone;
  std::vector<std::pair<std::uint64_t, std::string>> came;
  bool empty() const noexcept { return !anew && gone.empty() && came.empty(); }
};

/// Made by the world's thread (Looks), read by one other; then it is done(), and the world's thread lets go of it.
struct Look {
  static constexpr std::uint32_t no_column = ~std::uint32_t{0};
  struct Column {
    TypeId type;
    std::uint32_t number;  ///< in `columns`
  };
  struct ChunkNews {
    std::uint64_t uid;
    std::shared_ptr<const SeenKind> kind;  ///< all that the archetype has
    std::uint32_t number, depth, rows;
    std::uint32_t ids = no_column;      ///< where rows moved: their ids, in `columns`. Then all that is watched comes
    std::uint32_t parents = no_column;  ///< likewise; they may come without ids
    std::uint32_t first = 0, last = 0;  ///< in `values`
    std::uint32_t says_first = 0, says_last = 0;  ///< in `says`, where rows moved: of what they may lack
    bool rows_moved() const noexcept { return ids != no_column; }
  };
  struct Links {
    std::uint32_t page;
    std::unique_ptr<Hierarchy::Page> links;
  };

  std::uint64_t sequence = 0, clock_ns = 0;
  std::vector<ChunkNews> chunks;
  std::vector<Column> values;
  std::vector<Column> says;         ///< columns of PresenceWord, by the component
  std::vector<std::uint32_t> gone;  ///< chunks, by number
  std::vector<Links> links;
  std::shared_ptr<const std::vector<SeenType>> wanted;  ///< all that are watched from now on, sorted; null: as before
  std::vector<TypeId> learned;                          ///< components that the registry had not known before
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
