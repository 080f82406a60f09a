// Where journal, replication and tests hang: every input (what handlers push is none) passes here, sealed, before it is delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "registry/apply/receipt.h"

namespace muster {

enum class InputKind : std::uint8_t { push = 1, post = 2, flush = 3, advance = 4, inbox = 5 };
constexpr std::size_t input_kinds = 6;  ///< one more than the largest number of a kind

/// Beside a batch, never inside it.
struct Envelope {
  std::uint64_t sequence = 0;  ///< 1, 2, 3 ... per registry, saved with it
  /// The session that sent it, as given to the inbox lane or to push_batch; 0: the host itself. Grants and request numbers are a
  /// session's.
  std::uint64_t author = 0;
  /// Whose doing it is, as given beside the author: a user outlives sessions and may have several at once, so a history is a user's.
  /// 0: nobody's who has a number: what the host pushes, posts, advances and grants, templates that it defines for itself, sessions that came
  /// in by the host's own token. What handlers push and timers deliver is no input. A user without an author: the host did it for that user.
  std::uint64_t user = 0;
  std::uint64_t request = 0;  ///< the session's own number, 0 if none
  InputKind kind = InputKind::push;
  /// How often, between the input before and this one, the registry went on with what handlers had pushed and a bound had cut off.
  /// Each call from outside does that first, also one that then has no input. A replay does it as often.
  std::uint32_t resumed = 0;
  std::uint32_t drawn = 0;  ///< ids that were drawn for it before it was told; a replay draws as many
  /// Of a post, where it is not 0: the number that the next timer would get when it was told. Numbers of timers are drawn when they are
  /// posted; a replay goes on from here.
  std::uint64_t next_timer = 0;
};

/// All calls come on the registry's thread, in the order in which the sinks were added. A sink must not use the registry: the
/// program stops where it does.
class InputSink {
 public:
  virtual ~InputSink() = default;
  /// Called before delivery. `batch` is valid during the call only; it is empty for a flush, and for an input that a replay repeats
  /// without its batch (EntityRegistry::replay).
  ///
  /// A sink that cannot take the input (a journal whose disk is full) throws. Then the input does not happen: nothing of it is
  /// delivered, its number goes to the next input, ids that were drawn for it are undrawn, and the caller of push, flush or
  /// advance gets the exception. What was told and delivered before it stays. A refused post, or a refused batch of a lane, stays
  /// first in its queue and is told again by the next push, flush or advance (lanes: by the next flush). A push, and the message
  /// of an advance, is dropped, also where the sink refused a post before it: its caller pushes it again or not. So no sink sees
  /// an input half, and none sees one twice.
  virtual void on_input(const Envelope& envelope, std::span<const std::byte> batch) = 0;
  /// The input that this sink was told of last does not happen, because a sink behind it threw. Sinks hear this in reverse order.
  virtual void on_withdrawn(const Envelope&) noexcept {}
  /// Called after the input's own message was handled by all its handlers, and before what they pushed is delivered. The input has
  /// happened by then, so this must not throw.
  virtual void on_receipt(const Envelope&, const Receipt&) noexcept {}
  /// Asked once per kind, when the sink is added: whether on_receipt is to be called for it. Where no sink looks at the
  /// receipts of posts, a flush delivers them in longer runs. Flushes have no receipt.
  virtual bool wants_receipts(InputKind) const noexcept { return true; }
};

}  // namespace muster
