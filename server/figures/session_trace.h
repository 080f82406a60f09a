// Records a trace of the running world at the request of a session (`muster trace`).
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

/// Serves one session at a time. Must be used on the world thread, between inputs. The registry
/// must outlive this object.
class SessionTrace {
 public:
  SessionTrace(EntityRegistry& registry, Observation& observation) : registry_(registry), observation_(observation) {}
  ~SessionTrace() { stop(); }
  SessionTrace(const SessionTrace&) = delete;
  SessionTrace& operator=(const SessionTrace&) = delete;

  /// Handles BeginTrace and sends the answer. A session with the right `admin` ends the trace of a
  /// session without it. If `causes` is true, the trace shows for each message
  /// which message caused it.
  void begin(Session& to, std::uint64_t request, bool causes);
  /// Returns the pieces of the answer to EndTrace, or a fault that explains why there is no trace.
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
  std::uint64_t session_ = 0;     // number of the session that is recording
  std::string name_;              // name of that session
  bool is_admin_ = false;         // whether that session has the right `admin`
  bool causes_ = false;           // true if causes are being recorded for this trace
};

}  // namespace muster
