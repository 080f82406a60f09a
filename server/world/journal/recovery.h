// Replays a journal on a registry that was loaded from its checkpoint.
//
// Opening a world consists of the following steps. Any of steps 1 to 14 can fail; if one of steps 1
// to 10 does, the file remains unchanged.
//
//    1  world_file.cc         path, links, rights; a new world skips steps 4 to 7 and 9 to 14
//    2  lock.cc               takes WORLD-lock, reads what was reported durable
//    3  place/left_behind.cc  if there is no file: refuses if its -wal, -work or -users exists
//    4  file_header.cc        checks that the file is a world in a known format
//    5  world_file.cc         check_wal(): checks that the -wal belongs to this file (salts, birth, world)
//    6  world_file.cc         open_database(): tables, quick_check, sync of a foreign -wal, meta
//    7  world_file.cc         check_mark(): checks that nothing that was reported durable is missing
//    8  world.cc              install: compiled types and handlers are known
//    9  file_source.cc        load: rows into a registry, converted if layouts changed
//   10  file_history.cc       steps(): the steps that can be undone and redone
//   11  work_mark.cc          finds the input at which processes died: the suspect
//   12  recovery.cc           take(): replays each group, exactly or only its edits
//   13  world.cc              stops before the suspect, if there is one: World::stopped()
//   14  saver.cc              saves at once if the replay was not exact or the file is older
//   15  saver.cc              opened(): inputs are recorded from here on
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

class AppliedRequests;
class EntityRegistry;
class SavedTypes;
class WorkMark;

/// The result of replaying a journal.
struct RecoveryReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t groups = 0;      ///< number of groups in the journal
  std::uint64_t inputs = 0;      ///< number of inputs that were replayed exactly
  std::uint64_t ticks = 0;       ///< number of ticks that were replayed exactly
  std::uint64_t edits_only = 0;  ///< number of groups from which only edits were applied
  std::uint64_t edits = 0;       ///< number of edits that were applied from such groups

  /// Number of inputs in those groups that were not applied: passes, clock inputs, the host's own
  /// pushes, and edits that could not be applied. Messages that are never journaled are not
  /// counted.
  std::uint64_t left_out = 0;
  std::uint64_t ticks_lost = 0;
  std::string why = {};  ///< a message that explains why only edits were applied

  /// The input at which the previous process died, if known.
  std::string died = {};
  std::vector<std::string> skipped = {};  ///< descriptions of inputs left out at the host's request
  std::string not_there = {};             ///< true if the input to leave out is not in the journal

  /// If recovery stopped before an input, a message that describes that input. Otherwise, empty.
  std::string stopped = {};
  std::uint64_t failed = 0;  ///< number of edits that could not be applied
  /// Descriptions of the first failed edits, with their positions.
  std::vector<std::string> listed = {};

  /// Returns true if the state equals the world's state after its last recorded input.
  bool exact() const noexcept { return edits_only == 0 && skipped.empty(); }
  /// Returns a description for display, in full sentences. Returns an empty string if there is no
  /// journal.
  std::string text() const;
};

/// Processes groups in order. Every input of a group is replayed exactly (RegistryHost::replay) if
/// the group was written with the current code and types. Starting with the first group that was
/// not, only the inputs of sessions are applied, along with the grants of ids and the interned
/// texts that those inputs need. Each input keeps its original number. Every other input is
/// replaced by an empty one, so that no number is reused. Edits whose types have changed layout are
/// converted in the same way as saved state (registry/state/batch_change.h). Must be used on the
/// world thread. No other code may use the registry during recovery.
class Recovery {
 public:
  struct Start {
    std::string code = {};  ///< identity of the host's code, as for JournalRecorder
    std::uint64_t tick = 0;
    std::string not_exact = {};  ///< if not empty, the reason why only edits are applied

    /// Binary schemas of the checkpoint, in order. If only edits are applied, edits whose types
    /// have changed are converted with these schemas. Without schemas, such edits are not
    /// converted.
    std::vector<std::vector<std::byte>> schemas = {};
    std::uint64_t stop_before = 0;  ///< sequence number of the input to stop before, or 0 for none

    /// Inputs to leave out. After the first of them, only edits are applied.
    std::vector<std::uint64_t> skip = {};
    WorkMark* mark = nullptr;  ///< marks the input that is being handled; may be null
    /// Notes the requests of sessions that are replayed; may be null.
    AppliedRequests* applied = nullptr;
  };
  Recovery(EntityRegistry& registry, Start start);

  /// Replays a group. If a record of an exact group cannot be read or applied, returns an error
  /// message that gives the record's position; the registry is then unusable. Has no effect after
  /// recovery has stopped.
  [[nodiscard]] std::expected<void, std::string> take(const JournalGroup& group);
  bool has_stopped() const noexcept { return !report_.stopped.empty(); }
  const RecoveryReport& report() const noexcept { return report_; }
  /// Returns true if the checkpoint was saved with layouts that differ from the known layouts. In
  /// that case, records written after the checkpoint would be read with the wrong layouts.
  bool types_differ();
  /// Returns the number of the most recently replayed tick.
  std::uint64_t tick() const noexcept { return tick_; }

 private:
  void apply_edit(const JournalGroup& group, const JournalRecord& record);
  /// Grants the ids of `record` again, possibly along with other ids. Returns true if the record's
  /// ids are now granted.
  bool grant_again(const JournalRecord& record);
  /// Notes the result of a session's request.
  void note_applied(const Envelope& envelope, const Receipt& receipt) const;
  /// Creates an empty input with the given sequence number.
  void pass_over(std::uint64_t sequence, InputKind kind);
  /// Adds a schema that the world learned after the checkpoint.
  std::expected<void, std::string> learn(std::span<const std::byte> schema, bool exact);
  /// Returns the types of the checkpoint and of any later schemas, or null if they are unknown.
  SavedTypes* then();
  /// Returns the types from then() if the group was written with them, and null otherwise.
  SavedTypes* then(const JournalGroup& group);
  void note_failure(const JournalGroup& group, std::uint64_t sequence, const std::string& what);

  EntityRegistry& registry_;
  const std::string host_code_;
  const std::uint64_t stop_before_;
  const std::vector<std::uint64_t> skip_;
  WorkMark* const mark_;
  AppliedRequests* const applied_;
  std::uint64_t tick_;
  std::vector<std::vector<std::byte>> schemas_;  // schemas of the checkpoint and of later records
  std::shared_ptr<SavedTypes> then_;             // built from schemas_ when needed

  // True while only posts have been replayed. The checkpoint may contain these posts as pending, so
  // each replayed post replaces the first pending one.
  bool posts_first_ = true;
  // True while the group is not replayed exactly. The limit on time then ends cascades.
  bool timed_ = false;
  RecoveryReport report_;
};

}  // namespace muster
