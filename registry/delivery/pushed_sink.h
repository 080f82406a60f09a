// The interface for tools that show the messages that handlers push and timers deliver. Such
// messages are not inputs, but are caused by inputs. A sink is not part of the state.
#pragma once

#include "messages/batch.h"

namespace muster {

/// All calls come on the registry's thread. A sink must not use the registry.
class PushedSink {
 public:
  virtual ~PushedSink() = default;
  /// Called after the messages of `batch` were delivered, or as many as the cascade's limit
  /// allowed. A batch delivered in several parts is passed once, whole, with the first part. Valid
  /// only during the call. Has causes if these are recorded (messages/causes.h).
  virtual void on_pushed(const BatchView& batch) noexcept = 0;
};

}  // namespace muster
