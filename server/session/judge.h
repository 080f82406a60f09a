// Judges bytes from outside, and nothing else does: the batch against the schema, the message
// against the direction and the sender's rights. A batch that passes is as good as one made here.
// No I/O, no registry; any thread.
#pragma once

#include <expected>
#include <optional>

#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "messages/session.h"

namespace muster {

/// A batch that passed, and its receiver.
struct Judged {
  BatchView batch;
  bool for_world = false;                ///< an edit of the world; otherwise a session message
  const TypeDescriptor* type = nullptr;  ///< of the message (timed: of the one inside)
};

/// `types` holds the world's types and those of the session. The fault closes the session if the
/// bytes are wrong, and leaves it open if a right is missing or a value may not be sent; the caller
/// adds what only it knows.
[[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                          session::Role role, const VerifierLimits& limits);

/// Judges the batches of one session, as judge() does. Keeps what follows from header and role of a
/// game's message that comes again and again. Not thread-safe.
class SessionJudge {
 public:
  /// `types`, `role` and `limits` are those of the last call, unless forget() was called since.
  [[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                            session::Role role, const VerifierLimits& limits);
  /// Returns the type of a batch like the last one if it is a message of the game and quickly seen
  /// to be good. Null: call judge().
  const TypeDescriptor* again(std::span<const std::byte> batch) const noexcept {
    return type_ && verifier_.again(batch) ? type_ : nullptr;
  }
  /// Other types are known, or the role is another.
  void forget() noexcept { verifier_.forget(); }

 private:
  BatchVerifier verifier_;
  const TypeDescriptor* type_ = nullptr;  // of the last batch; null: it says nothing about the next
};

/// Returns why a session may not define a template that came in another form than a DefineTemplate,
/// or nothing if it may: each component and initial message in it needs its own right. judge()
/// looks into a DefineTemplate itself.
[[nodiscard]] std::optional<session::Fault> template_right_fault(const DefineTemplate& definition,
                                                                 const TypeTable& types, session::Role role);

/// The fault for a frame that could not be cut out of the stream.
session::Fault fault_for(const FrameFault& fault);

/// "muster.session.": types of this namespace are heard by the server, not by the world.
bool is_session_type(const TypeDescriptor& type) noexcept;

}  // namespace muster
