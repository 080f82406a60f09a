// Defines a session, which begins when a Hello is accepted and ends once its last connection has
// ended and its requests have been processed. A session ties together a connection, which the door
// uses, and a seat, which the desk uses.
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
// Answers are sent on the connection that the session has when they are queued. Code must therefore
// call outgoing() each time instead of storing a session's queue. A watch keeps to the connection
// on which it was opened or resumed. Desk::leave ends a session when its connection ends, unless
// the session can be resumed.
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
#include "server/session/kept_answers.h"
#include "server/session/requests.h"
#include "server/session/seat.h"
#include "system/mutex.h"

namespace muster {

/// The facts about a session that never change.
struct SessionIdentity {
  std::uint64_t secret = 0;  ///< shared by the server and the client
  std::uint64_t number = 0;  ///< the session's number, which is visible to others

  /// The number of the token's user, or 0 for the server's own token.
  std::uint64_t user = 0;
  std::string name = {}, kind = {};
  /// Steady-clock time at which the session joined.
  std::uint64_t joined_ns = 0;
  /// True if the session outlives the loss of its connection (server/desk/away.h).
  bool resumable = false;
};

/// Created by Desk::join. The comment on each member states which thread may use it. Constant
/// members may be used on any thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Creates a session without a connection. Until it has one, messages to it are dropped.
  Session(SessionIdentity identity, const Rights& its_rights, std::size_t request_bytes_max,
          std::shared_ptr<RequestBytes> all_requests);

  const std::uint64_t secret, number, user;  ///< see SessionIdentity
  const std::string name, kind;
  const std::uint64_t joined_ns;
  const Rights rights;
  const bool resumable;
  /// The epoch of the edits that the session sends: that of its Welcome or of its last EnterEpoch.
  /// Set before the session takes a seat; used on the world thread.
  std::uint64_t epoch = 0;

  /// May be used on the listener's thread and on the world thread.
  Requests requests;
  /// Number of unanswered questions. May be used on any thread.
  std::atomic<std::uint32_t> open_questions = 0;
  /// Number of rows sent by all of the session's watches, including closed ones. May be used on any
  /// thread.
  std::atomic<std::uint64_t> told_rows = 0;
  /// True if the session was ended by an admin. Its pending requests are then dropped. May be used
  /// on any thread.
  std::atomic<bool> evicted = false;

  /// True if the client has said Goodbye. Used on the listener's thread.
  bool said_goodbye = false;
  /// True once the session can no longer be resumed. Guarded by the desk's mutex.
  bool ends = false;
  /// Number of the newest edit that was handled, if the session is resumable. Used on the world
  /// thread, and so are the answers.
  std::uint64_t last_request = 0;
  KeptAnswers kept_answers;

  // --- any thread

  /// Returns the current connection, or the most recent one if it has ended. Never returns null.
  std::shared_ptr<Connection> connection() const;
  /// Returns the connection's queue. The result must not be stored beyond the current operation.
  std::shared_ptr<Outgoing> outgoing() const;
  /// Returns the current seat, or the most recent one if the session has left it. Never returns
  /// null.
  std::shared_ptr<Seat> seat() const;

  /// Replaces the connection. Returns the old connection, which is not closed; its unsent frames
  /// are not sent again. Must be called on the listener's thread.
  std::shared_ptr<Connection> connect(std::shared_ptr<Connection> connection);
  /// Records that a connection has ended. Returns true if the session now has no connection. Called
  /// by Desk::leave, on the listener's thread.
  bool disconnect(const Connection& connection);
  /// Sets the seat. Called by Desk::take_seat, on the world thread.
  void sit(std::shared_ptr<Seat> seat);

 private:
  mutable Mutex mutex_;
  std::shared_ptr<Connection> connection_ MUSTER_GUARDED_BY(mutex_);
  bool connected_ MUSTER_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Seat> seat_ MUSTER_GUARDED_BY(mutex_);
};

/// Returns a fault that does not close the session.
session::Fault fault_of(session::FaultCode code, const char* reason, std::string text);
/// Returns a Fault that ends the session.
session::Fault closing_fault(session::FaultCode code, const char* reason, std::string text);

/// Returns the fault that is sent in answer to edits while the disk is failing. `error` is a
/// human-readable description of the failure.
session::Fault not_recorded_fault(const std::string& error);

/// Returns the fault for a request that its session sent before it knew that a new epoch had begun.
session::Fault epoch_over_fault();

/// Queues a message as a control frame.
template <GeneratedType M>
void answer(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing()->control(builder.bytes(), request, flags);
}

/// Queues a message about a watch, after the watch's earlier frames.
template <GeneratedType M>
void tell_of_watch(Session& to, std::uint64_t request, const M& message, std::uint32_t flags = 0) {
  BatchBuilder builder;
  session::append(builder, message);
  to.outgoing()->watch_control(builder.bytes(), request, flags);
}

/// Returns true if the world knows the text but the text has not been sent to this session. The
/// world may not know a text that was mentioned but never sent. `World` is EntityRegistry if the
/// function is called on the world thread, and another class that knows interned texts otherwise.
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
