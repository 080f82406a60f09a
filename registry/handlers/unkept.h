// What handlers of messages may do that no journal keeps (journal: "never"). Such a message is an input that is delivered once and
// never again, so nothing that is saved may follow from it: its handlers read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// Whether a journal leaves the message's values out.
inline bool is_unkept(const TypeDescriptor& message) noexcept { return message.journal == JournalPolicy::never; }

/// The handlers of such messages, and the rules for them and those beside them.
class UnkeptHandlers {
 public:
  /// Throws SetupError, naming handler and message, where `handler` is one of such a message and
  ///   - pushes, writes a component, or is a manager's member function that may change it;
  ///   - has captures or an object, and does not say what it touches outside (external_reads, external_writes);
  ///   - writes a resource outside that a handler names which changes the world: by it the message would come back.
  /// Likewise where `handler` changes the world and names a resource that one of such a message writes. `all` are those there are.
  void check(const Handler& handler, const TypeDescriptor& message, std::span<Handler* const> all) const;
  void add(const Handler& handler) { handlers_.push_back(&handler); }
  void remove(const Handler& handler) { std::erase(handlers_, &handler); }
  /// Handlers looked at so far: what growth is tested by.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::vector<const Handler*> handlers_;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace muster
