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

/// The handlers of unkept messages, together with the rules for these handlers and for handlers
/// that share resources with them.
class UnkeptHandlers {
 public:
  /// Throws a SetupError that names the handler and the message if `handler` handles such a message
  /// and
  ///   - pushes, writes a component, or is a member function of a manager that may change it;
  ///   - has captures or an object, but does not declare external_reads or external_writes; or
  ///   - writes an external resource that is also named by a handler which changes the world. The
  ///     message would affect the world through this resource.
  /// Also throws if `handler` changes the world and names a resource that is written by a handler
  /// of such a message. `all` contains the existing handlers.
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
