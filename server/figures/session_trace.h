// A trace of the running world, recorded at the request of a session (`muster trace`).
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "registry/observe/trace.h"
#include "server/figures/observation.h"
#include "server/session/session.h"

namespace muster {

/// Serves one session at a time. Used on the world thread, between inputs. The registry must
/// outlive this object.
class SessionTrace {
 public:
  SessionTrace(EntityRegistry& registry, Observation& observation) : registry_(registry), observation_(observation) {}
  ~SessionTrace() { stop(); }
  SessionTrace(const SessionTrace&) = delete;
  SessionTrace& operator=(const SessionTrace&) = delete;

  /// Answers BeginTrace. If `causes` is true, the trace shows which message caused which other
  /// messages.
  void begin(Session& to, std::uint64_t request, bool causes);
  /// Returns the pieces of the answer to EndTrace, or a fault with the reason why there is no
  /// trace.
  [[nodiscard]] std::expected<std::vector<session::TraceText>, session::Fault> end(const Session& from);
  /// Returns the trace that is being recorded, or null if there is none.
  Trace* running() const noexcept { return trace_.get(); }
  /// If the session has left, ends the recording that it started.
  void leave(const Session& from);

 private:
  void stop();

  EntityRegistry& registry_;
  Observation& observation_;
  std::unique_ptr<Trace> trace_;  // null if nothing is being recorded
  std::uint64_t author_ = 0;      // author of the recording session
  std::string name_;              // name of that session
  bool causes_ = false;           // causes are being recorded for this trace
};

}  // namespace muster
