// Finds names in handler options that do not match anything: names of missing handlers (before,
// after) and resource names that appear to be misspelled (external_reads).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "registry/handlers/handler_table.h"

namespace muster {

/// Reports each name only once during the lifetime of this object. Another plugin may add a missing
/// name later, so missing names are not treated as errors.
class UnknownNames {
 public:
  /// True if handlers have been added since look() was last called.
  bool has_new(const HandlerTable& handlers) const noexcept { return handlers.next_ordinal() != looked_at_; }
  /// Checks the handlers added since the previous call, and composes a sentence for each name that
  /// currently does not match anything. Returns at most 16 such sentences; if there are more names,
  /// another sentence states how many.
  std::vector<std::string> look(const HandlerTable& handlers);

 private:
  void look_at_order(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  void look_at_reads(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  std::uint64_t looked_at_ = 1;     // the first ordinal that has not been checked
  std::set<std::string> was_said_;  // sentences already reported, without their hints
};

}  // namespace muster
