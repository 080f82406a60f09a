// Declares the commands of `muster`. Each command prints text or JSON to stdout, and throws a
// Failure on error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/where.h"

namespace muster::cli {

struct Common {
  Where where;
  bool json = false;
  bool durable = false;  ///< if true, an edit completes only after it has been stored durably
};

// --- look.cc
struct List {
  std::string of = "/";
  /// Components to search for. If this list or `name` is not empty, all entities below `of` are
  /// searched.
  std::vector<std::string> with;
  std::string name;  ///< part of an entity's name to search for
};
void ls(const Common& common, const List& list);
struct Tree {
  std::string of = "/";
  std::uint32_t depth_max = ~0u;
};
void tree(const Common& common, const Tree& tree);
void show(const Common& common, const std::string& entity);
void info(const Common& common, bool with_hash);
void types(const Common& common, const std::string& name);
/// Prints the pending timed messages.
void timers(const Common& common);

// --- clock.cc
struct ClockOrder {
  std::string what;    ///< "pause", "play", "step", or "speed"; if empty, the clock is only shown
  std::string number;  ///< argument of "step" (1 if empty) or "speed"
};
void clock(const Common& common, const ClockOrder& order);
/// Prints the handlers, with their messages and the components that they write and read.
void handlers(const Common& common);
/// Given two handlers, prints whether they can run at the same time and, if not, why. Given one
/// handler, prints how it is split across threads.
void why_apart(const Common& common, const std::string& first, const std::string& second);

// --- handler_switch.cc

struct HandlerSwitch {
  std::string what;  ///< "on" or "off"
  std::string name;
};
void switch_handler(const Common& common, const HandlerSwitch& order);
/// Drops the messages that a cut cascade carries over.
void drop_carried(const Common& common);

// --- sessions.cc

/// Prints the connected sessions.
void who(const Common& common);
/// Lists the sessions that the server ended, with the reason for each.
void who_ended(const Common& common);
struct Top {
  double seconds = 2;       ///< time between two samples
  std::uint64_t times = 0;  ///< number of samples; 0 means to continue until interrupted
  std::uint32_t rows = 15;  ///< number of rows in each table
};
/// Prints the busiest messages, handlers, and sessions.
void top(const Common& common, const Top& asked);
/// Makes the server stop after this time, or as soon as no sessions are left. If `to` is not empty,
/// clients resume their sessions at that address.
void drain(const Common& common, const std::string& to, double seconds);

// --- programs.cc

struct FileReplay {
  std::string file, to_tick, workers, slice, hashes;  ///< empty if not given
  std::vector<std::string> plugins, schemas;
  bool check = false, any_build = false;
};
/// Replaces this process with muster-server, which does the inputs of the file again. Does not
/// return if successful; throws a Failure if the program cannot be started.
void replay(const Common& common, const FileReplay& order);
/// Replaces this process with the program that handles world files, and passes the arguments to
/// that program. Does not return if successful; throws a Failure if the program cannot be started.
void run_on_file(const Common& common, const std::vector<std::string>& arguments);
/// Returns true if the file begins like one that `muster export` wrote.
bool is_slice_file(const std::string& path);

/// Replaces this process with the program that serves the world to an AI agent, which is a part of
/// the Python client, because that client has the types, the watches and the JSON that it needs.
/// Does not return if successful; throws a Failure if the program cannot be started. `name` is the
/// agent's name, shown to other users.
void serve_agent(const Common& common, const std::string& name);

// --- token.cc
struct TokenOrder {
  std::string what;           ///< "create", "list", "revoke", "rotate", "clean"
  std::string name;           ///< name of the user; empty is the server's own, for "rotate"
  std::string role, expires;  ///< arguments of "create"
  bool dry = false;           ///< of "clean"
};
void token(const Common& common, const TokenOrder& order);

/// Ends all sessions of a user.
void kick(const Common& common, const std::string& user);
/// Removes what a user left in the world. If `dry` is true, only shows the numbers.
void remove_of(const Common& common, const std::string& user, bool dry);

// --- edit.cc
struct SetOne {
  std::string entity, field, value;
  std::optional<std::string> expected;
  bool dry = false;  ///< if true, only shows what would change, as in all commands that follow
};
void set(const Common& common, const SetOne& set);
struct Push {
  std::string entity, message;  ///< the target's name; "@world" sends the message to all entities
  std::vector<std::string> fields;
  bool below = false;  ///< if true, also sends the message to all entities below the target
};
void push(const Common& common, const Push& push);
void add(const Common& common, const std::string& entity, const std::string& component,
         const std::vector<std::string>& fields, bool dry);
/// `expected` are values of the component's fields, such as "value=30".
void remove(const Common& common, const std::string& entity, const std::string& component,
            const std::vector<std::string>& expected, bool dry);
struct SpawnOne {
  std::string name;                 ///< the new entity's name, or a path whose last part is the
                                    ///< name
  std::string what;                 ///< name of a template; if empty, a single entity is created
  std::string under, before;        ///< the new entity's parent and next sibling
  std::vector<std::string> values;  ///< "Health" or "Health.value=30"
  bool suffix = false;              ///< if true, a free suffix is added to a name that is already
                                    ///< taken
  bool dry = false;
};
void spawn(const Common& common, const SpawnOne& spawn);
/// `expected` is the number of entities below the only entity.
void destroy(const Common& common, const std::vector<std::string>& entities, std::optional<std::uint32_t> expected,
             bool dry);
struct Move {
  std::string entity, parent, before;
  std::optional<std::string> expected;  ///< the present parent
  bool dry = false;
};
void reparent(const Common& common, const Move& move);
/// `expected` is the present name.
void rename(const Common& common, const std::string& entity, const std::string& name,
            const std::optional<std::string>& expected, bool dry);
void save(const Common& common);
void reload(const Common& common, const std::string& plugin);

// --- undo.cc
struct UndoOrder {
  bool redo = false;        ///< if true, redoes steps instead
  std::uint32_t steps = 1;  ///< number of steps
  bool dry = false;         ///< if true, only shows the result
  bool overwrite = false;   ///< if true, also overwrites later edits of other users
  bool pass_over = false;   ///< if true, drops steps of which conflicts leave nothing to do
};
void undo(const Common& common, const UndoOrder& order);
/// Prints this user's steps, at most `limit`.
void history(const Common& common, std::uint32_t limit);

// --- run.cc

/// Begins a run, or ends it.
void set_run(const Common& common, bool on);
/// Prints the edits of the run, at most `limit`.
void run_edits(const Common& common, std::uint32_t limit);
/// Lists up to `limit` ranges of past states.
void past(const Common& common, std::uint32_t limit);
/// Returns to the past state of a tick or time.
void restore(const Common& common, const std::string& at);
struct KeepOrder {
  bool all = false;                  ///< if true, keeps all edits of the run
  std::vector<std::uint64_t> steps;  ///< steps to keep
  std::string entity, field;         ///< an entity to keep, or one of its components or fields
};
void keep(const Common& common, const KeepOrder& order);

// --- trace.cc
/// If `causes` is true, the trace shows which message caused each message.
void trace(const Common& common, const std::string& path, double seconds, bool causes);
struct LogOrder {
  bool follow = false;     ///< if true, prints further lines until interrupted
  std::uint8_t level = 0;  ///< the lowest session::LogLevel to print
};
/// Prints the lines of the game's log, which handlers write.
void log(const Common& common, const LogOrder& order);

// --- templates.cc

/// Prints all templates, or the nodes of one template.
void templates(const Common& common, const std::string& name);
void define(const Common& common, const std::vector<std::string>& files);
void merge(const Common& common, const std::string& entity, const std::string& what);

// --- watch.cc
struct WatchFor {
  std::vector<std::string> entities;  ///< entities to watch; empty means the whole world
  bool below = false;
  bool values = false, structure = false, events = false;  ///< categories to show; if none is set,
                                                           ///< all are shown
  std::vector<std::string> components, messages;
  std::vector<std::string> except;  ///< types of client and host messages to exclude
  std::vector<std::string> pushed;  ///< types of messages to print that handlers post or timers
                                    ///< deliver
  std::optional<double> rate_max;
  double seconds = 0;       ///< duration; 0 means no limit
  std::uint64_t lines = 0;  ///< number of lines; 0 means no limit
};
void watch(const Common& common, const WatchFor& what);

// --- new_world.cc
struct ServerChoice {
  std::vector<std::string> schemas, plugins;
  std::vector<std::string> include_folders;  ///< for schemas
};
void make_new(const Common& common, const std::string& world, const ServerChoice& server);
struct Import {
  std::string file, world;
  std::string under, name;
};
void import(const Common& common, const Import& import, const ServerChoice& server);
/// Makes a world of a file for which is_slice_file() returns true, like run_on_file().
void import_slice(const Common& common, const Import& asked);

// --- host/hosted.cc
struct WorldsOrder {
  /// "list" (if empty), "create", "copy", "sleep", "wake", "delete", or "restore".
  std::string what;
  std::string name;  ///< name of the world; for "restore", the id of a deleted world
  std::string to;    ///< name of the copy
};
/// Acts on the worlds of the muster-host at --connect.
void worlds(const Common& common, const WorldsOrder& order);

}  // namespace muster::cli
