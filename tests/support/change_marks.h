// Compares what changed with what was marked as changed. Whoever saves, watches or reads the past trusts the marks: a
// write that leaves none is lost to all of them, and nothing else shows it. Random programs call check() after every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/state/state.h"

namespace muster::test {

/// Of the rows that a registry saves: one whose bytes changed must have a greater version. Usable with rows from anywhere.
class RowMarks final : public StateSink {
 public:
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;
  /// Ends one list of rows; the next is compared with it. What was wrong with it first, empty where nothing was.
  std::string end();

 private:
  struct Seen {
    std::uint64_t version = 0, hash = 0, bytes = 0;
  };
  std::map<StateKey, Seen> before_, now_;
  std::string wrong_;
};

/// Of the columns in memory: one whose bytes changed has a version after Storage::begin_version, its preserver was told
/// before, once, while the bytes were the old ones; chunks that went were announced; and Storage::structure() and
/// chunk_changes() are other numbers where rows or chunks are others.
class ColumnMarks final : public ColumnPreserver {
 public:
  /// From here on; `version` is what begin_version gave.
  void begin(const Storage& storage, std::uint64_t version);
  /// What is wrong since begin, empty where nothing is.
  std::string check(const Storage& storage);
  void before_write(const Chunk& chunk, std::uint32_t slot) override;
  void before_recycle(const Chunk& chunk) override;

 private:
  struct Seen {
    std::uint32_t count = 0;
    std::vector<std::uint64_t> hashes;  ///< by slot
    std::vector<bool> told;
    const Chunk* gone = nullptr;
  };
  void say(const Chunk& chunk, std::uint32_t slot, const std::string& what);

  std::unordered_map<std::uint64_t, Seen> chunks_;  // by uid
  std::uint64_t version_ = 0, structure_ = 0, chunk_changes_ = 0;
  std::string wrong_;
};

/// Both, for a registry. It is a preserver of the registry until it ends.
class ChangeMarks {
 public:
  explicit ChangeMarks(EntityRegistry& registry);
  ~ChangeMarks();
  ChangeMarks(const ChangeMarks&) = delete;
  ChangeMarks& operator=(const ChangeMarks&) = delete;

  /// Forgets what was before, as after loading: from here on.
  void begin();
  /// What changed since the last look without a mark, in words; empty where all is well. Looks anew.
  std::string check();

 private:
  void look();

  EntityRegistry& registry_;
  RowMarks rows_;
  ColumnMarks columns_;
};

}  // namespace muster::test
