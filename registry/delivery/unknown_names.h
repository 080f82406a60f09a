// Finds names in the options of handlers that match nothing: names of missing handlers (before,
// after), and names of resources that look misspelled (external_reads).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "registry/handlers/handler_table.h"

namespace muster {

/// Reports each name once in its lifetime. Names may appear later with another plugin, so they are
/// not errors.
class UnknownNames {
 public:
  /// True if handlers were added since look() was called.
  bool has_new(const HandlerTable& handlers) const noexcept { return handlers.next_ordinal() != looked_at_; }
  /// Checks the handlers added since the last call, and returns a sentence for each name that now
  /// matches nothing: at most 16, and one that counts the rest.
  std::vector<std::string> look(const HandlerTable& handlers);

 private:
  void look_at_order(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  void look_at_reads(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  std::uint64_t looked_at_ = 1;     // the first ordinal not checked yet
  std::set<std::string> was_said_;  // reported sentences without their hints
};

}  // namespace muster
