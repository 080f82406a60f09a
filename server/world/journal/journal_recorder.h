// Records every input of a registry in journal groups in memory. The owner takes the groups from
// there. For messages with journal: "never", only the fact that there was an input is recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/delivery/input_sink.h"
#include "schema/descriptor.h"
#include "server/world/journal/journal_group.h"

namespace muster {

class EntityRegistry;
class TypeTable;
namespace journal_format {
struct UnkeptRecord;
}
class SpareRecords;
class WorkMark;

/// Must be used on the world thread. The owner adds the recorder to the registry's sinks,
/// preferably as the last sink, and must remove it before either object is destroyed. Once groups
/// of a given size have been taken, only the first input of each further group of that size
/// allocates memory.
class JournalRecorder final : public InputSink {
 public:
  struct Start {
    std::string code = {};          ///< identity of the host's code; see code_identity()
    std::uint64_t epoch = 0;        ///< the epoch stored in every group
    std::uint64_t tick = 0;         ///< number of the most recent tick
    WorkMark* mark = nullptr;       ///< marks the input that is being handled; may be null
    SpareRecords* spare = nullptr;  ///< provides memory for large groups; may be null
    /// Limit on the size of a group; a single input may exceed it.
    std::size_t group_bytes = 1u << 20;
  };
  /// Records the inputs that follow the registry's current sequence number.
  JournalRecorder(const EntityRegistry& registry, Start start);

  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  void on_withdrawn(const Envelope& envelope) noexcept override;
  void on_cut(const CascadeCut& cut) noexcept override;
  bool wants_receipts(InputKind) const noexcept override { return false; }

  /// Records that the world has made a tick. The tick belongs to the preceding Advance input and is
  /// recorded in the same group.
  void made_tick(std::uint64_t tick);
  /// Sets the code identity after another build of the host or of a plugin has been loaded. Closes
  /// the open group.
  void set_code(std::string code);
  /// Sets the epoch of the groups that follow. Closes the open group.
  void set_epoch(std::uint64_t epoch);
  /// Closes the open group, for instance when the state is copied for a checkpoint. Has no effect
  /// if the group is empty. Like take(), must be called only between inputs.
  void end_group();
  /// Closes the open group and returns all groups in order.
  [[nodiscard]] std::vector<JournalGroup> take();
  /// Returns the number of bytes of records that have not been taken yet.
  std::size_t waiting_bytes() const noexcept { return closed_bytes_ + open_.records.size(); }

  /// Discards all records, and stops recording until resume() is called.
  void pause() noexcept;
  /// Resumes recording after the current sequence number. The state at that sequence number must
  /// have been saved.
  void resume(std::uint64_t tick);
  bool paused() const noexcept { return paused_; }

 private:
  void begin_group();
  void close_group();
  void look_at_code();
  void learn_schemas();
  void find_unkept();
  /// Returns true if the batch is kept in the journal. Messages with journal: "never", whose
  /// handlers do not change saved state, are not kept. Timed batches are part of the state and are
  /// always kept.
  bool keeps(std::span<const std::byte> batch) const noexcept;
  void append_unkept(const Envelope& envelope);
  /// Returns the last record of the open group if it is an unkept record, and null otherwise.
  journal_format::UnkeptRecord* last_unkept() noexcept;
  void append_cut(const CascadeCut& cut);
  /// Records the registry's counters if any inputs were not kept.
  void note_counters();
  /// Reserves memory for `bytes` bytes of records in the open group.
  void reserve(std::size_t bytes);
  template <class Record>
  void append(const Record& record, std::span<const std::byte> body, std::size_t zeros = 0);

  const EntityRegistry& registry_;
  const TypeTable& types_;
  std::string host_code_, code_;
  std::uint64_t epoch_;
  const std::size_t group_bytes_;
  WorkMark* const mark_;
  SpareRecords* const spare_;
  std::uint64_t tick_;
  std::uint64_t last_;               // sequence number of the most recent input
  std::uint64_t handler_steps_ = 0;  // version of the handler table that code_ describes
  // Fingerprints of the types, now and at the start of the group.
  std::uint64_t types_known_, types_before_;
  // Numbers of recorded schemas, now and at the start of the group.
  std::size_t schemas_, schemas_before_;
  // Types of messages that are never kept, in ascending order.
  std::vector<TypeId> unkept_;

  // Cuts of cascades that were resumed after the most recent input. Recorded with the next input,
  // in whose group they must be.
  std::vector<CascadeCut> cuts_;

  // True if inputs have not been kept since the last counters record.
  bool uncounted_ = false;
  bool paused_ = false;
  JournalGroup open_;            // open only if it contains records
  std::size_t last_record_ = 0;  // offset in the open group, or the group's size if there is none
  std::vector<JournalGroup> closed_;
  std::size_t closed_bytes_ = 0, usual_bytes_ = 4096;
};

}  // namespace muster
