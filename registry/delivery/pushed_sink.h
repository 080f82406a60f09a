// Who sees what handlers push and timers deliver: not inputs, but what these cause. For tools that show it; nothing of it is state.
#pragma once

#include "messages/batch.h"

namespace muster {

/// All calls come on the registry's thread. A sink must not use the registry.
class PushedSink {
 public:
  virtual ~PushedSink() = default;
  /// The messages of `batch`, or those of them that the cascade's bound allowed, were just delivered; a batch that is delivered
  /// in several parts is told once, whole, with the first. Valid during the call only. It has causes where these are recorded
  /// (messages/causes.h).
  virtual void on_pushed(const BatchView& batch) noexcept = 0;
};

}  // namespace muster
