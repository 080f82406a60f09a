// Writes down every input of a registry as records of journal groups, in memory: whoever owns it takes the groups away. Of inputs whose
// messages no journal keeps (journal: "never") only that they were.
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

/// Used on the registry's thread alone. The owner adds it to the registry's sinks, as the last one where it can, and removes it
/// before either goes. Once groups of a size were taken, an input costs no allocation but where a group is begun.
class JournalRecorder final : public InputSink {
 public:
  struct Start {
    std::string code = {};          ///< of the host: see code_identity
    std::uint64_t epoch = 0;        ///< of this start, in every group
    std::uint64_t tick = 0;         ///< the world's last one
    WorkMark* mark = nullptr;       ///< told which input is in work; may be null
    SpareRecords* spare = nullptr;  ///< whose memory large groups take; may be null
    std::size_t group_bytes =
        1u << 20;  ///< where a group has as many another one is begun; a single input may be larger
  };
  /// Records what happens from the registry's present sequence on.
  JournalRecorder(const EntityRegistry& registry, Start start);

  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;
  void on_withdrawn(const Envelope& envelope) noexcept override;
  bool wants_receipts(InputKind) const noexcept override { return false; }

  /// The world made this tick: belongs to the Advance input before it, and is in its group.
  void made_tick(std::uint64_t tick);
  /// Another build of the host's code, or of a plugin, runs the handlers from now on. Ends the open group.
  void set_code(std::string code);
  /// Nothing that comes belongs to the open group: as where the state is copied for a checkpoint. Without records there is none. To be
  /// called between inputs, as take().
  void end_group();
  /// Ends the open group, and gives away all that were not taken yet, in order.
  [[nodiscard]] std::vector<JournalGroup> take();
  /// Bytes of records that were not taken yet.
  std::size_t waiting_bytes() const noexcept { return closed_bytes_ + open_.records.size(); }

  /// What was not taken is dropped, and nothing is written down until resume(): the registry goes on alone.
  void pause() noexcept;
  /// Records again, from the present sequence on: for a state that is saved.
  void resume(std::uint64_t tick);
  bool paused() const noexcept { return paused_; }

 private:
  void begin_group();
  void close_group();
  void look_at_code();
  void learn_schemas();
  void find_unkept();
  /// Whether the journal keeps the batch: not where its schema says so and handlers only read. What waits for a time is state.
  bool keeps(std::span<const std::byte> batch) const noexcept;
  void append_unkept(const Envelope& envelope);
  /// The last record of the open group, where it is one of inputs that are not kept; else null.
  journal_format::UnkeptRecord* last_unkept() noexcept;
  /// Writes down what was counted, where inputs were that are not kept.
  void note_counters();
  /// Memory for so many bytes of records of the open group.
  void reserve(std::size_t bytes);
  template <class Record>
  void append(const Record& record, std::span<const std::byte> body, std::size_t zeros = 0);

  const EntityRegistry& registry_;
  const TypeTable& types_;
  std::string host_code_, code_;
  const std::uint64_t epoch_;
  const std::size_t group_bytes_;
  WorkMark* const mark_;
  SpareRecords* const spare_;
  std::uint64_t tick_;
  std::uint64_t last_;                        // sequence of the last input
  std::uint64_t handler_steps_ = 0;           // of the table of handlers, when code_ was found
  std::uint64_t types_known_, types_before_;  // fingerprint of the types, now and when the open group was begun
  std::size_t schemas_, schemas_before_;  // of the registry that were written down, or were there at first; likewise
  std::vector<TypeId> unkept_;            // messages that no journal keeps, ascending
  bool uncounted_ = false;                // such came since the counters were last written down
  bool paused_ = false;
  JournalGroup open_;            // without records: none is
  std::size_t last_record_ = 0;  // where it begins in the open group; its end, where there is none
  std::vector<JournalGroup> closed_;
  std::size_t closed_bytes_ = 0, usual_bytes_ = 4096;
};

}  // namespace muster
