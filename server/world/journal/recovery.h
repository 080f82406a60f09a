// Brings a registry that was read from a checkpoint to the end of its journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/world/journal/journal_group.h"
#include "server/world/journal/record_reader.h"

namespace muster {

class EntityRegistry;
class SavedTypes;
class WorkMark;

/// What became of the journal when a world was opened.
struct RecoveryReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t groups = 0;      ///< that were there
  std::uint64_t inputs = 0;      ///< of them, that were done again as they were
  std::uint64_t ticks = 0;       ///< likewise
  std::uint64_t edits_only = 0;  ///< groups of which the edits alone were applied
  std::uint64_t edits = 0;       ///< that were applied in these
  /// Inputs in these that were not: passes, clocks, what the host pushed, edits that do not fit any more. Not those whose messages no
  /// journal keeps, since they left nothing.
  std::uint64_t left_out = 0;
  std::uint64_t ticks_lost = 0;
  std::string why = {};   ///< the edits alone: a sentence
  std::string died = {};  ///< what the process before died of: an input, and what it was, as far as that is known
  std::vector<std::string> skipped =
      {};  ///< inputs that were left out because the host said so: the number of each, and what it was
  std::string not_there = {};  ///< a sentence, where the input that was to be left out is not in the journal
  std::string stopped = {};    ///< likewise, of one before which recovery stopped: nothing from it on was done
  std::uint64_t failed = 0;    ///< edits that could not be applied
  std::vector<std::string> listed = {};  ///< the first of them, with their places

  /// The state is that of the world at its last recorded input.
  bool exact() const noexcept { return edits_only == 0 && skipped.empty(); }
  /// Sentences for people; empty where there was no journal.
  std::string text() const;
};

/// Groups come in order, one by one. While code and types are those that wrote them, each input is done again exactly
/// (EntityRegistry::replay). From the first group of other code on only what sessions sent is applied (and grants of ids, texts: what
/// that needs), each under its old number; every input left out is an empty one, so that no number is given twice. Owner's thread;
/// nothing else uses the registry meanwhile. Edits whose types have other layouts now are converted like saved state
/// (registry/state/batch_change.h).
class Recovery {
 public:
  struct Start {
    std::string code = {};  ///< of the host, as for JournalRecorder
    std::uint64_t tick = 0;
    std::string not_exact = {};  ///< why the state is not the one that was recorded: then the edits alone are applied
    /// The binary schemas of the checkpoint, in their order: where the edits alone are applied, those of types that are others now are
    /// converted as the checkpoint was. None: they are not.
    std::vector<std::vector<std::byte>> schemas = {};
    std::uint64_t stop_before = 0;         ///< sequence of an input from which on nothing is done; 0: none
    std::vector<std::uint64_t> skip = {};  ///< of those that are left out; behind the first the edits alone are applied
    WorkMark* mark = nullptr;              ///< told which input is in work; may be null
  };
  Recovery(EntityRegistry& registry, Start start);

  /// An error is a sentence with the place, and the registry is to be thrown away: exact, and a record that cannot be read or applied.
  /// Once it has stopped, groups are taken and nothing is done.
  [[nodiscard]] std::expected<void, std::string> take(const JournalGroup& group);
  bool has_stopped() const noexcept { return !report_.stopped.empty(); }
  const RecoveryReport& report() const noexcept { return report_; }
  /// Whether the checkpoint was saved with other layouts than are known now: what is recorded behind it would be taken for those.
  bool types_differ();
  /// As of the last tick that was done again.
  std::uint64_t tick() const noexcept { return tick_; }

 private:
  void apply_edit(const JournalGroup& group, const JournalRecord& record);
  /// Whether the ids are granted now, if perhaps others with them.
  bool grant_again(const JournalRecord& record);
  /// An input of this number that does nothing.
  void pass_over(std::uint64_t sequence, InputKind kind);
  /// A schema that the world learned behind the checkpoint.
  std::expected<void, std::string> learn(std::span<const std::byte> schema, bool exact);
  /// Those of the checkpoint and what came behind it; null where they are not known.
  SavedTypes* then();
  /// The same, where the group was written with them.
  SavedTypes* then(const JournalGroup& group);
  void note_failure(const JournalGroup& group, std::uint64_t sequence, const std::string& what);

  EntityRegistry& registry_;
  const std::string host_code_;
  const std::uint64_t stop_before_;
  const std::vector<std::uint64_t> skip_;
  WorkMark* const mark_;
  std::uint64_t tick_;
  std::vector<std::vector<std::byte>> schemas_;  // of the checkpoint, and those that came behind it
  std::shared_ptr<SavedTypes> then_;             // made of them when it is needed
  // Only posts came yet: they may be those that the checkpoint holds as posted, and one that is told takes the first one's place.
  bool posts_first_ = true;
  RecoveryReport report_;
};

}  // namespace muster
