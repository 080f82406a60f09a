// Decides whether a run of messages may be passed through one handler after another. Maintains
// counts, so the cost of adding or removing a handler depends only on that handler's own terms.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "registry/handlers/handler.h"

namespace muster {

/// The rules for the active handlers of a single message type.
class RunRules {
 public:
  /// A handler must not be changed between add() and remove().
  void add(const Handler& handler) { count(handler, 1); }
  void remove(const Handler& handler) { count(handler, ~0u); }
  /// True if the result is the same as when the messages are delivered one at a time. This is the
  /// case if no two handlers conflict(), at most one handler posts, at most one writes to the log,
  /// no handler ends a delivery, and no handler's calls need extra steps. If a handler changes
  /// messages, the run must be copied.
  bool whole_runs() const noexcept {
    return clashing_ == 0 && hidden_ <= 1 && pushing_ <= 1 && logging_ <= 1 && followed_ == 0 && consuming_ == 0;
  }
  bool writes_message() const noexcept { return writing_ > 0; }
  /// Returns the number of components and resources visited so far. Used by complexity tests.
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
  std::uint32_t clashing_ = 0;  // components and resources that one handler writes and another uses
  std::uint32_t hidden_ = 0;    // handlers that have state but do not name any resources
  std::uint32_t pushing_ = 0, logging_ = 0, followed_ = 0, writing_ = 0, consuming_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
