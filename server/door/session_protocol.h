// What is said on one stream, without I/O: frames come in, effects go to the desk, the inbox and the outgoing queue. A
// stream begins with a Hello; an accepted one makes it a session. Foreign bytes reach nobody before judge() passed them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/desk/desk.h"
#include "server/session/judge.h"

namespace muster {

/// A token and what it allows. Compared in constant time.
struct Admission {
  std::string token;
  session::Role role = session::Role::none;
};

/// The role of a token; none for a wrong one. Takes equally long for every token of one length.
session::Role role_of(const std::vector<Admission>& admissions, std::string_view token) noexcept;

/// One thread at a time.
class SessionProtocol {
 public:
  /// `said`: one line for the log about a session that began or was refused.
  SessionProtocol(Desk& desk, const std::vector<Admission>& admissions, std::shared_ptr<Outgoing> outgoing,
                  std::function<void(const std::string&)> said = {});
  ~SessionProtocol();
  SessionProtocol(const SessionProtocol&) = delete;
  SessionProtocol& operator=(const SessionProtocol&) = delete;

  enum class Outcome {
    done,    ///< read on
    wait,    ///< the world is behind: offer the same frame again a little later, and read nothing until then
    closed,  ///< read no more; what is in the outgoing queue is still sent
  };
  Outcome on_frame(const WireFrame& frame);
  /// The stream is no stream of frames. Ends the session.
  void on_fault(const FrameFault& fault);
  /// No Hello came in time, or nothing for too long. Ends the session.
  void on_silence();
  /// The server ends. Ends the session.
  void on_stop();

  bool welcomed() const noexcept { return session_ != nullptr; }
  /// For the decoder: before the Hello only short frames are let in.
  std::uint32_t frame_bytes_max() const noexcept;

 private:
  Outcome refuse(const session::Fault& fault, std::uint64_t request);
  Outcome on_hello(const WireFrame& frame);
  Outcome on_session_message(const Judged& judged, std::uint64_t request);
  void send_schemas(std::uint64_t request);

  Desk& desk_;
  const std::vector<Admission>& admissions_;
  std::shared_ptr<Outgoing> outgoing_;
  std::function<void(const std::string&)> said_;
  std::shared_ptr<Session> session_;
};

}  // namespace muster
