// Finds names in the options of handlers that mean nothing: of handlers that are not there (before, after), and of resources that
// look like a misspelt one (external_reads).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "registry/handlers/handler_table.h"

namespace muster {

/// Says each name once in its life. Names may come later with another plugin, so they are no errors.
class UnknownNames {
 public:
  /// Whether handlers came since look() was called.
  bool has_new(const HandlerTable& handlers) const noexcept { return handlers.next_ordinal() != looked_at_; }
  /// Looks at the handlers that came since it was called last, and gives a sentence for each name that means nothing now: at most
  /// 16, and one that counts the others.
  std::vector<std::string> look(const HandlerTable& handlers);

 private:
  void look_at_order(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  void look_at_reads(const HandlerTable& handlers, const Handler& handler, std::vector<std::string>& said);
  std::uint64_t looked_at_ = 1;     // the first ordinal that was not looked at
  std::set<std::string> was_said_;  // sentences without their hints
};

}  // namespace muster
