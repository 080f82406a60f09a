// The interface for tools that show the messages that handlers post and timers deliver. Such
// messages are not inputs themselves, but are caused by inputs. A sink is not part of the state.
#pragma once

#include "messages/batch.h"

namespace muster {

/// All functions are called on the registry's thread. A sink must not use the registry.
class PushedSink {
 public:
  virtual ~PushedSink() = default;
  /// Called after the messages of `batch`, or those that the limit on the cascade allowed, have
  /// been delivered. If a batch is delivered in several parts, the whole batch is passed once, with
  /// the first part. `batch` is valid only during the call. It contains causes if they are recorded
  /// (messages/causes.h).
  virtual void on_pushed(const BatchView& batch) noexcept = 0;
};

}  // namespace muster
