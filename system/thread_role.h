// Threads as capabilities, so that the compiler checks which thread uses what. A function for one
// thread only is marked MUSTER_REQUIRES(world_thread), and a member that one thread uses is marked
// MUSTER_GUARDED_BY(world_thread). clang reports a use from code that is not known to run on that
// thread; other compilers ignore the attributes (system/mutex.h).
#pragma once

#include "system/mutex.h"

namespace muster {

/// The role of a thread. It has no state: the check happens while the code is compiled.
class MUSTER_THREAD_ATTRIBUTE(capability("thread")) ThreadRole {
 public:
  /// States that the caller runs on this thread, or that the thread cannot run at the same time.
  /// Begins a function whose caller the compiler cannot see: of a thread, a callback, or an
  /// interface without attributes.
  void is_here() const noexcept MUSTER_THREAD_ATTRIBUTE(assert_capability(this)) {}
};

/// Runs the registry.
inline constexpr ThreadRole world_thread;
/// Handles all sockets.
inline constexpr ThreadRole listener_thread;
/// Writes groups and checkpoints.
inline constexpr ThreadRole writing_thread;
/// Compares changes, and encodes what watches are sent.
inline constexpr ThreadRole watch_thread;

}  // namespace muster
