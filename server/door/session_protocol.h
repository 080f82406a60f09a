// Speaks the protocol on one stream, without I/O: takes frames, gives what was sent to the desk, and queues
// answers. A stream begins with a Hello; an accepted one makes it a session. Foreign bytes go no further
// until judge() has passed them.
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

/// What all streams of a server share. One thread at a time.
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
  /// `address`: where the client is, for the log. The door outlives it.
  SessionProtocol(Door& door, std::shared_ptr<Outgoing> outgoing, std::string address);
  ~SessionProtocol();
  SessionProtocol(const SessionProtocol&) = delete;
  SessionProtocol& operator=(const SessionProtocol&) = delete;

  enum class Outcome {
    done,    ///< read on
    wait,    ///< the world is behind: offer the same frame again a little later, and read nothing until then
    held,    ///< it will be refused: read nothing for held_for, then let_go
    closed,  ///< read no more; what is in the outgoing queue is still sent
  };
  Outcome on_frame(const WireFrame& frame);
  /// Bytes came; the frames in them are offered next, and came now.
  void on_bytes();
  /// No other frame is offered before more bytes come, or some time passed: the world may see what came.
  void on_no_more();
  /// The bytes are not valid frames. Ends the session.
  void on_fault(const FrameFault& fault);
  std::chrono::nanoseconds held_for() const noexcept { return held_for_; }
  /// Refuses what was held.
  void let_go();
  /// Others took a stranger's place. Ends the session.
  void on_crowd();
  /// No Hello came in time, or nothing for too long. Ends the session. `told`: the log hears of a stranger's.
  void on_silence(bool told = true);
  /// Nothing of what is sent was taken for too long. Ends the session; it is told when it comes again.
  void on_stall();
  /// Ends the session where its user may not come in any more.
  void check_user(Users::Clock::time_point now);
  /// The server ends. Ends the session.
  void on_stop();

  /// Why the stream is ended, once nothing more is said on it.
  Farewell farewell() const noexcept { return farewell_; }
  bool welcomed() const noexcept { return session_ != nullptr; }
  /// For the decoder: before the Hello only short frames are let in.
  std::uint32_t frame_bytes_max() const noexcept;

 private:
  /// For the log: number, name and kind, as `muster who` has them.
  std::string shown_session() const;
  Outcome refuse(const session::Fault& fault, std::uint64_t request, bool told = true);
  Outcome on_hello(const WireFrame& frame);
  Outcome on_session_frame(const WireFrame& frame);
  /// `type`: of the message, also where it is timed.
  Outcome take_in(std::uint64_t request, BatchView batch, const TypeDescriptor& type);
  Outcome on_session_message(const Judged& judged, std::uint64_t request);
  // The handlers of the questions whose cost is "door": see server/questions/question_table.h.
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
  std::shared_ptr<Outgoing> outgoing_;
  const std::string address_;
  session::Fault held_;
  std::uint64_t held_request_ = 0;
  std::chrono::nanoseconds held_for_{0};
  Farewell farewell_ = Farewell::done;
  std::shared_ptr<Session> session_;
  Admitted admitted_;
  SessionJudge judge_;
  std::uint64_t received_bytes_ = 0;        // of frames, since on_no_more()
  std::shared_ptr<const TypeTable> types_;  // as of types_made_
  std::uint64_t types_made_ = 0;
};

}  // namespace muster
