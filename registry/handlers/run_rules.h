// Decides whether a run of messages may go through one handler after another. It keeps counts, so
// adding or removing a handler takes time for that handler's own terms only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "registry/handlers/handler.h"

namespace muster {

/// Covers the active handlers of one message.
class RunRules {
 public:
  /// A handler must not change between add() and remove().
  void add(const Handler& handler) { count(handler, 1); }
  void remove(const Handler& handler) { count(handler, ~0u); }
  /// True if the result is the same as message by message, that is, if no two handlers conflict(),
  /// at most one pushes, none ends a delivery, and their calls need no extra steps. If one changes
  /// messages, a run must be copied.
  bool whole_runs() const noexcept {
    return clashing_ == 0 && hidden_ <= 1 && pushing_ <= 1 && followed_ == 0 && consuming_ == 0;
  }
  bool writes_message() const noexcept { return writing_ > 0; }
  /// Components and resources visited so far. Used by tests of complexity.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct Use {
    std::uint32_t handlers = 0, writers = 0;
    bool clashes() const noexcept { return writers > 0 && handlers > 1; }
  };
  void count(const Handler& handler, std::uint32_t by);
  template <class Uses, class Key>
  void use(Uses& uses, const Key& key, bool writes, std::uint32_t by);

  std::unordered_map<TypeId, Use> components_;
  std::unordered_map<std::string, Use> externals_;
  std::uint32_t clashing_ = 0;  // components and resources written by one and used by another
  std::uint32_t hidden_ = 0;    // handlers with state that name no resources
  std::uint32_t pushing_ = 0, followed_ = 0, writing_ = 0, consuming_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
