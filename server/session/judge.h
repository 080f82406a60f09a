// Judges bytes that arrive from outside. Checks that the batch conforms to the schema, that clients
// may send the message, and that the sender has the necessary rights. No other code performs these
// checks. The world thread later checks ids, costs, and limits, which depend on the state of the
// world. Does not perform I/O or use a registry. May be called on any thread.
#pragma once

#include <expected>
#include <functional>
#include <optional>

#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "messages/session.h"
#include "server/access/rights.h"

namespace muster {

/// A batch that has passed judge(), and its destination.
struct Judged {
  BatchView batch;
  /// True for an edit of the world, including an EditIf; false for another session message.
  bool for_world = false;
  /// Type of the message or, if it is timed, of the inner message.
  const TypeDescriptor* type = nullptr;
};

/// Judges a batch. `types` contains the types of the world and of session messages. If the bytes
/// are invalid, the returned fault closes the session. If a right is missing or a value is
/// forbidden, the fault does not close the session. The caller must fill in the details of the
/// fault that only the caller knows.
[[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                          const Rights& rights, const VerifierLimits& limits);

/// Judges the batches of one session like judge(), but caches the result for frequently repeated
/// headers of game messages. Not thread-safe.
class SessionJudge {
 public:
  /// `types`, `rights`, and `limits` must be the same as in the previous call, unless forget() has
  /// been called since then.
  [[nodiscard]] std::expected<Judged, session::Fault> judge(std::span<const std::byte> batch, const TypeTable& types,
                                                            const Rights& rights, const VerifierLimits& limits);
  /// Returns the type of a batch if it resembles the previous batch, contains a message of the
  /// game, and can quickly be shown to be valid. Returns null if judge() must be called.
  const TypeDescriptor* again(std::span<const std::byte> batch) const noexcept {
    return type_ && verifier_.again(batch) ? type_ : nullptr;
  }
  /// Must be called when the known types or the session's rights change.
  void forget() noexcept { verifier_.forget(); }

 private:
  BatchVerifier verifier_;
  // The type of the previous batch, or null if the next batch must be judged in full.
  const TypeDescriptor* type_ = nullptr;
};

/// Checks whether a session may define a template that did not arrive as a DefineTemplate. If it
/// may not, returns a fault with the reason. Otherwise, returns nothing. Each component and initial
/// message in the template needs its own right. judge() performs this check itself for a
/// DefineTemplate.
[[nodiscard]] std::optional<session::Fault> template_right_fault(const DefineTemplate& definition,
                                                                 const TypeTable& types, const Rights& rights);

/// Calls f(type) for each component that a message writes or removes, and for each component and
/// message in its templates. `type` is the type of the message.
void for_each_written_type(BatchView message, const TypeDescriptor& type, const TypeTable& types,
                           const std::function<void(const TypeDescriptor&)>& f);

/// Returns the fault for an invalid frame in the stream.
session::Fault fault_for(const FrameFault& fault);

/// Returns true for types in the namespace "muster.session", whose messages are addressed to the
/// server rather than to the world.
bool is_session_type(const TypeDescriptor& type) noexcept;

}  // namespace muster
