// A session: one remote connection of a user after its Welcome. The door creates it; the desk and
// its watches serve it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "server/access/rights.h"
#include "server/session/outgoing.h"
#include "server/session/requests.h"
#include "server/world/time/work_time.h"
#include "system/mutex.h"

namespace muster {

class EntityRegistry;

/// The hashes of the texts that were sent to a session. Any thread.
class TextsTold {
 public:
  bool has(std::uint64_t hash) const {
    const MutexLock lock(mutex_);
    return told_.contains(hash);
  }
  /// Calls `send` to queue the text, unless it was sent before and `again` is false. If another
  /// thread is sending the text, waits until it is queued, so that messages that mention it follow
  /// it.
  template <class F>
  void tell(std::uint64_t hash, bool again, F&& send) {
    const MutexLock lock(mutex_);
    if (told_.insert(hash).second || again) send();
  }
  bool empty() const {
    const MutexLock lock(mutex_);
    return told_.empty();
  }

 private:
  mutable Mutex mutex_;
  std::unordered_set<std::uint64_t> told_ MUSTER_GUARDED_BY(mutex_);
};

/// Created by Desk::join. The identity never changes; each other member states the thread that may
/// use it.
struct Session {
  Session(std::size_t request_bytes_max, std::shared_ptr<RequestBytes> all_requests)
      : requests(request_bytes_max, std::move(all_requests)) {}

  std::uint64_t session_id = 0;  ///< secret between server and client
  std::uint64_t author = 0;
  std::uint64_t user = 0;  ///< the user with the token; 0 for the server's own token
  Rights rights;
  std::string name, kind;
  std::shared_ptr<Outgoing> outgoing;  ///< any thread
  Requests requests;                   ///< session's thread and owner's
  std::atomic<bool> left = false;      ///< any thread: no more requests follow

  std::atomic<std::uint32_t> open_questions = 0;  ///< any thread
  TextsTold texts_sent;                           ///< any thread
  std::unordered_set<std::uint64_t> texts_told;   ///< owner's thread; texts it sent to the world
  std::vector<session::Granted> grants;           ///< owner's thread; by index; may be unused
  std::vector<std::uint64_t> timers;              ///< owner's thread; may include ended ones
  /// Session's thread: the owner's processor time when the current requests arrived; 0 means now.
  std::uint64_t came_ns = 0;
  std::uint64_t joined_ns = 0;                    ///< steady clock
  std::uint64_t edits = 0;                        ///< owner's thread: edits that the world accepted
  TimeCounts edit_waits;                          ///< owner's thread: its processor time from arrival to answer
  std::atomic<std::uint64_t> received_bytes = 0;  ///< any thread; in frames
  std::atomic<std::uint64_t> told_rows = 0;       ///< any thread; of all its watches, ended or not
  std::uint64_t texts = 0, text_bytes = 0;        ///< owner's thread: texts new to the world
};

/// Returns a fault that leaves the session open.
session::Fault fault_of(session::FaultCode code, const char* reason, std::string text);

/// Returns the answer to an edit while the disk fails with the sentence `error`.
session::Fault not_recorded_fault(const std::string& error);

/// Queues one message as a control frame.
template <GeneratedType M>
void answer(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing->control(builder.bytes(), request, flags);
}

/// Queues one message about a watch, after the watch's earlier frames.
template <GeneratedType M>
void tell_of_watch(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing->watch_control(builder.bytes(), request, flags);
}

/// Returns true if the world knows the text and this session has not been sent it. A text that is
/// mentioned but was never sent is also unknown to the world. `World` is an EntityRegistry on its
/// owner's thread, or another class that knows texts.
template <class World>
bool must_be_sent(const Session& to, const World& world, Text text) {
  return text && !to.texts_sent.has(text.hash) && !world.text(text).empty();
}
/// Sends a text for which must_be_sent returns true.
template <class World>
void send_text(Session& to, const World& world, Text text) {
  to.texts_sent.tell(text.hash, false, [&] { answer(to, 0, InternText{.text = std::string(world.text(text))}); });
}
}  // namespace muster
