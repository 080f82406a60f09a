// Holds the handlers of each message type in the order in which they run. Also holds the handlers
// that are called for entities of each archetype.
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
/// All handlers of a single message type.
struct MessageRoute {
  const TypeDescriptor* type = nullptr;
  std::vector<Handler*> active;  ///< the enabled handlers, in order

  /// True if a run of messages may be passed through one handler after another, with the same
  /// effects as delivering the messages one at a time.
  bool whole_runs = true;
  bool writes_message = false;
  /// The kind of change if this is the route of a change to `component` rather than of a message;
  /// otherwise `none`.
  ChangeKind change = ChangeKind::none;
  TypeId component = 0;
  bool builtin = false;         ///< true if the registry itself acts on the message
  std::vector<CallSite> calls;  ///< indexed by archetype index

  /// A cache for pushes to a single entity. Cleared whenever the contents of `calls` change or
  /// move.
  KnownChunks chunks;
  /// The `few` function of the only handler, provided that its calls need no extra steps. Otherwise
  /// null.
  RunFew few = nullptr;
  const Handler* few_handler = nullptr;
  std::uint32_t few_bytes = 0;  ///< item size that `few` expects; 0 if `few` is null

  /// True if a handler is called for the entities in this chunk.
  bool somebody(const Chunk& chunk) const noexcept { return calls[chunk.archetype_index].run != nullptr; }
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  /// A sealed batch with a single message, which is filled in for each push that sinks see. Null
  /// until the first such push.
  std::unique_ptr<Unit[]> sealed;
  /// The schedule of the active handlers. Null until a pass has been spread over workers.
  std::shared_ptr<PassSchedule> schedule;
  HandlerOrder order;
  RunRules rules;  ///< rules for the active handlers

  /// The number of active handlers that match each archetype, indexed by archetype index.
  std::vector<std::uint32_t> receivers;
};

/// The part of a registry's state that concerns handlers.
struct HandlerStates {
  std::vector<Text> disabled;  ///< names of disabled handlers, ascending by hash

  /// Ordinals of this process's handlers that pending HandlerRequest messages will start or end.
  /// The ordinals are not saved: those in a loaded state belong to the process that saved the state
  /// and have no effect here.
  std::vector<std::uint64_t> beginning, ending;
};

class HandlerTable {
 public:
  /// `states` must outlive the table. Whenever the contents of `states` are exchanged, bind_all()
  /// must be called afterward.
  explicit HandlerTable(HandlerStates& states) : states_(states) {}
  /// Destroys the handlers in the order in which they were added.
  ~HandlerTable();
  HandlerTable(const HandlerTable&) = delete;
  HandlerTable& operator=(const HandlerTable&) = delete;
  /// Returns the route of a message type, or null if the type was never added.
  MessageRoute* route(TypeId message) noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  const MessageRoute* route(TypeId message) const noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  MessageRoute& add_message(const TypeDescriptor& type);
  /// Returns the number of message types that have been added.
  std::size_t messages() const noexcept { return routes_.size(); }
  /// Forgets all message types except the first `count`. The forgotten types must not have any
  /// handlers.
  void take_back_messages(std::size_t count);

  /// Adds a handler. Throws SetupError and changes nothing if the message already has a handler
  /// with that name, if the order is contradictory, or if UnkeptHandlers::check refuses the
  /// handler. If the handler's filter throws an exception, propagates the exception; if
  /// `filter_stops` is true, stops the program instead.
  Handler& add(std::unique_ptr<Handler> handler, std::span<const std::unique_ptr<Archetype>> archetypes,
               bool filter_stops = false);
  /// Stores a handler that was subscribed inside another handler, until begin() is called for it.
  /// Sets the handler's ordinal.
  Handler& keep(std::unique_ptr<Handler> handler);
  /// Adds a handler that was stored by keep(). Returns false if the handler has ended in the
  /// meantime. Throws the same exceptions as add(), except that an exception from the handler's
  /// filter stops the program with an error that names the handler.
  bool begin(std::uint64_t ordinal, std::span<const std::unique_ptr<Archetype>> archetypes);
  /// Announces that a message will call end(ordinal). end() ignores ordinals that were not
  /// announced, such as those of another process in a saved state.
  void expect_end(std::uint64_t ordinal) { states_.ending.push_back(ordinal); }
  void end(std::uint64_t ordinal);
  /// Ends a handler immediately. Ignores unknown ordinals.
  void remove(std::uint64_t ordinal);
  struct Called {
    std::string handler, message;
  };
  /// Returns the names of a handler and its message, or no value if the handler is not in the
  /// table. May be called from any thread.
  std::optional<Called> called(const Handler* handler) const;
  /// Enables or disables all handlers with this name, including those that are added later.
  void enable(Text name, bool enabled);
  /// Returns the names of disabled handlers, in ascending order of their hashes.
  const std::vector<Text>& disabled() const noexcept { return states_.disabled; }
  /// Binds the handlers to the columns of a new archetype. Must be called for every new archetype.
  /// An exception from a filter stops the program with an error that names the handler, because the
  /// archetype already exists and no caller could repair the bindings.
  void bind(Archetype& archetype);
  /// Must be called for each archetype whose slots were reassigned.
  void bind_again(Archetype& archetype);
  /// Must be called with archetypes that are about to be dropped. These archetypes must not have
  /// any rows.
  void forget(std::span<Archetype* const> leaving);
  /// Rebinds all handlers, and clears everything remembered about archetypes and chunks. Must be
  /// called after all archetypes and the contents of the HandlerStates were exchanged. An exception
  /// from a filter stops the program, as in bind().
  void bind_all(std::span<const std::unique_ptr<Archetype>> archetypes);

  /// Returns the route of a change that a handler follows, or null.
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

  /// Each member is true if the message of that name requires a handler to be called. The handler
  /// may be one of the message itself, of Activated, Loaded, or Deactivated, or of changes to
  /// components.
  struct Told {
    bool create = false, set = false, remove = false, destroy = false, spawn = false;
  };
  const Told& told() const noexcept { return told_; }

  /// Assigns the handlers added from now on to this part of the program.
  void begin_part(std::uint32_t part) noexcept { part_ = part; }

  /// Sets whether the registry is observed. If it is, single messages reach their handlers through
  /// a path that counts the calls.
  void observe_calls(bool on);
  /// Draws the orders that before, after and priority leave open, unless `seed` is 0. Must be
  /// called before handlers are added.
  void shuffle(std::uint64_t seed) noexcept;
  /// Sets whether inputs are done again, so that handlers with skip_when_repeated are skipped.
  void set_repeated(bool on);
  /// Sets an object that sees every call of a handler that is not skipped, or null for none.
  void set_probe(CallProbe* probe);

  /// Returns all handlers, in the order in which they were added.
  const std::vector<Handler*>& handlers() const noexcept { return handlers_; }
  /// Returns the handler with this name, or null if there is none.
  Handler* find(std::string_view name) noexcept;
  /// Returns the ordinal of the next handler. This ordinal is greater than those of all current
  /// handlers.
  std::uint64_t next_ordinal() const noexcept { return next_ordinal_; }

  /// Returns the number of handlers compared, plus the number of handlers, terms, and archetypes
  /// visited when handlers were added, removed, or enabled. Used by complexity tests.
  std::uint64_t steps() const noexcept;

 private:
  /// Binds the handler to an archetype. Stops the program if its filter throws an exception.
  void bind_or_stop(Handler& handler, Archetype& archetype) const noexcept;
  /// Updates a route after a handler was added to its order or removed from it. `place` is the
  /// handler's current or former place, or empty if other handlers have moved too.
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
  /// Recomputes the call site of one archetype, or of all archetypes.
  void find_site(MessageRoute& route, std::size_t archetype) const;
  void find_sites(MessageRoute& route) const;
  void set_few(MessageRoute& route) const noexcept;
  static bool is_followed(const MessageRoute& route) noexcept {
    return route.change != ChangeKind::none && !route.active.empty();
  }
  /// True if call sites call this handler directly because its calls need no extra steps.
  bool is_called_straight(const Handler& handler) const noexcept {
    return !calls_observed_ && !handler.stand_in && handler.one && !handler.writes_message && handler.followed.empty();
  }
  /// Recomputes which handlers write components that other handlers follow.
  void find_followed();
  void find_told() noexcept;
  Told told_;
  /// Throws SetupError if a handler with skip_when_repeated may do more than read.
  static void check_skipped(const Handler& handler, const TypeDescriptor& message);
  /// Replaces the handler's functions, or puts them back, as repeated_ and probe_ demand.
  void set_stand_in(Handler& handler) const;
  void set_stand_ins(bool all);
  bool calls_observed_ = false, repeated_ = false;
  CallProbe* probe_ = nullptr;
  std::uint64_t shuffle_seed_ = 0;
  std::size_t followed_changes_ = 0;  // number of routes of changes that have active handlers

  // Held while handlers_, routes_, or by_type_ changes, because other threads read them.
  mutable Mutex shown_;
  std::vector<Handler*> handlers_;  // raw pointers, because removing a handler moves the ones after
                                    // it
  std::unordered_map<std::uint64_t, std::unique_ptr<Handler>> by_ordinal_;  // owns handlers_
  std::vector<std::unique_ptr<Handler>> kept_;
  UnkeptHandlers unkept_;  // those in handlers_ that are unkept
  HandlerStates& states_;
  std::vector<std::unique_ptr<MessageRoute>> routes_;
  FlatMap<TypeId, std::uint32_t> by_type_;
  std::uint64_t next_ordinal_ = 1;
  std::uint32_t part_ = 0;
  std::size_t archetypes_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace muster
