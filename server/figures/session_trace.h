// A trace of the running world, recorded at a session's request: `muster trace`.
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

/// Serves one session at a time. World thread, between inputs. The registry must outlive this
/// object.
class SessionTrace {
 public:
  SessionTrace(EntityRegistry& registry, Observation& observation) : registry_(registry), observation_(observation) {}
  ~SessionTrace() { stop(); }
  SessionTrace(const SessionTrace&) = delete;
  SessionTrace& operator=(const SessionTrace&) = delete;

  /// Answers BeginTrace. If `causes` is true, the trace shows which message caused which.
  void begin(Session& to, std::uint64_t request, bool causes);
  /// Returns the pieces of the answer to EndTrace, or the reason why there is no trace.
  [[nodiscard]] std::expected<std::vector<session::TraceText>, session::Fault> end(const Session& from);
  /// Null if nothing is recorded.
  Trace* running() const noexcept { return trace_.get(); }
  /// Ends the recording of a session that left.
  void leave(const Session& from);

 private:
  void stop();

  EntityRegistry& registry_;
  Observation& observation_;
  std::unique_ptr<Trace> trace_;  // null if nothing is recorded
  std::uint64_t author_ = 0;      // of the session that records
  std::string name_;              // of that session
  bool causes_ = false;           // causes are recorded for this trace
};

}  // namespace muster
