// Knows the handlers of each message type, in the order they run in, and which of them a message to an entity of each
// archetype calls.
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
  std::vector<Handler*> active;  ///< the enabled ones, in order
  /// Whether a run of messages may go through one handler after another, because that has the effects of message by
  /// message.
  bool whole_runs = true;
  bool writes_message = false;
  ChangeKind change = ChangeKind::none;  ///< of a component, where this is no message's route
  TypeId component = 0;
  bool builtin = false;         ///< the registry itself acts on it
  std::vector<CallSite> calls;  ///< by archetype index
  KnownChunks known;            ///< of pushes to one entity; forgotten whenever `calls` change or move
  /// The one handler's own `few`, where there is one handler and nothing has to be done around its calls; null
  /// otherwise.
  RunFew few = nullptr;
  const Handler* few_handler = nullptr;
  std::uint32_t few_bytes = 0;  ///< of the items that `few` takes; 0 where it is null
  /// Whether a handler is called for an entity in this chunk.
  bool somebody(const Chunk& chunk) const noexcept { return calls[chunk.archetype_index].run != nullptr; }
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  /// A sealed batch of one message, into which a push that sinks hear of puts its own. Null until the first push.
  std::unique_ptr<Unit[]> sealed;
  std::shared_ptr<PassSchedule> schedule;  ///< of the active handlers, once a pass was spread over workers
  HandlerOrder order;
  RunRules rules;                        ///< of the active handlers
  std::vector<std::uint32_t> receivers;  ///< by archetype index: how many of the active handlers match it
};

/// The part of a registry's state that concerns handlers.
struct HandlerStates {
  std::vector<Text> disabled;  ///< names of handlers that are off, ascending by hash
  /// Ordinals of handlers of this process that HandlerRequest messages which wait will begin, and end. Not saved: those of
  /// loaded state belong to the process that wrote it, so here they begin and end nothing.
  std::vector<std::uint64_t> beginning, ending;
};

class HandlerTable {
 public:
  /// `states` outlives the table. It may be exchanged for another one's contents; then bind_all() must follow.
  explicit HandlerTable(HandlerStates& states) : states_(states) {}
  /// Handlers go in the order in which they came.
  ~HandlerTable();
  HandlerTable(const HandlerTable&) = delete;
  HandlerTable& operator=(const HandlerTable&) = delete;
  /// Null where the type was never added.
  MessageRoute* route(TypeId message) noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  const MessageRoute* route(TypeId message) const noexcept {
    const std::uint32_t* at = by_type_.find(message);
    return at ? routes_[*at].get() : nullptr;
  }
  MessageRoute& add_message(const TypeDescriptor& type);
  /// How many message types were added.
  std::size_t messages() const noexcept { return routes_.size(); }
  /// Forgets all but the first `count` message types. The others have no handlers.
  void take_back_messages(std::size_t count);

  /// Throws SetupError, and changes nothing, for a name that the message has already, an order that contradicts itself,
  /// and what UnkeptHandlers::check refuses; likewise whatever the handler's filter throws, unless `filter_stops` the program then.
  Handler& add(std::unique_ptr<Handler> handler, std::span<const std::unique_ptr<Archetype>> archetypes,
               bool filter_stops = false);
  /// Keeps a handler until begin(): its subscription was asked for inside a handler. Gives it its ordinal.
  Handler& keep(std::unique_ptr<Handler> handler);
  /// Adds a handler that was kept; false where it has ended meanwhile. Throws as add() does, but what its filter throws
  /// stops the program, naming the handler.
  bool begin(std::uint64_t ordinal, std::span<const std::unique_ptr<Archetype>> archetypes);
  /// Announces that end(ordinal) will come as a message. An end that was not announced, as of another process's handler
  /// in saved state, is ignored.
  void expect_end(std::uint64_t ordinal) { states_.ending.push_back(ordinal); }
  void end(std::uint64_t ordinal);
  /// Ends a handler at once. Unknown ordinals are ignored.
  void remove(std::uint64_t ordinal);
  struct Called {
    std::string handler, message;
  };
  /// What is to be said of a handler; no value: it is not in the table. Any thread.
  std::optional<Called> called(const Handler* handler) const;
  /// Switches the handlers of a name on or off, those to come too.
  void enable(Text name, bool enabled);
  /// The names of handlers that are off, ascending by hash.
  const std::vector<Text>& disabled() const noexcept { return states_.disabled; }
  /// To be called with every new archetype: binds the handlers to its columns. What a filter throws stops the program,
  /// naming the handler: the archetype is there, and no caller could put right which handlers it calls.
  void bind(Archetype& archetype);
  /// To be called with an archetype whose slots were given out anew.
  void bind_again(Archetype& archetype);
  /// To be called with archetypes that are about to be dropped. They have no rows.
  void forget(std::span<Archetype* const> leaving);
  /// To be called when all archetypes, and what is in the HandlerStates, were exchanged for others: binds all handlers to
  /// these, and forgets everything that was remembered of archetypes and chunks. A filter that throws stops the program,
  /// as in bind().
  void bind_all(std::span<const std::unique_ptr<Archetype>> archetypes);

  /// The route of a change that a handler follows; null where none does.
  MessageRoute* follower(ChangeKind kind, TypeId component) noexcept {
    if (followed_changes_ == 0) return nullptr;
    MessageRoute* route = this->route(change_id(kind, component));
    return route && !route->active.empty() ? route : nullptr;
  }
  const MessageRoute* follower(ChangeKind kind, TypeId component) const noexcept {
    return const_cast<HandlerTable*>(this)->follower(kind, component);
  }
  /// Whether a handler follows any change.
  bool follows() const noexcept { return followed_changes_ != 0; }

  /// Whether a handler is told when an entity comes, is given or loses components, or goes. Those are handlers of the
  /// message itself, of Activated, Loaded and Deactivated, and of changes of components.
  struct Told {
    bool create = false, set = false, remove = false, destroy = false, spawn = false;
  };
  const Told& told() const noexcept { return told_; }

  /// Handlers that are added from now on belong to this part of the program.
  void begin_part(std::uint32_t part) noexcept { part_ = part; }

  /// While `on`, the registry is observed: single messages go to their handlers by a way that counts the calls.
  void observe_calls(bool on);

  /// In the order in which they came.
  const std::vector<Handler*>& handlers() const noexcept { return handlers_; }
  /// Null if there is none.
  Handler* find(std::string_view name) noexcept;
  /// What the next handler gets; greater than those of all that are here.
  std::uint64_t next_ordinal() const noexcept { return next_ordinal_; }

  /// Handlers compared, and handlers, terms and archetypes looked at because handlers came, went or were enabled: what
  /// growth is tested by.
  std::uint64_t steps() const noexcept;

 private:
  /// Shows it an archetype; what its filter throws stops the program.
  void bind_or_stop(Handler& handler, Archetype& archetype) const noexcept;
  /// Brings a route up to date once a handler has come to its order, or left it. `place` is where the handler is, or was,
  /// in the order; it is empty where other handlers changed their places too.
  void handler_came(MessageRoute& route, Handler& handler, std::optional<std::size_t> place);
  void handler_left(MessageRoute& route, Handler& handler, std::optional<std::size_t> place);
  /// Brings a route up to date from nothing but its order.
  void refresh(MessageRoute& route);
  /// Finds what depends on a route's active handlers, after these have changed.
  void active_changed(MessageRoute& route, bool was_followed);
  std::vector<FollowedColumn> followed_by(const Handler& handler) const;
  void refresh_all(std::vector<MessageRoute*> routes);
  CallSite site_of(MessageRoute& route, const Handler& handler, std::size_t archetype) const;
  static CallSite site_of_several(MessageRoute& route);
  /// Finds the call site of one archetype anew, or of all.
  void find_site(MessageRoute& route, std::size_t archetype) const;
  void find_sites(MessageRoute& route) const;
  void set_few(MessageRoute& route) const noexcept;
  static bool is_followed(const MessageRoute& route) noexcept {
    return route.change != ChangeKind::none && !route.active.empty();
  }
  /// Whether a call site calls this handler itself, because nothing has to be done around the call.
  bool is_called_straight(const Handler& handler) const noexcept {
    return !calls_observed_ && handler.one && !handler.writes_message && handler.followed.empty();
  }
  /// Finds anew which handlers write what is followed.
  void find_followed();
  void find_told() noexcept;
  Told told_;
  bool calls_observed_ = false;
  std::size_t followed_changes_ = 0;  // routes of changes with active handlers
  mutable Mutex shown_;               // held while handlers_, routes_ or by_type_ change: others look at them
  std::vector<Handler*> handlers_;    // bare pointers, because those behind one that goes move up
  std::unordered_map<std::uint64_t, std::unique_ptr<Handler>> by_ordinal_;  // who owns handlers_
  std::vector<std::unique_ptr<Handler>> kept_;
  UnkeptHandlers unkept_;  // of handlers_
  HandlerStates& states_;
  std::vector<std::unique_ptr<MessageRoute>> routes_;
  FlatMap<TypeId, std::uint32_t> by_type_;
  std::uint64_t next_ordinal_ = 1;
  std::uint32_t part_ = 0;
  std::size_t archetypes_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace muster
