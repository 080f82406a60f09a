// Reads and verifies the records of a journal group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/delivery/registry_core.h"
#include "server/world/journal/journal_group.h"

namespace muster {

class SavedTypes;
class TypeTable;

/// A record. Its spans point into the group's bytes, except for the span of a converted batch.
struct JournalRecord {
  enum class Kind : std::uint8_t { input, tick, schema, counters, cut };
  Kind kind = Kind::input;
  std::size_t offset = 0;  ///< offset of the record in the group

  /// The envelope of an input. For other records, only the sequence number is set, to that of the
  /// preceding input.
  Envelope envelope = {};
  /// The batch of an input. Empty for a flush and for an input that was not kept.
  std::span<const std::byte> batch = {};
  bool kept = true;        ///< false for inputs whose messages are never journaled
  std::uint64_t tick = 0;  ///< number of the tick
  std::span<const std::byte> schema = {};
  RegistryCounters counters = {};
  CascadeCut cut = {};
  /// For an input, the cuts that follow its record directly. They must be known before the input is
  /// replayed (RegistryHost::expect_cut), and are also returned as records of their own.
  std::vector<CascadeCut> cuts = {};
};

struct JournalFault {
  std::size_t offset = 0;  ///< offset of the faulty byte in the group
  std::string text;        ///< a message that describes the fault

  /// True if the record is correctly framed but its payload does not match the known types. In that
  /// case, the caller can continue reading.
  bool can_go_on = false;
  InputKind kind = InputKind::push;  ///< kind of the input, if can_go_on is true
};

/// Reads records from arbitrary bytes. Reading always terminates, and every record returned is
/// well-formed and safe to replay.
class RecordReader {
 public:
  /// `records` must begin on a 16-byte boundary and must outlive the reader. `first` is the
  /// sequence number of the first input.
  RecordReader(std::span<const std::byte> records, std::uint64_t first) : records_(records), next_(first) {}

  /// Returns the next record, or nothing at the end. Verifies each batch against `types`. After a
  /// schema record, the caller must add the schema to `types` before the next call. Accepts field
  /// values that are out of range, because a handler may have written them. If `then` is given, it
  /// contains the types with which the group was written, and batches whose layouts differ are
  /// converted. A converted batch is valid until the next call.
  [[nodiscard]] std::expected<std::optional<JournalRecord>, JournalFault> next(const TypeTable& types,
                                                                               SavedTypes* then = nullptr);
  /// Returns the sequence number of the next input.
  std::uint64_t next_sequence() const noexcept { return next_; }

 private:
  std::expected<std::optional<JournalRecord>, JournalFault> read_input(std::span<const std::byte> record,
                                                                       const TypeTable& types, SavedTypes* then);
  std::expected<std::optional<JournalRecord>, JournalFault> read_tick(std::span<const std::byte> record) const;
  std::expected<std::optional<JournalRecord>, JournalFault> read_schema(std::span<const std::byte> record) const;
  JournalRecord next_unkept() noexcept;
  std::expected<std::optional<JournalRecord>, JournalFault> read_unkept(std::span<const std::byte> record);
  std::expected<std::optional<JournalRecord>, JournalFault> read_counters(std::span<const std::byte> record) const;
  std::expected<std::optional<JournalRecord>, JournalFault> read_cut(std::span<const std::byte> record) const;
  /// Returns the cuts that the next records contain. The records are verified when they are read.
  std::vector<CascadeCut> cuts_ahead() const;
  std::unexpected<JournalFault> fault(std::size_t in_record, const std::string& what,
                                      const InputKind* of = nullptr) const;

  std::span<const std::byte> records_;
  std::uint64_t next_;
  JournalRecord unkept_;            // sequence number of the next input in a run of unkept inputs
  std::uint64_t unkept_left_ = 0;   // number of inputs remaining in that run
  std::size_t at_ = 0, begin_ = 0;  // end and start offsets of the current record
  std::vector<std::byte> mended_, converted_;
};

/// Reads all records of a group, adds the schemas among them to `types`, and then calls take() with
/// each one. The error is a sentence that gives the position.
[[nodiscard]] std::expected<void, std::string> read_group(const JournalGroup& group, TypeTable& types,
                                                          const std::function<void(const JournalRecord&)>& take);

}  // namespace muster
