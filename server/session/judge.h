// Judges bytes from outside: the batch against the schema, and the message against its direction
// and the sender's rights. Nothing else does this, and a batch that passes needs no further checks.
// No I/O, no registry; any thread.
#pragma once

#include <expected>
#include <optional>

#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "messages/session.h"
#include "server/access/rights.h"

namespace muster {

/// A batch that passed judge(), and its receiver.
struct Judged {
  BatchView batch;
  bool for_world = false;                ///< an edit of the world; otherwise a session message
  const TypeDescriptor* type = nullptr;  ///< of the message (if timed: of the inner one)
};

/// `types` holds the types of the world and of sessions. The fault closes the session if the bytes
/// are invalid. It does not close the session if a right is missing or a value may not be sent. The
/// caller fills in the details that only it knows.
[[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                          const Rights& rights, const VerifierLimits& limits);

/// Judges the batches of one session like judge(), but remembers the result for headers of game
/// messages that repeat often. Not thread-safe.
class SessionJudge {
 public:
  /// `types`, `rights` and `limits` must be those of the previous call, unless forget() was called
  /// since.
  [[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                            const Rights& rights, const VerifierLimits& limits);
  /// Returns the type of a batch if it resembles the previous one, is a message of the game, and
  /// can quickly be seen to be valid. Returns null if judge() must be called.
  const TypeDescriptor* again(std::span<const std::byte> batch) const noexcept {
    return type_ && verifier_.again(batch) ? type_ : nullptr;
  }
  /// Call if the known types or the rights change.
  void forget() noexcept { verifier_.forget(); }

 private:
  BatchVerifier verifier_;
  const TypeDescriptor* type_ = nullptr;  // of the last batch; null if the next must be judged
};

/// Returns the reason why a session may not define a template that was not sent as a
/// DefineTemplate, or nothing if it may. Each component and initial message in the template needs
/// its own right. judge() checks a DefineTemplate itself.
[[nodiscard]] std::optional<session::Fault> template_right_fault(const DefineTemplate& definition,
                                                                 const TypeTable& types, const Rights& rights);

/// Returns the fault for an invalid frame in the stream.
session::Fault fault_for(const FrameFault& fault);

/// Returns true for types in the namespace "muster.session", which are messages to the server and
/// not to the world.
bool is_session_type(const TypeDescriptor& type) noexcept;

}  // namespace muster
