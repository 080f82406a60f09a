// Speaks the protocol on one stream, without I/O: accepts frames, passes requests to the desk, and
// queues answers. A stream begins with a Hello; an accepted Hello makes it a session. Bytes from
// clients are used only after judge() has accepted them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/access/refusals.h"
#include "server/access/users.h"
#include "server/desk/desk.h"
#include "server/door/wire_stream.h"
#include "server/session/judge.h"

namespace muster {

/// Shared by all streams of a server. One thread at a time.
struct Door {
  Desk& desk;
  Users users;
  const std::function<void(const std::string&)>
      log;  ///< one line about a session that began or was closed; may be empty
  Refusals refusals;
  /// World::displaced; may be null. Any thread.
  std::function<const std::string*()> displaced = {};
};

/// One thread at a time.
class SessionProtocol {
 public:
  /// `address` is the client's, for the log. The door must outlive this object.
  SessionProtocol(Door& door, std::shared_ptr<Connection> connection, std::string address);
  ~SessionProtocol();
  SessionProtocol(const SessionProtocol&) = delete;
  SessionProtocol& operator=(const SessionProtocol&) = delete;

  enum class Outcome {
    done,    ///< continue reading
    wait,    ///< stop reading, and soon offer the same frame again
    held,    ///< stop reading for held_for, then call let_go
    closed,  ///< stop reading; the outgoing queue is still sent
  };
  Outcome on_frame(const WireFrame& frame);
  /// Call when bytes have arrived. Frames offered next count as arriving now.
  void on_bytes();
  /// Call when no further frame is offered for now. The world may then see the requests.
  void on_no_more();
  /// Call if the bytes are not valid frames. Ends the session.
  void on_fault(const FrameFault& fault);
  std::chrono::nanoseconds held_for() const noexcept { return held_for_; }
  /// Refuses the held frame.
  void let_go();
  /// Call when a stranger must make room for others. Ends the session.
  void on_crowd();
  /// Call if no Hello arrived in time, or nothing arrived for too long. Ends the session. If `told`
  /// is false, a stranger's silence is not logged.
  void on_silence(bool told = true);
  /// Call if the client accepted nothing for too long. Ends the session. The client is told the
  /// reason when it reconnects.
  void on_stall();
  /// Ends the session if its user no longer has access.
  void check_user(Users::Clock::time_point now);
  /// Call when the server stops. Ends the session.
  void on_stop();

  /// The reason the stream ended; set once no more data will be sent.
  Farewell farewell() const noexcept { return farewell_; }
  bool welcomed() const noexcept { return session_ != nullptr; }
  /// Limit for the decoder. Before the Hello, only short frames are accepted.
  std::uint32_t frame_bytes_max() const noexcept;

 private:
  /// Returns number, name and kind for the log, in the format of `muster who`.
  std::string shown_session() const;
  Outcome refuse(const session::Fault& fault, std::uint64_t request, bool told = true);
  Outcome on_hello(const WireFrame& frame);
  Outcome on_session_frame(const WireFrame& frame);
  /// `type` is the message's type, even if it is timed.
  Outcome take_in(std::uint64_t request, BatchView batch, const TypeDescriptor& type);
  Outcome on_session_message(const Judged& judged, std::uint64_t request);
  // Handlers of the questions with the cost "door", see server/questions/question_table.h.
  void answer_at_door(session::Heartbeat beat, std::uint64_t request);
  void answer_at_door(const session::GetSchema& what, std::uint64_t request);
  void answer_at_door(const session::CreateToken& what, std::uint64_t request);
  void answer_at_door(const session::ListTokens& what, std::uint64_t request);
  void answer_at_door(const session::RevokeToken& what, std::uint64_t request);
  /// Refuses to change the list of users if the world file was moved. Returns true if it did.
  bool refuse_if_displaced(std::uint64_t request);
  void refuse_user(UserFault fault, std::uint64_t request);

  Door& door_;
  Desk& desk_;
  const std::shared_ptr<Connection> connection_;
  Outgoing& outgoing_;  // the connection's
  const std::string address_;
  session::Fault held_;
  std::uint64_t held_request_ = 0;
  std::chrono::nanoseconds held_for_{0};
  Farewell farewell_ = Farewell::done;
  std::shared_ptr<Session> session_;
  Admitted admitted_;
  SessionJudge judge_;
  std::uint64_t came_ns_ = 0;               // world thread's processor time, at on_bytes()
  std::uint64_t received_bytes_ = 0;        // in frames, since on_no_more()
  std::shared_ptr<const TypeTable> types_;  // as of types_made_
  std::uint64_t types_made_ = 0;
};

}  // namespace muster
