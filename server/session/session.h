// A session: one remote connection of a user, from its Welcome on. The door makes it, the desk and its watches serve it.
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
#include "server/session/outgoing.h"
#include "server/session/requests.h"
#include "server/world/time/work_time.h"
#include "system/mutex.h"

namespace muster {

class EntityRegistry;

/// The texts that a session was told, by their hashes. Any thread.
class TextsTold {
 public:
  bool has(std::uint64_t hash) const {
    const MutexLock lock(mutex_);
    return told_.contains(hash);
  }
  /// Has `send` queue the text, unless it was told before (then only where `again`). Who finds it told meanwhile waits until it is
  /// queued, so that what mentions it comes behind it.
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

/// Made by Desk::join. The identity never changes; each other member says from which thread it may be touched.
struct Session {
  Session(std::size_t request_bytes_max, std::shared_ptr<RequestBytes> all_requests)
      : requests(request_bytes_max, std::move(all_requests)) {}

  std::uint64_t session_id = 0;  ///< secret between server and client
  std::uint64_t author = 0;
  std::uint64_t user = 0;  ///< who has the token; 0: it is the server's own
  session::Role role = session::Role::none;
  std::string name, kind;
  std::shared_ptr<Outgoing> outgoing;  ///< any thread
  Requests requests;                   ///< session's thread and owner's
  std::atomic<bool> left = false;      ///< any thread: nothing more comes

  std::atomic<std::uint32_t> open_questions = 0;  ///< any thread
  TextsTold texts_sent;                           ///< any thread
  std::unordered_set<std::uint64_t> texts_told;   ///< owner's thread; that it told the world, which may have known them
  std::vector<session::Granted> grants;           ///< owner's thread; by index; some of these ids may not be used yet
  std::vector<std::uint64_t> timers;  ///< owner's thread; numbers of timers it set, some of which may be over
  /// Sessions' thread: processor time of the owner's thread when what is taken in now came; 0: it comes now.
  std::uint64_t came_ns = 0;
  std::uint64_t joined_ns = 0;  ///< of the steady clock
  std::uint64_t edits = 0;      ///< owner's thread: that the world took in
  TimeCounts edit_waits;        ///< owner's thread; its processor time from an edit's arrival to the answer
  std::atomic<std::uint64_t> received_bytes = 0;  ///< any thread; of frames
  std::atomic<std::uint64_t> told_rows = 0;       ///< any thread; of all its watches, those that ended too
  std::uint64_t texts = 0, text_bytes = 0;        ///< owner's thread; that it made known to the world
};

/// A fault that leaves the session open.
session::Fault fault_of(session::FaultCode code, const char* reason, std::string text);

/// What an edit is answered while the disk fails with that sentence.
session::Fault not_recorded_fault(const std::string& error);

/// Queues one message as a control frame.
template <GeneratedType M>
void answer(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing->control(builder.bytes(), request, flags);
}

/// The same of what is said of a watch: it comes behind what the watch has told.
template <GeneratedType M>
void tell_of_watch(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing->watch_control(builder.bytes(), request, flags);
}

/// Whether the world knows the text and this session has not been sent it. A text that is mentioned and was never told is unknown to the
/// world too. `World`: EntityRegistry on its owner's thread, or what knows texts on its own.
template <class World>
bool must_be_sent(const Session& to, const World& world, Text text) {
  return text && !to.texts_sent.has(text.hash) && !world.text(text).empty();
}
/// Sends such a text.
template <class World>
void send_text(Session& to, const World& world, Text text) {
  to.texts_sent.tell(text.hash, false, [&] { answer(to, 0, InternText{.text = std::string(world.text(text))}); });
}
}  // namespace muster
