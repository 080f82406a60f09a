// Reads the records of a journal group, and judges each before anybody acts on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/delivery/registry_core.h"

namespace muster {

class SavedTypes;
class TypeTable;

/// One record. Spans are into the group's bytes, but for a batch that was converted.
struct JournalRecord {
  enum class Kind : std::uint8_t { input, tick, schema, counters };
  Kind kind = Kind::input;
  std::size_t offset = 0;                 ///< in the group
  Envelope envelope = {};                 ///< of an input; of others its sequence alone, that of the input before
  std::span<const std::byte> batch = {};  ///< of an input; empty of a flush, and where it was not kept
  bool kept = true;                       ///< false: an input whose messages no journal keeps
  std::uint64_t tick = 0;                 ///< of a tick
  std::span<const std::byte> schema = {};
  RegistryCounters counters = {};
};

struct JournalFault {
  std::size_t offset = 0;  ///< of the byte in the group
  std::string text;        ///< a sentence that names the byte
  /// The record's bounds are good, and what it carries is not, judged by the types that are known: the next one can be read.
  bool can_go_on = false;
  InputKind kind = InputKind::push;  ///< of the input, where one can go on
};

/// Whatever the bytes are, reading ends, and what it gives is well-formed: a replay of it harms nothing.
class RecordReader {
 public:
  /// `records` begins on a 16-byte boundary and outlives the reader. `first`: the sequence of the first input in it.
  RecordReader(std::span<const std::byte> records, std::uint64_t first) : records_(records), next_(first) {}

  /// The next record; none at the end. `types` are those that the batch is judged by: whoever reads a schema adds it before the next call.
  /// Values that no field can have are taken: handlers of the one who recorded wrote them.
  /// `then`, if given, has the types that the group was written with: a batch of other layouts is converted first, and is valid until the
  /// next call.
  [[nodiscard]] std::expected<std::optional<JournalRecord>, JournalFault> next(const TypeTable& types,
                                                                               SavedTypes* then = nullptr);
  /// Of the next input.
  std::uint64_t next_sequence() const noexcept { return next_; }

 private:
  std::expected<std::optional<JournalRecord>, JournalFault> read_input(std::span<const std::byte> record,
                                                                       const TypeTable& types, SavedTypes* then);
  std::expected<std::optional<JournalRecord>, JournalFault> read_tick(std::span<const std::byte> record) const;
  std::expected<std::optional<JournalRecord>, JournalFault> read_schema(std::span<const std::byte> record) const;
  JournalRecord next_unkept() noexcept;
  std::expected<std::optional<JournalRecord>, JournalFault> read_unkept(std::span<const std::byte> record);
  std::expected<std::optional<JournalRecord>, JournalFault> read_counters(std::span<const std::byte> record) const;
  std::unexpected<JournalFault> fault(std::size_t in_record, const std::string& what,
                                      const InputKind* of = nullptr) const;

  std::span<const std::byte> records_;
  std::uint64_t next_;
  JournalRecord unkept_;            // of a run of inputs that were not kept, the one that comes next
  std::uint64_t unkept_left_ = 0;   // in that run
  std::size_t at_ = 0, begin_ = 0;  // of the record behind the one that is read, and of that
  std::vector<std::byte> mended_, converted_;
};

}  // namespace muster
