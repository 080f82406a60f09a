// Whether a run of messages may go through one handler after another: counted, so that a handler that comes or goes costs
// what it asks for itself, however many there are.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "registry/handlers/handler.h"

namespace muster {

/// Of the active handlers of one message.
class RunRules {
 public:
  /// A handler is counted as it is; it must not have changed when it is taken away.
  void add(const Handler& handler) { count(handler, 1); }
  void remove(const Handler& handler) { count(handler, ~0u); }
  /// Nobody can tell it from message by message: no two handlers conflict(), at most one pushes, none ends a delivery, and
  /// nothing happens around their calls. Where one changes messages, a run is a copy.
  bool whole_runs() const noexcept {
    return clashing_ == 0 && hidden_ <= 1 && pushing_ <= 1 && followed_ == 0 && consuming_ == 0;
  }
  bool writes_message() const noexcept { return writing_ > 0; }
  /// Components and resources looked at so far: what growth is tested by.
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
  std::uint32_t clashing_ = 0;  // components and resources that somebody writes and somebody else uses
  std::uint32_t hidden_ = 0;    // handlers with state and without named resources
  std::uint32_t pushing_ = 0, followed_ = 0, writing_ = 0, consuming_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
