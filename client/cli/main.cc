// The `muster` command: parses the command line and runs one command. Only this file includes
// CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "system/standard_descriptors.h"

namespace {

using namespace muster::cli;

/// Describes a usage error. An unknown first word is reported as an unknown command.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  const auto word = std::ranges::find_if(rest, [](const std::string& each) { return !each.starts_with('-'); });
  if (!app.get_subcommands().empty() || word == rest.end()) return error.what();
  std::string text = "unknown command '" + muster::printable(*word) + "'";
  std::vector<std::string_view> known;
  for (const CLI::App* each : app.get_subcommands({})) known.push_back(each->get_name());
  if (const std::string nearest = muster::nearest_name(*word, known); !nearest.empty())
    text += "; did you mean '" + nearest + "'?";
  return text;
}

/// Prints the failure to stderr as text or, with --json, as {"error": ..., "exit": ...}.
int complain(const Failure& failure, bool json) {
  const int code = static_cast<int>(failure.exit);
  if (json) {
    muster::JsonWriter out;
    out.open_object().member("error", failure.text).member("exit", code).close_object();
    std::fprintf(stderr, "%s\n", out.text().c_str());
  } else {
    std::fprintf(stderr, "muster: %s\n", printable_lines(failure.text).c_str());
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Common common;
  if (const int error = muster::occupy_standard_descriptors(); error != 0)
    return complain({Exit::usage, std::string("/dev/null cannot be opened: ") + std::strerror(error)}, false);
  std::function<void()> run;
  CLI::App app{"Displays and changes a running Muster world.", "muster"};
  app.require_subcommand(1);
  app.fallthrough();  // options that apply to all commands may also follow the command's name
  app.set_version_flag("--version", "muster " MUSTER_VERSION);
  app.add_option("--world", common.where.world, "The world file whose server to use (or MUSTER_WORLD)");
  app.add_option("--connect", common.where.connect, "Another server: HOST:PORT, tls:HOST:PORT or unix:PATH");
  app.add_option("--token", common.where.token, "Token for that server (default: $MUSTER_TOKEN)");
  app.add_option("--fingerprint", common.where.fingerprint,
                 "Trust the server whose certificate has this SHA-256 fingerprint, as muster-server prints it");
  app.add_option("--ca", common.where.ca_file,
                 "File with the issuers of certificates to trust, instead of the system's");
  app.add_option("--timeout", common.where.seconds_max, "How many seconds to wait for an answer")
      ->default_val(10)
      ->check(CLI::Range(0.01, 86400.0));
  app.add_flag("--json", common.json, "Print JSON");
  app.footer(
      "ENTITY is a path (/town/tower), a name (tower), the end of a path (town/tower), or an id (12:1).\n"
      "Exit codes: 0 success, 1 refused or not found, 2 usage, 3 no server, 4 bad file, 5 success, but\n"
      "the output could not be written.");

  const auto command = [&](const char* name, const char* help, auto&& fill, std::function<void()> then) {
    CLI::App* sub = app.add_subcommand(name, help);
    fill(*sub);
    sub->callback([&run, then = std::move(then)] { run = then; });
  };

  // --- worlds
  std::string world;
  ServerChoice server;
  const auto server_options = [&](CLI::App& sub) {
    sub.add_option("--schema", server.schemas, "Schema (.fbs, .bfbs) for the server, if one must be started");
    sub.add_option("-I", server.include_folders, "Folder in which that server looks for included schemas")
        ->allow_extra_args(false);
    sub.add_option("--plugin", server.plugins, "Plugin for the server, if one must be started");
  };
  command(
      "new", "Create a world file",
      [&](CLI::App& sub) {
        sub.add_option("WORLD", world, "File to create")->required();
        server_options(sub);
      },
      [&] { make_new(common, world, server); });
  WorldsOrder worlds_order;
  command(
      "worlds", "List the worlds of a muster-host (--connect), or create, copy, sleep, wake, delete, restore one",
      [&](CLI::App& sub) {
        sub.add_option("ACTION", worlds_order.what, "What to do; default: list")
            ->check(CLI::IsMember({"list", "create", "copy", "sleep", "wake", "delete", "restore"}));
        sub.add_option("WORLD", worlds_order.name, "Name of the world; for restore, the id that --json lists");
        sub.add_option("COPY", worlds_order.to, "Name of the copy");
      },
      [&] { worlds(common, worlds_order); });
  Import import_;
  command(
      "import", "Import a model file (glTF, FBX, Collada, OBJ, ...) into a world, or make a world from an export",
      [&](CLI::App& sub) {
        sub.add_option("FILE", import_.file, "Model file, or a file that export wrote")->required();
        sub.add_option("WORLD", import_.world, "The world file, created if missing; if omitted, as for other commands");
        sub.add_option("--under", import_.under, "Entity to put the model under");
        sub.add_option("--name", import_.name, "Name of the model's root entity (default: the file's name)");
        server_options(sub);
      },
      [&] {
        if (is_slice_file(import_.file)) return import_slice(common, import_);
        import(common, import_, server);
      });
  std::string copy, copies_kept, from, lines, slice, to_tick, slice_seconds, slice_hashes;
  const auto file_option = [&](CLI::App& sub) { sub.add_option("WORLD", world, "The world file")->required(); };
  command("verify", "Read every byte of a world file and report whether it is valid, even while it is served",
          file_option, [&] { run_on_file(common, {"verify", world}); });
  command(
      "copy", "Copy a world that is not served to or from PostgreSQL, and compare both",
      [&](CLI::App& sub) {
        sub.add_option("WORLD", world, "The world: a file, or postgres://HOST/DATABASE/WORLD")->required();
        sub.add_option("COPY", copy, "The new world: a file, or postgres://HOST/DATABASE/WORLD")->required();
      },
      [&] { run_on_file(common, {"copy", world, copy}); });
  command(
      "backup", "Copy a world file with its users, even while it is served",
      [&](CLI::App& sub) {
        file_option(sub);
        sub.add_option("COPY", copy, "The file to create, or a folder; an existing file is never replaced")->required();
        sub.add_option("--keep", copies_kept, "Number of dated copies to keep in the folder; older ones are removed");
      },
      [&] {
        std::vector<std::string> arguments = {"backup", world, copy};
        if (!copies_kept.empty()) arguments.insert(arguments.end(), {"--keep", copies_kept});
        run_on_file(common, arguments);
      });
  command(
      "journal", "Print the inputs after a world file's last checkpoint, even while it is served",
      [&](CLI::App& sub) {
        file_option(sub);
        sub.add_option("--from", from, "First sequence number to print");
        sub.add_option("--lines", lines, "Maximum number of inputs to print");
        sub.add_option("--slice", slice, "Instead of printing, write state and inputs to this new file");
        sub.add_option("--to", to_tick, "With --slice: the last tick");
        sub.add_option("--seconds", slice_seconds,
                       "With --slice: begin at a save that is at least this old, if it is kept");
        sub.add_option("--hashes", slice_hashes,
                       "With --slice: a file that muster-server --tick-hashes wrote, to be included");
      },
      [&] {
        std::vector<std::string> arguments = {"journal", world};
        if (!from.empty()) arguments.insert(arguments.end(), {"--from", from});
        if (!lines.empty()) arguments.insert(arguments.end(), {"--lines", lines});
        if (!slice.empty()) arguments.insert(arguments.end(), {"--slice", slice});
        if (!to_tick.empty()) arguments.insert(arguments.end(), {"--to", to_tick});
        if (!slice_hashes.empty()) arguments.insert(arguments.end(), {"--hashes", slice_hashes});
        if (!slice_seconds.empty()) arguments.insert(arguments.end(), {"--seconds", slice_seconds});
        run_on_file(common, arguments);
      });

  command(
      "export", "Write a world to one file, from which import makes it again, even while it is served",
      [&](CLI::App& sub) {
        file_option(sub);
        sub.add_option("FILE", slice, "The file to create")->required();
      },
      [&] { run_on_file(common, {"export", world, slice}); });
  command("compact", "Rewrite a world file that is not served, without past states and free space", file_option,
          [&] { run_on_file(common, {"compact", world}); });

  FileReplay replayed;
  command(
      "replay", "Do the inputs of a world file or a slice again, and find handlers that depend on hidden state",
      [&](CLI::App& sub) {
        sub.add_option("FILE", replayed.file, "A world file that is not served, or a slice")->required();
        sub.add_option("--plugin", replayed.plugins, "The plugins with which it ran; repeatable");
        sub.add_option("--schema", replayed.schemas, "The schemas with which it ran; repeatable");
        sub.add_option("--to", replayed.to_tick, "The last tick");
        sub.add_flag("--check", replayed.check, "Do everything twice, and name what differs");
        sub.add_option("--workers", replayed.workers, "Threads for passes");
        sub.add_option("--hashes", replayed.hashes, "A file that muster-server --tick-hashes wrote, to compare");
        sub.add_flag("--any-build", replayed.any_build, "Accept inputs that another build recorded");
        sub.add_option("--slice", replayed.slice, "A slice to write if results differ");
      },
      [&] { replay(common, replayed); });

  // --- reading
  List list;
  command(
      "ls", "List the children of an entity, or search below it",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", list.of, "Default: the whole world");
        sub.add_option("--with", list.with, "Search for entities with this component");
        sub.add_option("--name", list.name, "Search for entities whose name contains this");
      },
      [&] { ls(common, list); });
  Tree tree_;
  command(
      "tree", "Draw the entities below an entity",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", tree_.of, "Default: the whole world");
        sub.add_option("--depth", tree_.depth_max, "Number of levels to show");
      },
      [&] { tree(common, tree_); });
  std::string entity;
  const auto entity_option = [&](CLI::App& sub) { sub.add_option("ENTITY", entity)->required(); };
  command("show", "Show an entity's components", entity_option, [&] { show(common, entity); });
  bool with_hash = false;
  command(
      "info", "Describe the world and its server",
      [&](CLI::App& sub) { sub.add_flag("--hash", with_hash, "Include the hash of the whole state"); },
      [&] { info(common, with_hash); });
  bool ended = false;
  command(
      "who", "List the connected sessions and what each is sent",
      [&](CLI::App& sub) {
        sub.add_flag("--ended", ended, "List the sessions that the server ended, and why, instead");
      },
      [&] { ended ? who_ended(common) : who(common); });
  Top top_;
  command(
      "top", "Show repeatedly what keeps the world busy: messages, handlers, sessions",
      [&](CLI::App& sub) {
        sub.add_option("--seconds", top_.seconds, "Time between two tables")
            ->check(CLI::Range(0.05, 1e6))
            ->capture_default_str();
        sub.add_option("--times", top_.times, "End after this many tables; otherwise with Ctrl-C");
        sub.add_option("--rows", top_.rows, "Maximum number of rows per table")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
      },
      [&] { top(common, top_); });
  command("timers", "List the waiting timed messages with their numbers", [](CLI::App&) {}, [&] { timers(common); });
  std::vector<std::string> apart;
  command(
      "handlers", "List the handlers, their messages, and the components that they write and read",
      [&](CLI::App& sub) {
        sub.add_option("--why", apart,
                       "Two names: why these do not run at the same time; one name twice: how it is split")
            ->expected(2);
      },
      [&] { apart.empty() ? handlers(common) : why_apart(common, apart[0], apart[1]); });
  std::string type;
  command(
      "types", "List component and message types, or describe one",
      [&](CLI::App& sub) { sub.add_option("NAME", type); }, [&] { types(common, type); });
  std::string of_template;
  command(
      "templates", "List templates, or the entities that one template creates",
      [&](CLI::App& sub) { sub.add_option("NAME", of_template); }, [&] { templates(common, of_template); });
  WatchFor watch_;
  double rate = 0;
  CLI::Option* rate_option = nullptr;
  command(
      "watch", "Print changes as they happen",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", watch_.entities, "Default: the whole world");
        sub.add_flag("--below", watch_.below, "Include all descendants");
        sub.add_flag("--values", watch_.values, "Values of components");
        sub.add_flag("--structure", watch_.structure, "Entities created, moved, renamed, destroyed");
        sub.add_flag("--events", watch_.events, "Messages from clients and the host");
        sub.add_option("--component", watch_.components, "Only values of this component");
        sub.add_option("--message", watch_.messages, "Only messages of this type");
        sub.add_option("--except", watch_.except, "Exclude client and host messages of this type");
        sub.add_option("--pushed", watch_.pushed, "Messages of this type that handlers post or timers deliver");
        rate_option = sub.add_option("--rate", rate,
                                     "Maximum number of times per second to print values; 0: every change (default 10 "
                                     "if the world ticks)")
                          ->check(CLI::Range(0.0, 1e6));
        sub.add_option("--for", watch_.seconds, "End after this many seconds")->check(CLI::PositiveNumber);
        sub.add_option("--lines", watch_.lines, "End after this many lines");
      },
      [&] {
        if (rate_option->count() > 0) watch_.rate_max = rate;
        watch(common, watch_);
      });

  // --- editing
  const auto durable_option = [&](CLI::App& sub) {
    sub.add_flag("--durable", common.durable, "Wait until the change is on disk and survives a crash");
  };
  const auto dry_option = [](CLI::App& sub, bool& dry) {
    sub.add_flag("--dry", dry, "Show what would change, and change nothing");
  };
  bool dry = false;
  SetOne set_;
  std::string expected;
  CLI::Option* expect_option = nullptr;
  command(
      "set", "Write a field: muster set tower Health.value 50",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("ENTITY", set_.entity)->required();
        sub.add_option("FIELD", set_.field, "Component.field")->required();
        sub.add_option("VALUE", set_.value, "Several parts are separated by commas: 1,2,3")->required();
        expect_option = sub.add_option("--expect", expected, "Refuse if the field does not have this value now");
        dry_option(sub, set_.dry);
      },
      [&] {
        if (expect_option->count() > 0) set_.expected = expected;
        set(common, set_);
      });
  Push push_;
  command(
      "push", "Send a message: muster push tower Damage amount=5",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("ENTITY", push_.entity, "@world sends to all entities")->required();
        sub.add_option("MESSAGE", push_.message)->required();
        sub.add_option("FIELD=VALUE", push_.fields);
        sub.add_flag("--below", push_.below, "Include all descendants");
      },
      [&] { push(common, push_); });
  std::string component;
  std::vector<std::string> fields;
  command(
      "add", "Add a component to an entity",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("COMPONENT", component)->required();
        sub.add_option("FIELD=VALUE", fields);
        dry_option(sub, dry);
      },
      [&] { add(common, entity, component, fields, dry); });
  std::vector<std::string> expected_fields;
  command(
      "remove", "Remove a component from an entity",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("COMPONENT", component)->required();
        sub.add_option("--expect", expected_fields, "Refuse if a field does not have this value now: value=30");
        dry_option(sub, dry);
      },
      [&] { muster::cli::remove(common, entity, component, expected_fields, dry); });
  SpawnOne spawn_;
  command(
      "spawn", "Create an entity: muster spawn /town/orc Health.value=30",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("NAME", spawn_.name, "Name or full path: /town/orc")->required();
        sub.add_option("COMPONENT[.FIELD=VALUE]", spawn_.values);
        sub.add_option("--template", spawn_.what, "Template to create the entity and its descendants from");
        sub.add_option("--under", spawn_.under, "Parent entity");
        sub.add_option("--before", spawn_.before, "Sibling to insert it before");
        sub.add_flag("--suffix", spawn_.suffix, "If the name is taken, use the next free suffix: orc~2");
        dry_option(sub, spawn_.dry);
      },
      [&] { spawn(common, spawn_); });
  std::string template_;
  command(
      "merge", "Apply a template to an entity and everything below it",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("TEMPLATE", template_)->required();
      },
      [&] { muster::cli::merge(common, entity, template_); });
  std::vector<std::string> files;
  command(
      "define", "Define or replace the templates in a file (FlatBuffers JSON)",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("FILE", files)->required();
      },
      [&] { define(common, files); });
  std::vector<std::string> entities;
  std::optional<std::uint32_t> expected_below;
  command(
      "destroy", "Destroy entities and everything below them",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("ENTITY", entities)->required();
        sub.add_option("--expect", expected_below, "Refuse unless this many entities are below the entity");
        dry_option(sub, dry);
      },
      [&] { destroy(common, entities, expected_below, dry); });
  Move move;
  command(
      "reparent", "Move an entity under another one",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("ENTITY", move.entity)->required();
        sub.add_option("PARENT", move.parent, "/ makes it a root")->required();
        sub.add_option("--before", move.before, "Sibling to insert it before");
        sub.add_option("--expect", move.expected, "Refuse if this is not its parent now; / for a root");
        dry_option(sub, move.dry);
      },
      [&] { reparent(common, move); });
  std::string name;
  std::optional<std::string> expected_name;
  command(
      "rename", "Rename an entity",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("NAME", name)->required();
        sub.add_option("--expect", expected_name, "Refuse if this is not its name now");
        dry_option(sub, dry);
      },
      [&] { muster::cli::rename(common, entity, name, expected_name, dry); });
  UndoOrder undo_;
  const auto undo_options = [&](CLI::App& sub) {
    durable_option(sub);
    sub.add_option("N", undo_.steps, "Number of steps")->check(CLI::Range(1u, 1'000'000u))->capture_default_str();
    sub.add_flag("--dry", undo_.dry, "Show what would be done and skipped, and change nothing");
    sub.add_flag("--overwrite", undo_.overwrite, "Also overwrite what other users have edited since");
    sub.add_flag("--pass-over", undo_.pass_over,
                 "If conflicts leave nothing of the newest step to do, drop it and continue with the one before it");
  };
  command("undo", "Undo your newest step, or the N newest", undo_options, [&] { undo(common, undo_); });
  command("redo", "Redo what you undid last, or the N last", undo_options, [&] {
    undo_.redo = true;
    undo(common, undo_);
  });
  std::uint32_t history_limit = 20;
  command(
      "history", "List your steps: those to redo, then those to undo, the next one to undo first",
      [&](CLI::App& sub) {
        sub.add_option("--limit", history_limit, "Maximum number of steps")
            ->check(CLI::Range(1u, 1'000'000'000u))
            ->capture_default_str();
      },
      [&] { history(common, history_limit); });
  command(
      "play", "Begin a run: keep the world as the level, and start the clock", [](CLI::App&) {},
      [&] { set_run(common, true); });
  command("stop", "End the run: the world becomes the level again", [](CLI::App&) {}, [&] { set_run(common, false); });
  KeepOrder keep_;
  std::uint32_t edits_limit = 50;
  command(
      "keep", "List the edits of the run, or apply some to the level: muster keep tower Health.value",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", keep_.entity, "Keep the edits of this entity");
        sub.add_option("FIELD", keep_.field, "Keep only this component or field: Health or Health.value");
        sub.add_option("--step", keep_.steps, "Keep the step with this number from the list; may be repeated")
            ->allow_extra_args(false);
        sub.add_flag("--all", keep_.all, "Keep all edits");
        sub.add_option("--limit", edits_limit, "Maximum number of steps to list")
            ->check(CLI::Range(1u, 1'000'000'000u))
            ->capture_default_str();
      },
      [&] {
        const int ways = !keep_.entity.empty() + !keep_.steps.empty() + keep_.all;
        if (ways == 0) return run_edits(common, edits_limit);
        if (ways > 1) fail(Exit::usage, "give either an entity, or --step, or --all");
        keep(common, keep_);
      });
  std::string restore_at;
  std::uint32_t past_limit = 50;
  command(
      "restore", "List the past states that are kept, or return to one of them: muster restore --at 90210",
      [&](CLI::App& sub) {
        sub.add_option("--at", restore_at, "Tick, or time of a save: 90210, 2026-11-21T00:45:17Z");
        sub.add_option("--limit", past_limit, "Maximum number of ranges to list")
            ->check(CLI::Range(1u, 1'000'000'000u))
            ->capture_default_str();
      },
      [&] { restore_at.empty() ? past(common, past_limit) : restore(common, restore_at); });
  ClockOrder clock_;
  command(
      "clock", "Show the world's clock, or pause it, step, play, set its speed: muster clock speed 0.5",
      [&](CLI::App& sub) {
        sub.add_option("WHAT", clock_.what, "pause, play, step or speed (default: show the clock's state)")
            ->check(CLI::IsMember({"pause", "play", "step", "speed"}));
        sub.add_option("NUMBER", clock_.number,
                       "Number of ticks to step (default: 1), or the speed factor (0.01 to 100)");
      },
      [&] { muster::cli::clock(common, clock_); });
  HandlerSwitch switch_;
  command(
      "handler", "Switch a handler off or on: muster handler off game.echo",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("WHAT", switch_.what, "off or on")->required()->check(CLI::IsMember({"off", "on"}));
        sub.add_option("NAME", switch_.name, "Name of the handler, as `muster handlers` shows it")->required();
      },
      [&] { switch_handler(common, switch_); });
  command("drop-carried", "Drop the messages that handlers have posted and that a cut cascade carries over",
          durable_option, [&] { drop_carried(common); });
  TokenOrder token_;
  command(
      "token", "List, add, revoke or clean up users, or exchange a token: muster token create ann --role edit",
      [&](CLI::App& sub) {
        sub.add_option("WHAT", token_.what, "create, list, revoke, rotate or clean")
            ->required()
            ->check(CLI::IsMember({"create", "list", "revoke", "rotate", "clean"}));
        sub.add_option("NAME", token_.name,
                       "Name of the user, for create, revoke and rotate (default for rotate: the server's own token)");
        sub.add_option("--role", token_.role, "Rights of the user: view, edit, control or admin");
        sub.add_option("--expires", token_.expires, "Expiry: 30d, 2027-01-31, 2027-01-31T12:00:00Z");
        sub.add_flag("--dry", token_.dry, "For clean: show who would be removed, and change nothing");
      },
      [&] { muster::cli::token(common, token_); });
  std::string user;
  command(
      "kick", "End all sessions of a user, who may connect again unless the token is revoked",
      [&](CLI::App& sub) { sub.add_option("USER", user, "Name of the user")->required(); },
      [&] { kick(common, user); });
  command(
      "remove-of", "Remove what a user left: timers, templates, and entities with everything below them",
      [&](CLI::App& sub) {
        sub.add_option("USER", user, "Name or number of the user, who may be revoked")->required();
        sub.add_flag("--dry", dry, "Show what would be removed, and change nothing");
      },
      [&] { remove_of(common, user, dry); });
  std::string drain_to;
  double drain_s = 30;
  command(
      "drain", "Stop the server when its sessions have left: muster drain --to tls:HOST:7717",
      [&](CLI::App& sub) {
        sub.add_option("--to", drain_to, "Address at which clients resume their sessions (default: the same one)");
        sub.add_option("--seconds", drain_s, "Time until the server stops although there are sessions")
            ->check(CLI::Range(0.0, 86400.0))
            ->capture_default_str();
      },
      [&] { drain(common, drain_to, drain_s); });
  command("save", "Save the world to its file", [](CLI::App&) {}, [&] { save(common); });
  std::string plugin;
  command(
      "reload", "Load a plugin's new build while the world runs",
      [&](CLI::App& sub) { sub.add_option("PLUGIN", plugin, "Name or file of the plugin (default: all)"); },
      [&] { reload(common, plugin); });
  std::string trace_file;
  double seconds = 5;
  bool causes = false;
  command(
      "trace", "Record a trace of the world for ui.perfetto.dev",
      [&](CLI::App& sub) {
        sub.add_option("FILE", trace_file, "File to write")->required();
        sub.add_option("--seconds", seconds, "Duration; Ctrl-C stops earlier")
            ->check(CLI::Range(0.0, 1e6))
            ->capture_default_str();
        sub.add_flag("--causes", causes, "With the message that caused each message; takes longer");
      },
      [&] { trace(common, trace_file, seconds, causes); });

  LogOrder log_;
  std::string lowest;
  command(
      "log", "Print the game's own log: the lines that handlers write",
      [&](CLI::App& sub) {
        sub.add_flag("--follow", log_.follow, "Continue with further lines until Ctrl-C");
        sub.add_option("--level", lowest, "Only lines of this level and above; default: info")
            ->check(CLI::IsMember({"info", "warning", "error"}));
      },
      [&] {
        log_.level = lowest == "error" ? 2 : lowest == "warning" ? 1 : 0;
        muster::cli::log(common, log_);
      });

  std::string agent = "agent";
  command(
      "mcp", "Serve the world to an AI agent: the Model Context Protocol over stdin and stdout",
      [&](CLI::App& sub) {
        sub.add_option("--name", agent, "The agent's name, shown to other users")->capture_default_str();
      },
      [&] { serve_agent(common, agent); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);  // thrown for --help and --version
  } catch (const CLI::ParseError& error) {
    return complain({Exit::usage, usage_text(app, error) + "\nsee muster --help"}, common.json);
  }
  try {
    run();
  } catch (Failure& failure) {
    std::fflush(stdout);
    if (failure.late)
      if (const std::string why = why_late(common.where); !why.empty()) failure.text += ": " + why;
    const int code = complain(failure, common.json);
    if (failure.signal != 0) {
      std::signal(failure.signal, SIG_DFL);
      std::raise(failure.signal);
    }
    return code;
  } catch (const std::exception& error) {
    return complain({Exit::refused, error.what()}, common.json);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return complain({Exit::unwritten, "the command succeeded, but its output could not be written"}, common.json);
  return 0;
}
