// The registry with which a checked replay is compared. It does the same inputs under other
// circumstances, so that handlers that depend on them have other results:
//
//   on one worker                            the order in which workers finish
//   on a thread of its own                   thread_local variables, the id of the thread
//   on another processor, if there is one    the number of the processor
//   at other addresses                       addresses of components, of captured variables
//   with code that was loaded again          static variables: caches, seeds, counters
//   begun anew, from the state so far        what handlers remember from earlier ticks
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/world/replay/replay.h"
#include "server/world/replay/replay_world.h"

namespace muster {

class ReplayTwin {
 public:
  using InstallAgain = std::function<ReplayInstall()>;
  using Act = std::function<void(EntityRegistry&)>;

  /// `install_again` returns a function like `install` whose code has new static variables. If it
  /// is null, `install` is called again instead.
  ReplayTwin(ReplayInstall install, InstallAgain install_again, bool any_code);
  ~ReplayTwin();
  ReplayTwin(const ReplayTwin&) = delete;
  ReplayTwin& operator=(const ReplayTwin&) = delete;

  /// Begins with the state of a slice. Destroys the registry before. After an error, there is none.
  Replayed begin(const Slice& slice);
  /// Begins anew with the state of another registry, whose inputs do not belong to a run.
  Replayed begin_like(const ReplayWorld& other);
  bool has_begun() const noexcept { return world_ != nullptr; }
  /// Ends, and destroys the registry.
  void end();

  /// Calls `act` the next time that do_all() is called.
  void later(Act act) { acts_.push_back(std::move(act)); }
  void do_all();
  EntityRegistry& registry() noexcept { return world_->registry; }

 private:
  class OwnThread;

  const ReplayInstall install_;
  const InstallAgain install_again_;
  const bool any_code_;
  ReplayInstall installed_;  // owns the code of the registry's handlers
  std::unique_ptr<ReplayWorld> world_;
  std::vector<Act> acts_;
  std::unique_ptr<OwnThread> thread_;
};

}  // namespace muster
