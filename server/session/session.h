// A session begins with an accepted Hello, and ends after its last connection has ended and its
// requests are done. It connects two objects: the door uses connections, and the desk uses seats.
//
//   door ----> Connection <--- connection() --- Session --- seat() ---> Seat <---- desk
//                          --- session() ----->
//
//   object       contents                            used by                       lifetime
//   Connection   a stream, the queue of frames to    listener's thread; the        from the accepted stream to
//                send, bytes received                queue: any thread             its end
//   Session      identity, rights, requests, open    the door puts in requests,    outlives connections and
//                questions, watches                  the world thread takes them   seats; has one of each
//   Seat         ids granted, timers, texts, edits   world thread; texts that      from Desk::take_seat to
//                and waits at one world              were sent: any thread         Desk::leave_seat
//
// Answers go to the connection that the session has when they are queued. Code must therefore call
// outgoing() each time instead of storing a session's queue. Desk::leave currently ends a session
// when its last connection ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "server/access/rights.h"
#include "server/session/connection.h"
#include "server/session/requests.h"
#include "server/session/seat.h"
#include "system/mutex.h"

namespace muster {

/// Never changes.
struct SessionIdentity {
  std::uint64_t session_id = 0;  ///< secret between server and client
  std::uint64_t author = 0;      ///< the session's number, which others see
  std::uint64_t user = 0;        ///< the user with the token; 0 for the server's own token
  std::string name = {}, kind = {};
  std::uint64_t joined_ns = 0;  ///< steady clock
};

/// Created by Desk::join. Each member states the thread that may use it; constants may be used on
/// any thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// The session has no connection yet, so messages to it are dropped.
  Session(SessionIdentity identity, const Rights& its_rights, std::size_t request_bytes_max,
          std::shared_ptr<RequestBytes> all_requests);

  const std::uint64_t session_id, author, user;  ///< see SessionIdentity
  const std::string name, kind;
  const std::uint64_t joined_ns;
  const Rights rights;

  Requests requests;                              ///< listener's thread and world thread
  std::atomic<std::uint32_t> open_questions = 0;  ///< any thread
  std::atomic<std::uint64_t> told_rows = 0;       ///< by all of its watches, ended or not; any thread

  // --- any thread

  /// Returns the connection, or the last one if it has ended. Never null.
  std::shared_ptr<Connection> connection() const;
  /// Returns the connection's queue. Do not keep it after the current operation.
  std::shared_ptr<Outgoing> outgoing() const;
  /// Returns the seat, or the last one if the session has left it. Never null.
  std::shared_ptr<Seat> seat() const;

  /// Replaces the connection. Returns the old one, which is not closed; its unsent frames are not
  /// sent again. Called by Desk::join and Desk::connect. Listener's thread.
  std::shared_ptr<Connection> connect(std::shared_ptr<Connection> connection);
  /// Records that a connection has ended. Returns true if the session now has none. Called by
  /// Desk::leave. Listener's thread.
  bool disconnect(const Connection& connection);
  /// Called by Desk::take_seat. World thread.
  void sit(std::shared_ptr<Seat> seat);

 private:
  mutable Mutex mutex_;
  std::shared_ptr<Connection> connection_ MUSTER_GUARDED_BY(mutex_);
  bool connected_ MUSTER_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Seat> seat_ MUSTER_GUARDED_BY(mutex_);
};

/// Returns a fault that leaves the session open.
session::Fault fault_of(session::FaultCode code, const char* reason, std::string text);

/// Returns the answer to an edit while the disk fails. `error` is a sentence that describes the
/// failure.
session::Fault not_recorded_fault(const std::string& error);

/// Queues one message as a control frame.
template <GeneratedType M>
void answer(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing()->control(builder.bytes(), request, flags);
}

/// Queues one message about a watch, after the watch's earlier frames.
template <GeneratedType M>
void tell_of_watch(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing()->watch_control(builder.bytes(), request, flags);
}

/// Returns true if the world knows the text and this session has not been sent it. A text that is
/// mentioned but was never sent is also unknown to the world. `World` is an EntityRegistry on the
/// world thread, or another class that knows texts.
template <class World>
bool must_be_sent(const Session& to, const World& world, Text text) {
  return text && !to.seat()->texts_sent.has(text.hash) && !world.text(text).empty();
}
/// Sends a text for which must_be_sent returns true.
template <class World>
void send_text(Session& to, const World& world, Text text) {
  to.seat()->texts_sent.tell(text.hash, false,
                             [&] { answer(to, 0, InternText{.text = std::string(world.text(text))}); });
}
}  // namespace muster
