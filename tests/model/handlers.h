// The handlers of the random programs, each twice: subscribed to the registry by a C++ signature (or run-time ids), and
// described to the naive model by its terms. What they do is written once, for both outboxes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/model/naive_model.h"

namespace naive {

/// One call of a handler.
struct LogEntry {
  std::string handler;
  Bytes message;
  Entity self;
  std::uint64_t seen = 0;  ///< of what it read
  bool alone =
      false;  ///< stateless: may run over a whole batch before the next handler does; its own calls are in order
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// What the handlers of one registry, or of the model, share.
struct Recorder {
  std::vector<LogEntry> log;
  std::uint64_t begins = 0;  ///< passes that asked on_begin

  void add(const char* handler, const Bytes& message, Entity self, std::uint64_t seen = 0) {
    log.push_back({handler, message, self, seen, false});
  }
};
/// Handlers without state write here; set while a registry or the model works.
extern Recorder* active_recorder;

struct HandlerKind {
  const char* name;
  TypeId message;
  muster::Subscription (*install)(muster::EntityRegistry&, Recorder&, std::string name, muster::HandlerOptions);
  Handler (*model)(Recorder&);
};

std::span<const HandlerKind> handler_kinds();

}  // namespace naive
