// Implements the session protocol for a single stream, without performing I/O. Accepts frames,
// passes requests to the desk, and queues answers. A stream begins with a Hello; once the Hello is
// accepted, the stream belongs to a session. Bytes from a client are used only after judge() has
// accepted them.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/access/refusals.h"
#include "server/access/resume_key.h"
#include "server/access/users.h"
#include "server/desk/desk.h"
#include "server/door/users_changes.h"
#include "server/door/wire_stream.h"
#include "server/session/judge.h"
#include "server/session/presence_board.h"
#include "server/session/user_rates.h"

namespace muster {

/// Shared by all streams of a server. Must be used by only one thread at a time.
struct Door {
  Desk& desk;
  Users users;
  const std::function<void(const std::string&)>
      log;  ///< called with a line about a session that began or was closed; may be empty
  Refusals refusals;
  /// World::displaced. May be null. Called on any thread.
  std::function<const std::string*()> displaced = {};
  /// Ends all sessions of a user with the Fault, and returns their number. May be null.
  std::function<std::uint32_t(std::uint64_t user, const session::Fault& why)> evict = {};
  /// Exchanges the server's own token, and then calls the function with the new one or with the
  /// reason of the failure. The sessions that use the old token end after that. May be null.
  using Rotated = std::function<void(const std::expected<std::string, UserFault>&)>;
  std::function<void(Rotated)> rotate_own = {};
  /// True if no further sessions are accepted, because the server will stop.
  bool drains = false;
  std::string resume_at = {};  ///< the address at which sessions can be resumed then, or empty
  /// Begins to drain, and returns the time until the server stops. May be null.
  std::function<std::chrono::nanoseconds(std::chrono::nanoseconds time, const std::string& resume_at)> drain = {};
  std::uint64_t arriving_bytes = 0;  ///< total size of the large frames that are arriving
  UsersChanges users_changes{users};
  AccessRules rules = {};
  UserRates rates = {};
  /// The file with the key for resuming sessions, or empty, and the world's id.
  std::string resume_file = {}, world_id = {};
  std::optional<ResumeKey> known_resume_key = {};  ///< see resume_key()
  /// Returns the key for resuming sessions. The first call reads the file, or writes it.
  const ResumeKey& resume_key();
  PresenceBoard presence = {};
};

/// Must be used on the listener's thread.
class SessionProtocol {
 public:
  /// `address` is the client's address, for the log. The door must outlive this object.
  SessionProtocol(Door& door, std::shared_ptr<Connection> connection, std::string address);
  ~SessionProtocol();
  SessionProtocol(const SessionProtocol&) = delete;
  SessionProtocol& operator=(const SessionProtocol&) = delete;

  enum class Outcome {
    done,    ///< continue reading
    wait,    ///< stop reading, and offer the same frame again shortly
    held,    ///< stop reading for held_for, then call let_go
    closed,  ///< stop reading, but send the remaining frames in the queue
  };
  Outcome on_frame(const WireFrame& frame) MUSTER_REQUIRES(listener_thread);
  /// Must be called when bytes have arrived. The time of the call counts as the arrival time of the
  /// frames that are offered next.
  void on_bytes();
  /// Must be called when no further complete frames are available. Makes the accepted requests
  /// visible to the world.
  void on_no_more() MUSTER_REQUIRES(listener_thread);
  /// Must be called if the bytes are not valid frames. Ends the session.
  void on_fault(const FrameFault& fault);
  std::chrono::nanoseconds held_for() const noexcept { return held_for_; }
  /// Refuses the frame that is being held.
  void let_go();
  /// Must be called if the client of a new connection uses TLS although the port does not, or if
  /// the port needs TLS and the client does not use it. Ends the session.
  void on_wrong_port(bool needs_tls);
  /// Must be called when a stranger must make room for others. Ends the session.
  void on_crowd();
  /// Must be called if no Hello has arrived in time, or if nothing has arrived for too long. Ends
  /// the session. If `told` is false and the client is a stranger, the event is not logged.
  void on_silence(bool told = true);
  /// Must be called if the client has not accepted any bytes for too long. Ends the session. If the
  /// client reconnects, it is sent the reason.
  void on_stall();
  /// Ends the session if its user no longer has access.
  void check_user(Users::Clock::time_point now);
  /// See ServedStream::evict.
  bool evict(std::uint64_t user, const session::Fault& why);
  /// Sends a Fault under request 0, unless there is no session yet.
  void notify(const session::Fault& fault);
  /// Must be called when the server stops. Ends the session.
  void on_stop();

  /// The reason why the stream ended. Set once no more data will be sent.
  Farewell farewell() const noexcept { return farewell_; }
  bool welcomed() const noexcept { return session_ != nullptr; }
  /// Returns true if a large frame of this size may arrive, and counts it until the next call. Of
  /// the sizes in consecutive calls, only the last one counts. 0 is always allowed.
  [[nodiscard]] bool may_receive(std::uint32_t frame_bytes);
  bool receives_large_frame() const noexcept { return arriving_bytes_ > 0; }
  /// Must be called if a large frame has begun to arrive and its rest has not come for too long.
  /// Ends the session.
  void on_half_frame();
  /// Returns the decoder's limit on the size of frames. Before the Hello, only short frames are
  /// accepted.
  std::uint32_t frame_bytes_max() const noexcept;

 private:
  /// Returns the session's number, name, and kind for the log, in the format of `muster who`.
  std::string shown_session() const;
  Outcome refuse(const session::Fault& fault, std::uint64_t request, bool told = true);
  Outcome on_hello(const WireFrame& frame) MUSTER_REQUIRES(listener_thread);
  /// Answers a Hello that does not contain the token with a Challenge.
  Outcome challenge(const session::Hello& hello, std::uint64_t request) MUSTER_REQUIRES(listener_thread);
  Outcome on_proof(const WireFrame& frame) MUSTER_REQUIRES(listener_thread);
  /// Begins the session of `admitted_`, or refuses the token.
  Outcome greet(const session::Hello& hello, std::uint64_t request) MUSTER_REQUIRES(listener_thread);
  /// Resumes the session that the Hello names. If that is not possible, puts the reason into the
  /// Welcome. Returns true if the session was resumed.
  bool resumes(const session::Hello& hello, session::Welcome& welcome, std::uint64_t request)
      MUSTER_REQUIRES(listener_thread);
  /// Fills in what depends on the session, and queues the Welcome.
  void greet(Session& session, session::Welcome& welcome, std::uint64_t request);
  Outcome on_session_frame(const WireFrame& frame) MUSTER_REQUIRES(listener_thread);
  /// Returns true if a rate limits the user.
  bool sends_at_rate() const noexcept;
  /// `type` is the type of the message, even if the message is timed.
  Outcome take_in(std::uint64_t request, BatchView batch, const TypeDescriptor& type) MUSTER_REQUIRES(listener_thread);
  Outcome on_session_message(const Judged& judged, std::uint64_t request) MUSTER_REQUIRES(listener_thread);
  /// Returns the types that the session's user may see.
  std::shared_ptr<const TypeTable> visible_types() const;
  // These functions handle questions with the cost "door"; see server/questions/question_table.h.
  void answer_at_door(session::Heartbeat beat, std::uint64_t request);
  void answer_at_door(const session::GetSchema& what, std::uint64_t request);
  void answer_at_door(const session::CreateToken& what, std::uint64_t request);
  void answer_at_door(const session::ListTokens& what, std::uint64_t request);
  void answer_at_door(const session::RevokeToken& what, std::uint64_t request);
  void answer_at_door(const session::RotateToken& what, std::uint64_t request);
  void answer_at_door(const session::CleanTokens& what, std::uint64_t request);
  void answer_at_door(const session::Kick& what, std::uint64_t request);
  void answer_at_door(const session::Drain& what, std::uint64_t request);
  void answer_at_door(const session::SetPresence& what, std::uint64_t request);
  void answer_at_door(const session::GetPresence& what, std::uint64_t request);
  /// If the world file was moved, refuses to change the list of users and returns true.
  bool refuse_if_displaced(std::uint64_t request);
  void refuse_user(const UserFault& fault, std::uint64_t request);

  Door& door_;
  Desk& desk_;
  const std::shared_ptr<Connection> connection_;
  Outgoing& outgoing_;  // the queue of the connection
  const std::string address_;
  session::Fault held_;
  std::uint64_t held_request_ = 0;
  std::chrono::nanoseconds held_for_{0};
  Farewell farewell_ = Farewell::done;
  std::shared_ptr<Session> session_;
  struct Challenged {
    session::Hello hello;
    TokenHash hash;
    ProofNonce nonce;
  };
  std::optional<Challenged> challenged_;  // until the proof arrives
  Admitted admitted_;
  SessionJudge judge_;
  std::uint64_t came_ns_ = 0;               // processor time of the world thread at on_bytes()
  std::uint64_t received_bytes_ = 0;        // bytes in frames since on_no_more()
  std::uint32_t arriving_bytes_ = 0;        // size of the large frame that is arriving
  std::shared_ptr<const TypeTable> types_;  // the table numbered types_made_
  std::uint64_t types_made_ = 0;
  std::uint64_t rules_version_ = 0;
  UserRates::User* sender_ = nullptr;  // null until there is a session
};

}  // namespace muster
