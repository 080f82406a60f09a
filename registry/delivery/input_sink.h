// Where journal, replication and tests hang: every outermost input passes here, sealed, before it is delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "registry/apply/receipt.h"

namespace muster {

enum class InputKind : std::uint8_t { push = 1, post = 2, flush = 3, advance = 4, inbox = 5 };
constexpr std::size_t input_kinds = 6;  ///< numbers below which they are

/// Beside a batch, never inside it.
struct Envelope {
  std::uint64_t sequence = 0;  ///< 1, 2, 3 ... per registry, saved with it
  std::uint64_t author = 0;    ///< 0: the host; otherwise as given to the inbox lane
  std::uint64_t request = 0;   ///< the sender's own number, 0 if none
  InputKind kind = InputKind::push;
};

/// Called on the registry's thread. Must not use the registry. `batch` is valid during the call only; empty for a flush.
class InputSink {
 public:
  virtual ~InputSink() = default;
  /// Before delivery.
  virtual void on_input(const Envelope& envelope, std::span<const std::byte> batch) = 0;
  /// After the input's own message was handled by all its handlers, and before what they pushed is delivered.
  virtual void on_receipt(const Envelope&, const Receipt&) {}
  /// Asked once per kind, when the sink is added: whether on_receipt is to be called for it. Where nobody looks at the
  /// receipts of posts, a flush may deliver them in longer runs.
  virtual bool wants_receipts(InputKind) const noexcept { return true; }
};

}  // namespace muster
