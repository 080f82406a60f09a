// The one place where bytes from outside are judged: the batch against the schema, the message against the direction
// and the sender's rights. What passes is as good as a message made here. No I/O, no registry; any thread.
#pragma once

#include <expected>
#include <optional>

#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "messages/session.h"

namespace muster {

/// A batch that passed, and where it goes.
struct Judged {
  BatchView batch;
  bool for_world = false;                ///< an edit of the world; otherwise a session message
  const TypeDescriptor* type = nullptr;  ///< of the message (timed: of the one inside)
};

/// `types` holds the world's types and those of the session. The fault is complete but for what only the caller knows: it
/// closes the session where the bytes are wrong, and does not where a right is missing or a value may not be sent.
[[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                          session::Role role, const VerifierLimits& limits);

/// Judges what one session sends, batch after batch, as judge() does. Of a message of the game that comes again and again what follows from
/// its header and the sender's role is kept. Not thread-safe.
class SessionJudge {
 public:
  /// `types`, `role` and `limits` are those of the last call, unless forget() was called since.
  [[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                            session::Role role, const VerifierLimits& limits);
  /// The type of a batch like the last one, if it is a message of the game and seen to be good at a glance. Null: judge() must say.
  const TypeDescriptor* again(std::span<const std::byte> batch) const noexcept {
    return type_ && verifier_.again(batch) ? type_ : nullptr;
  }
  /// Other types are known, or the role is another.
  void forget() noexcept { verifier_.forget(); }

 private:
  BatchVerifier verifier_;
  const TypeDescriptor* type_ = nullptr;  // of the last batch; null: what was found of it does not hold for its like
};

/// Why a session may not define a template that it wrote in other words than a DefineTemplate, which judge() looks into; none
/// where it may: each component and initial message in it needs its own right.
[[nodiscard]] std::optional<session::Fault> template_right_fault(const DefineTemplate& definition,
                                                                 const TypeTable& types, session::Role role);

/// The fault for a frame that could not be cut out of the stream.
session::Fault fault_for(const FrameFault& fault);

/// "muster.session.": types of this namespace are heard by the server, not by the world.
bool is_session_type(const TypeDescriptor& type) noexcept;

}  // namespace muster
