// The edits of a run that has ended. They can be kept until the next run begins.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/apply/edit_log.h"
#include "registry/history/edit_history.h"
#include "registry/history/kept_edits.h"

namespace muster {

/// Used only on the registry's thread.
class RunHistory {
 public:
  /// The registry must outlive this object.
  explicit RunHistory(EntityRegistry& registry);
  ~RunHistory();
  RunHistory(const RunHistory&) = delete;
  RunHistory& operator=(const RunHistory&) = delete;

  /// Replaces the contents with steps that EditHistory::all() returned during the run. Steps that
  /// cannot be read, or whose messages do not suit the registry's types, are left out.
  void load(std::span<const EditHistory::Saved> steps);
  /// Must be called when the run has ended and nothing has changed the level yet. Finds out which
  /// entities the level has.
  void ended();
  /// Returns the steps that ended() and applied() have changed since the previous call.
  std::vector<EditHistory::Saved> take_changes();
  /// Returns the numbers of all steps and marks, including those that were left out, in ascending
  /// order.
  std::span<const std::uint64_t> numbers() const noexcept;
  /// Lists steps, the newest first, as EditHistory::run_edits() does.
  std::vector<RunEdit> list(std::uint32_t offset, std::uint32_t limit) const;
  std::uint32_t size() const noexcept;
  /// What a user has marked in the run.
  struct Mark {
    Sender by;
    KeepSelection selection;
  };
  std::vector<Mark> marks() const;
  /// Returns the selected edits. The registry must contain the level. The error is a sentence; then
  /// there are no such edits.
  std::expected<KeptEdits, std::string> kept(KeepSelection selection, std::uint64_t session) const;
  /// Must be called once the edits have been applied, so that entities are not created twice.
  void applied(const KeptEdits& edits);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
