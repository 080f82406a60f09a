// Holds the handlers of each message type in the order in which they run, and the handlers that are
// called for entities of each archetype.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "registry/handlers/changes.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/handler_order.h"
#include "registry/handlers/known_chunks.h"
#include "registry/handlers/run_rules.h"
#include "registry/handlers/unkept.h"
#include "registry/storage/flat_map.h"
#include "registry/storage/text_table.h"
#include "system/mutex.h"

namespace muster {

struct PassSchedule;
/// All handlers of one message type.
struct MessageRoute {
  const TypeDescriptor* type = nullptr;
  std::vector<Handler*> active;  ///< the enabled handlers, in order

  /// True if a run of messages may go through one handler after another, with the same effects as
  /// delivery message by message.
  bool whole_runs = true;
  bool writes_message = false;
  /// Set only if this is the route of a change of `component` instead of a message.
  ChangeKind change = ChangeKind::none;
  TypeId component = 0;
  bool builtin = false;         ///< true if the registry itself acts on the message
  std::vector<CallSite> calls;  ///< indexed by archetype index

  /// A cache for pushes to one entity. Cleared whenever `calls` change or move.
  KnownChunks known;
  /// The `few` of the only handler, if there is just one and its calls need no extra steps;
  /// otherwise null.
  RunFew few = nullptr;
  const Handler* few_handler = nullptr;
  std::uint32_t few_bytes = 0;  ///< size of the items that `few` takes; 0 if `few` is null

  /// True if a handler is called for the entities of this chunk.
  bool somebody(const Chunk& chunk) const noexcept { return calls[chunk.archetype_index].run != nullptr; }
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  /// A sealed batch of one message, which is filled in for each push that sinks see. Null until the
  /// first push.
  std::unique_ptr<Unit[]> sealed;
  /// Schedule of the active handlers; null until a pass was spread over workers.
  std::shared_ptr<PassSchedule> schedule;
  HandlerOrder order;
  RunRules rules;  ///< the rules of the active handlers

  /// The number of active handlers that match an archetype, by archetype index.
  std::vector<std::uint32_t> receivers;
};

/// The part of a registry's state that concerns handlers.
struct HandlerStates {
  std::vector<Text> disabled;  ///< names of disabled handlers, ascending by hash

  /// Ordinals of this process's handlers that waiting HandlerRequest messages will start and end.
  /// Not saved: ordinals in loaded state belong to the process that wrote it and have no effect
  /// here.
  std::vector<std::uint64_t> beginning, ending;
};

class HandlerTable {
 public:
  /// `states` must outlive the table. If its contents are exchanged, bind_all() must follow.
  explicit HandlerTable(HandlerStates& states) : states_(states) {}
  /// Destroys the handlers in the order in which they were added.
  ~HandlerTable();
  HandlerTable(const HandlerTable&) = delete;
  HandlerTable& operator=(const HandlerTable&) = delete;
  /// Null if the type was never added.
  MessageRoute* route(TypeId message) noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  const MessageRoute* route(TypeId message) const noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  MessageRoute& add_message(const TypeDescriptor& type);
  /// The number of message types that were added.
  std::size_t messages() const noexcept { return routes_.size(); }
  /// Forgets all but the first `count` message types. The forgotten ones must have no handlers.
  void take_back_messages(std::size_t count);

  /// Throws SetupError and changes nothing if the message already has a handler of that name, if
  /// the order contradicts itself, or if UnkeptHandlers::check refuses. Also throws what the
  /// handler's filter throws, unless `filter_stops` is true; an exception from the filter then
  /// stops the program.
  Handler& add(std::unique_ptr<Handler> handler, std::span<const std::unique_ptr<Archetype>> archetypes,
               bool filter_stops = false);
  /// Holds a handler until begin(), because it was subscribed inside a handler. Sets its ordinal.
  Handler& keep(std::unique_ptr<Handler> handler);
  /// Adds a handler that keep() holds. Returns false if the handler has ended since. Throws like
  /// add(), but an exception from its filter stops the program with an error that names the
  /// handler.
  bool begin(std::uint64_t ordinal, std::span<const std::unique_ptr<Archetype>> archetypes);
  /// Announces that end(ordinal) will be called by a message. end() ignores ordinals that were not
  /// announced, such as those of another process in saved state.
  void expect_end(std::uint64_t ordinal) { states_.ending.push_back(ordinal); }
  void end(std::uint64_t ordinal);
  /// Ends a handler at once. Unknown ordinals are ignored.
  void remove(std::uint64_t ordinal);
  struct Called {
    std::string handler, message;
  };
  /// The names of a handler and its message; no value if the handler is not in the table. May be
  /// called from any thread.
  std::optional<Called> called(const Handler* handler) const;
  /// Enables or disables all handlers with this name, including later ones.
  void enable(Text name, bool enabled);
  /// The names of disabled handlers, ascending by hash.
  const std::vector<Text>& disabled() const noexcept { return states_.disabled; }
  /// Must be called with every new archetype: binds the handlers to its columns. An exception from
  /// a filter stops the program with an error that names the handler, because the archetype already
  /// exists and no caller could repair the bindings.
  void bind(Archetype& archetype);
  /// Must be called with an archetype whose slots were reassigned.
  void bind_again(Archetype& archetype);
  /// Must be called with archetypes that are about to be dropped. They must have no rows.
  void forget(std::span<Archetype* const> leaving);
  /// Must be called after all archetypes and the contents of the HandlerStates were exchanged.
  /// Binds all handlers anew and clears everything remembered about archetypes and chunks. An
  /// exception from a filter stops the program, as in bind().
  void bind_all(std::span<const std::unique_ptr<Archetype>> archetypes);

  /// The route of a change that a handler follows, or null.
  MessageRoute* follower(ChangeKind kind, TypeId component) noexcept {
    if (followed_changes_ == 0) return nullptr;
    MessageRoute* route = this->route(change_id(kind, component));
    return route && !route->active.empty() ? route : nullptr;
  }
  const MessageRoute* follower(ChangeKind kind, TypeId component) const noexcept {
    return const_cast<HandlerTable*>(this)->follower(kind, component);
  }
  /// True if a handler follows any change.
  bool follows() const noexcept { return followed_changes_ != 0; }

  /// For each of these messages, true if a handler must be called: one for the message itself, for
  /// Activated, Loaded or Deactivated, or for changes of components.
  struct Told {
    bool create = false, set = false, remove = false, destroy = false, spawn = false;
  };
  const Told& told() const noexcept { return told_; }

  /// Assigns handlers that are added from now on to this part of the program.
  void begin_part(std::uint32_t part) noexcept { part_ = part; }

  /// While `on`, the registry is observed: single messages reach their handlers by a path that
  /// counts the calls.
  void observe_calls(bool on);

  /// All handlers, in the order in which they were added.
  const std::vector<Handler*>& handlers() const noexcept { return handlers_; }
  /// Null if there is none.
  Handler* find(std::string_view name) noexcept;
  /// The ordinal of the next handler; greater than those of all current handlers.
  std::uint64_t next_ordinal() const noexcept { return next_ordinal_; }

  /// Handlers compared, plus handlers, terms and archetypes visited because handlers were added,
  /// removed or enabled. Used by tests of complexity.
  std::uint64_t steps() const noexcept;

 private:
  /// Binds the handler to an archetype; an exception from its filter stops the program.
  void bind_or_stop(Handler& handler, Archetype& archetype) const noexcept;
  /// Updates a route after a handler was added to its order or removed from it. `place` is the
  /// handler's present or former place; empty if other handlers moved too.
  void handler_came(MessageRoute& route, Handler& handler, std::optional<std::size_t> place);
  void handler_left(MessageRoute& route, Handler& handler, std::optional<std::size_t> place);
  /// Recomputes a route from the order of its handlers.
  void refresh(MessageRoute& route);
  /// Updates everything that depends on a route's active handlers.
  void active_changed(MessageRoute& route, bool was_followed);
  std::vector<FollowedColumn> followed_by(const Handler& handler) const;
  void refresh_all(std::vector<MessageRoute*> routes);
  CallSite site_of(MessageRoute& route, const Handler& handler, std::size_t archetype) const;
  static CallSite site_of_several(MessageRoute& route);
  /// Recomputes the call site of one archetype, or of all.
  void find_site(MessageRoute& route, std::size_t archetype) const;
  void find_sites(MessageRoute& route) const;
  void set_few(MessageRoute& route) const noexcept;
  static bool is_followed(const MessageRoute& route) noexcept {
    return route.change != ChangeKind::none && !route.active.empty();
  }
  /// True if a call site calls this handler directly, because its calls need no extra steps.
  bool is_called_straight(const Handler& handler) const noexcept {
    return !calls_observed_ && handler.one && !handler.writes_message && handler.followed.empty();
  }
  /// Recomputes which handlers write followed components.
  void find_followed();
  void find_told() noexcept;
  Told told_;
  bool calls_observed_ = false;
  std::size_t followed_changes_ = 0;  // routes of changes with active handlers

  // Held while handlers_, routes_ or by_type_ change, because other threads read them.
  mutable Mutex shown_;
  std::vector<Handler*> handlers_;  // raw pointers, because those after a removed handler move up
  std::unordered_map<std::uint64_t, std::unique_ptr<Handler>> by_ordinal_;  // owns handlers_
  std::vector<std::unique_ptr<Handler>> kept_;
  UnkeptHandlers unkept_;  // the unkept handlers among handlers_
  HandlerStates& states_;
  std::vector<std::unique_ptr<MessageRoute>> routes_;
  FlatMap<TypeId, std::uint32_t> by_type_;
  std::uint64_t next_ordinal_ = 1;
  std::uint32_t part_ = 0;
  std::size_t archetypes_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace muster
