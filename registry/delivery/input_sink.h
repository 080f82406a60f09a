// The interface for journals, replication and tests, which see every input, sealed, before it is
// delivered. Messages that handlers push are not inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "registry/apply/receipt.h"

namespace muster {

enum class InputKind : std::uint8_t { push = 1, post = 2, flush = 3, advance = 4, inbox = 5 };
constexpr std::size_t input_kinds = 6;  ///< one more than the largest InputKind

/// Data that accompanies a batch, but is never part of it.
struct Envelope {
  std::uint64_t sequence = 0;  ///< 1, 2, 3 ... per registry; saved with the registry

  /// The session that sent the input, as given to the inbox lane or push_batch; 0 means the host
  /// itself. Grants and request numbers belong to sessions.
  std::uint64_t author = 0;
  /// The user responsible, as given together with the session. A user outlives sessions and may
  /// have several at once, so histories belong to users. 0 means no numbered user: everything that
  /// the host pushes, posts, advances and grants, templates that it defines for itself, and
  /// sessions with the host's own token. Messages pushed by handlers and delivered by timers are
  /// not inputs. A user without a session means that the host acted for that user.
  std::uint64_t user = 0;
  std::uint64_t request = 0;  ///< number chosen by the session, or 0 if none
  InputKind kind = InputKind::push;
  /// Number of times that, between the previous input and this one, the registry resumed messages
  /// that handlers had pushed and a limit had cut off. Each call from outside first does so, even
  /// if it then has no input. A replay must resume them the same number of times.
  std::uint32_t resumed = 0;
  std::uint32_t drawn = 0;  ///< number of ids issued before sinks saw the input

  /// For a post, the number that the next timer would have got, or 0 if unknown. Timers get their
  /// numbers when posted; a replay continues from here.
  std::uint64_t next_timer = 0;
};

/// All calls come on the registry's thread, in the order in which the sinks were added. A sink must
/// not use the registry: doing so stops the program.
class InputSink {
 public:
  virtual ~InputSink() = default;
  /// Called before delivery. `batch` is valid only during the call; it is empty for a flush, and
  /// for an input that is replayed without its batch (RegistryHost::replay).
  ///
  /// A sink that cannot accept the input (such as a journal on a full disk) throws. In that case,
  /// the input does not happen: nothing is delivered, its number goes to the next input, ids issued
  /// for it are taken back, and push, flush or advance throws the exception. Earlier inputs stay. A
  /// refused post or lane batch stays first in its queue, and sinks see it again at the next push,
  /// flush or advance (lanes: at the next flush). A push, or the message of an advance, is dropped,
  /// even if a sink refused a post before it; the caller may push it again. So no sink sees an
  /// input partially or twice.
  virtual void on_input(const Envelope& envelope, std::span<const std::byte> batch) = 0;
  /// Called if the last input that this sink saw does not happen, because a later sink threw. Sinks
  /// are called in reverse order.
  virtual void on_withdrawn(const Envelope&) noexcept {}
  /// Called after all handlers of the input's own message have run, and before their pushes are
  /// delivered. The input has happened, so this must not throw.
  virtual void on_receipt(const Envelope&, const Receipt&) noexcept {}
  /// Called once per kind when the sink is added: returns true if on_receipt is wanted for that
  /// kind. If no sink wants the receipts of posts, a flush delivers them in longer runs. Flushes
  /// have no receipt.
  virtual bool wants_receipts(InputKind) const noexcept { return true; }
};

}  // namespace muster
