// Restricts the handlers of messages that journals do not record (journal: "never"). Such a message
// is delivered once and cannot be replayed. Therefore, saved state must not depend on it, and its
// handlers may only read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// True if journals omit the values of this message.
inline bool is_unkept(const TypeDescriptor& message) noexcept { return message.journal == JournalPolicy::never; }

/// The handlers of unkept messages, with the rules for these handlers and for those that share
/// resources with them.
class UnkeptHandlers {
 public:
  /// Throws a SetupError that names handler and message if `handler` is for such a message and
  ///   - pushes, writes a component, or is a manager's member function that may change it;
  ///   - has captures or an object, but does not declare external_reads or external_writes;
  ///   - writes an external resource that a handler which changes the world also names, because the
  ///     message would affect the world through it.
  /// Also throws if `handler` changes the world and names a resource that a handler of such a
  /// message writes. `all` are the existing handlers.
  void check(const Handler& handler, const TypeDescriptor& message, std::span<Handler* const> all) const;
  void add(const Handler& handler) { handlers_.push_back(&handler); }
  void remove(const Handler& handler) { std::erase(handlers_, &handler); }
  /// Returns the number of handlers visited so far. Used by complexity tests.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::vector<const Handler*> handlers_;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace muster
