// Defines a seat, which is the part of a session that belongs to one world. session.h shows how
// seats and sessions are related.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "messages/session.h"
#include "server/world/time/work_time.h"
#include "system/mutex.h"

namespace muster {

/// The hashes of the interned texts that were sent to a session. Thread-safe.
class TextsTold {
 public:
  /// Returns true if the text was sent on the current connection.
  bool has(std::uint64_t hash) const {
    const MutexLock lock(mutex_);
    return told_.contains(hash);
  }
  /// Returns true if the text was sent on this or on an earlier connection of the seat's session,
  /// so that the client may know it.
  bool may_be_known(std::uint64_t hash) const {
    const MutexLock lock(mutex_);
    return told_.contains(hash) || earlier_.contains(hash);
  }
  /// If the text has not been sent before, or if `again` is true, calls `send` to queue the text.
  /// If another thread is currently sending the text, waits until the text is queued, so that any
  /// message that mentions the text is sent after it.
  template <class F>
  void tell(std::uint64_t hash, bool again, F&& send) {
    const MutexLock lock(mutex_);
    if (told_.insert(hash).second || again) send();
  }
  /// Must be called if the client may not have received everything that was sent.
  void lose() {
    const MutexLock lock(mutex_);
    earlier_.merge(told_);
    told_.clear();
  }
  /// Must be called if the world may not know the texts anymore.
  void forget() {
    const MutexLock lock(mutex_);
    told_.clear();
    earlier_.clear();
  }
  bool empty() const {
    const MutexLock lock(mutex_);
    return told_.empty() && earlier_.empty();
  }

 private:
  mutable Mutex mutex_;
  std::unordered_set<std::uint64_t> told_ MUSTER_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> earlier_ MUSTER_GUARDED_BY(mutex_);  // on earlier connections
};

/// Must be used only on the world thread, except for texts_sent.
struct Seat {
  TextsTold texts_sent;  ///< thread-safe
  /// Interned texts that the session sent to the world.
  std::unordered_set<std::uint64_t> texts_told;

  /// Number and total size of the texts in texts_told that were new to the world.
  std::uint64_t texts = 0, text_bytes = 0;
  std::vector<session::Granted> grants;  ///< sorted by index; ids may be unused
  std::vector<std::uint64_t> timers;     ///< may include timers that have fired or been cancelled
  std::uint64_t edits = 0;               ///< number of edits that the world accepted

  /// Processor time from an edit's arrival to its answer.
  TimeCounts edit_waits;
};

}  // namespace muster
