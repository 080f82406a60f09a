// A trace of the running world for a session that asked: `muster trace`.
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

/// For one session at a time. Owner's thread, between inputs; the registry must outlive it.
class SessionTrace {
 public:
  SessionTrace(EntityRegistry& registry, Observation& observation) : registry_(registry), observation_(observation) {}
  ~SessionTrace() { stop(); }
  SessionTrace(const SessionTrace&) = delete;
  SessionTrace& operator=(const SessionTrace&) = delete;

  /// Answers BeginTrace.
  void begin(Session& to, std::uint64_t request);
  /// The pieces of the answer to EndTrace, or why there is none.
  [[nodiscard]] std::expected<std::vector<session::TraceText>, session::Fault> end(const Session& from);
  /// Null: nothing is recorded.
  Trace* running() const noexcept { return trace_.get(); }
  /// A session that is gone records nothing.
  void leave(const Session& from);

 private:
  void stop();

  EntityRegistry& registry_;
  Observation& observation_;
  std::unique_ptr<Trace> trace_;  // null: nothing is recorded
  std::uint64_t author_ = 0;      // of the session that asked
  std::string name_;              // its
};

}  // namespace muster
