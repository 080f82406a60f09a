// The handlers of the random programs, each twice: subscribed to the registry by a C++ signature (or run-time ids), and
// described to the naive model by its terms. What they do is written once, for both outboxes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/model/ledger.h"
#include "tests/model/naive/naive_handler.h"

namespace naive {

/// One call of a handler.
struct LogEntry {
  std::string handler;
  Bytes message;
  Entity self;
  std::uint64_t seen = 0;  ///< of what it read
  /// Where it read a runtime component: what it saw in the registry that was loaded. Of the model alone.
  std::uint64_t seen_loaded = 0;
  bool of_process = false;
  bool alone =
      false;  ///< stateless: may run over a whole batch before the next handler does; its own calls are in order
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// A handler that was subscribed inside a handler.
struct Late {
  unsigned kind = 0;
  std::string name;
  int priority = 0;
  muster::Subscription subscription = {};  ///< in a registry
  std::uint64_t ordinal = 0;               ///< in the model
};
constexpr unsigned late_kinds = 3;
constexpr std::uint32_t late_slots = 4;

/// What the handlers of one registry, or of the model, share.
struct Recorder {
  std::vector<LogEntry> log;
  std::uint64_t begins = 0;            ///< passes that asked on_begin
  std::map<std::uint32_t, Late> late;  ///< by slot
  Ledger* ledger = nullptr;
  Watcher* watcher = nullptr;
  bool quiet = false;            ///< keeps no log: handlers run on several threads
  std::vector<Entity> restored;  ///< whose runtime values a restore hook was called for

  void add(const char* handler, const Bytes& message, Entity self, std::uint64_t seen = 0) {
    if (!quiet) log.push_back({.handler = handler, .message = message, .self = self, .seen = seen});
  }
  /// What it saw is of one process: the model tells both.
  void add_of_process(const char* handler, const Bytes& message, Entity self, TwoValues seen) {
    if (quiet) return;
    log.push_back({.handler = handler,
                   .message = message,
                   .self = self,
                   .seen = seen.first,
                   .seen_loaded = seen.loaded,
                   .of_process = true});
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
/// Those that a program may have: with or without those that take enableable components.
std::span<const HandlerKind> drawn_kinds(bool enableable);

/// One that was begun inside a handler, once more in a registry that was loaded.
void install_late(muster::EntityRegistry& registry, Recorder& recorder, std::uint32_t slot, const Late& like);

/// Names of templates in the programs.
inline std::string template_name(std::uint64_t number) { return "t." + std::to_string(number % 5); }

}  // namespace naive
