// Defines the desk's interface to the world that it serves and to the surrounding program, which is
// either a server or a test.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/apply/edit_log.h"
#include "registry/history/kept_edits.h"
#include "server/plugins/reloaded_plugin.h"
#include "server/world/restored.h"
#include "server/world/run.h"
#include "server/world/saving/durability.h"
#include "server/world/time/pacer.h"
#include "server/world/time/work_time.h"

namespace muster {

class AppliedRequests;  // server/world/journal/applied_requests.h
class EditHistory;      // registry/history/edit_history.h
class TypeTable;        // messages/type_table.h

/// The facts about a world that do not change during the lifetime of a desk.
struct WorldFacts {
  double hz = 0;        ///< ticks per second at speed 1, or 0 for none
  std::string world;    ///< the world's name
  std::string program;  ///< the server's name and version
  Durability durability = Durability::checkpoint;
  std::chrono::nanoseconds autosave{0};  ///< time between automatic saves, or 0 if there are none

  /// If false, the world thread serves watches after a flush.
  bool watch_thread = false;
};

/// Must outlive the desk. The default implementations are for a world that is never saved, has no
/// plugins, and has a clock that cannot be set.
class WorldSide {
 public:
  using Saved = std::expected<void, std::string>;

  WorldSide() = default;
  virtual ~WorldSide() = default;
  WorldSide(const WorldSide&) = delete;
  WorldSide& operator=(const WorldSide&) = delete;

  // --- any thread

  virtual const WorldFacts& facts() const noexcept = 0;
  /// Requests a flush, which the world performs soon.
  virtual void wake() = 0;
  /// Returns the sequence number of the last input that would survive a crash.
  virtual std::uint64_t durable_sequence() const { return 0; }
  /// Returns the sequence number of the last input that is part of the saved state.
  virtual std::uint64_t saved_sequence() const { return durable_sequence(); }
  /// Returns the processor time used so far by the world thread.
  virtual std::uint64_t processor_ns() const { return 0; }
  /// If the world thread hangs, returns a message that explains why. Otherwise, returns an empty
  /// string.
  virtual std::string hang() const { return {}; }

  /// Returns the number of lines that the log has lost.
  virtual std::uint64_t log_lines_lost() const { return 0; }
  /// Returns true if audit() writes lines (server/session/audit_line.h).
  virtual bool audits() const noexcept { return false; }
  /// Adds a line to the audit log. Never waits.
  virtual void audit(std::string) const {}
  /// Returns the number of lines that the audit log has lost.
  virtual std::uint64_t audit_lines_lost() const { return 0; }

  // --- world thread

  /// Calls `act` while the listener's thread does nothing, so that `act` may change what both
  /// threads read.
  virtual void while_listener_rests(const std::function<void()>& act) { act(); }
  /// Tells which types the world knows now, before any session can learn of them.
  virtual void tell_types(const TypeTable&) {}
  /// Wakes the world after the given time has passed.
  virtual void wake_in(std::chrono::nanoseconds) {}
  /// Writes a line to the server's log.
  virtual void warn(const std::string&) {}
  /// Begins saving the current state, if necessary after the save that is in progress. `then` is
  /// called between two inputs, once the state is on disk or the save has failed. The call may be
  /// made before begin_save() returns. If it returns false, it must be called again after a flush.
  virtual bool begin_save(const std::function<void(Saved)>& then) {
    then({});
    return true;
  }
  /// If no further inputs become durable and edits are therefore refused, returns the reason.
  /// Otherwise, returns null.
  virtual const std::string* recording_error() const { return nullptr; }
  /// Returns the reason why the most recent automatic save failed, or null if it did not fail.
  virtual const std::string* save_error() const { return nullptr; }
  /// Returns the history of the sessions' edits, or null if there is none. The result must always
  /// be the same.
  virtual EditHistory* history() { return nullptr; }
  /// Returns the size, in bytes, of the journal since the last save.
  virtual std::uint64_t journal_bytes() const { return 0; }
  /// If the file or its journal is growing too large, returns a warning. Otherwise, returns an
  /// empty string.
  virtual std::string size_warning() const { return {}; }
  /// Returns World::epoch(), or 0 if the desk must draw one.
  virtual std::uint64_t epoch() const { return 0; }
  /// Returns World::lineage.
  virtual std::uint64_t lineage() const { return 1; }
  /// Returns World::applied_requests, or null if the desk must remember them itself. The result
  /// must always be the same.
  virtual AppliedRequests* applied_requests() { return nullptr; }
  /// Returns the level of the current run, or nothing if no run is on.
  virtual std::optional<Run> run() const { return std::nullopt; }
  using RunDone = std::function<void(std::expected<void, std::string>)>;
  /// Begins a run (true) or ends it (false), at the beginning of the next flush. `then` is called
  /// when that is done or has failed.
  virtual void set_run(bool, RunDone then) { then(std::unexpected(std::string("this server has no runs"))); }
  using PastDone = std::function<void(std::expected<Restored, std::string>)>;
  /// Returns World::past(), or the reason why there is none.
  virtual std::expected<std::vector<KeptPast>, std::string> past() {
    return std::unexpected(std::string("this server keeps no past states"));
  }
  /// Calls World::restore() at the beginning of the next flush, and then `then`.
  virtual void restore(const RestoreTarget&, PastDone then) {
    then(std::unexpected(std::string("this server keeps no past states")));
  }
  /// Returns what the end of the last run has kept; see World::kept.
  virtual std::vector<KeepReport> kept() const { return {}; }
  virtual std::vector<RunEdit> run_edits(std::uint32_t, std::uint32_t) const { return {}; }
  virtual std::expected<KeepReport, std::string> keep(const KeepSelection&, const Sender&) {
    return std::unexpected(std::string("this server has no runs"));
  }
  /// Returns the pace of the world's clock, or nothing if the clock cannot be set.
  virtual std::optional<Pace> pace() const { return std::nullopt; }
  virtual std::expected<void, PaceFault> set_pace(const Pace&) { return {}; }
  /// Returns the number of the most recent tick.
  virtual std::uint64_t tick() const { return 0; }
  /// Returns the durations of ticks, or null if they are not measured.
  virtual const TimeCounts* tick_times() const { return nullptr; }
  /// Returns the name and build of each plugin.
  virtual std::vector<std::string> plugins() const { return {}; }
  /// Reloads a plugin, or all plugins if `which` is empty. On failure, the error is a
  /// human-readable message.
  virtual std::expected<std::vector<ReloadedPlugin>, std::string> reload(std::string_view) {
    return std::unexpected(std::string("this server has no plugins"));
  }
};

/// Returns the message in `error`, or an empty string if `error` is null.
inline std::string text_of(const std::string* error) { return error ? *error : std::string(); }

}  // namespace muster
