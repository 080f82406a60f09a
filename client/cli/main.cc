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

/// Makes each line of a text printable, because texts quote file names and contents, which must not
/// be able to control a terminal.
std::string printable_lines(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += muster::printable(text.substr(0, end));
    if (end == text.npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

/// Prints the failure to stderr as text, or with --json as {"error": ..., "exit": ...}.
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
  CLI::App app{"Looks at a running Muster world and changes it.", "muster"};
  app.require_subcommand(1);
  app.fallthrough();  // options of all commands may also come after the command's name
  app.set_version_flag("--version", "muster " MUSTER_VERSION);
  app.add_option("--world", common.where.world, "The world file whose server is meant (or MUSTER_WORLD)");
  app.add_option("--connect", common.where.connect, "A server elsewhere: HOST:PORT or unix:PATH");
  app.add_option("--token", common.where.token, "Its token (or MUSTER_TOKEN)");
  app.add_option("--timeout", common.where.seconds_max, "Seconds to wait for an answer")
      ->default_val(10)
      ->check(CLI::Range(0.01, 86400.0));
  app.add_flag("--json", common.json, "Print JSON");
  app.footer(
      "ENTITY is a path (/town/tower), a name (tower), the end of a path (town/tower), or an id (12:1).\n"
      "Exit codes: 0 done, 1 refused or not found, 2 usage, 3 no server, 4 bad file, 5 done but not\n"
      "printed.");

  const auto command = [&](const char* name, const char* help, auto&& fill, std::function<void()> then) {
    CLI::App* sub = app.add_subcommand(name, help);
    fill(*sub);
    sub->callback([&run, then = std::move(then)] { run = then; });
  };

  // --- worlds
  std::string world;
  ServerChoice server;
  const auto server_options = [&](CLI::App& sub) {
    sub.add_option("--schema", server.schemas, "A schema (.fbs, .bfbs) for the server that is started");
    sub.add_option("-I", server.include_folders, "Where that server looks for schemas that .fbs files include")
        ->allow_extra_args(false);
    sub.add_option("--plugin", server.plugins, "A plugin for the server that is started");
  };
  command(
      "new", "Make a world file",
      [&](CLI::App& sub) {
        sub.add_option("WORLD", world, "The file to make")->required();
        server_options(sub);
      },
      [&] { make_new(common, world, server); });
  Import import_;
  command(
      "import", "Bring a model file (glTF, FBX, Collada, OBJ, ...) into a world",
      [&](CLI::App& sub) {
        sub.add_option("FILE", import_.file, "The model")->required();
        sub.add_option("WORLD", import_.world,
                       "The world file, made if it is missing; if left out, as for other commands");
        sub.add_option("--under", import_.under, "The entity it goes below");
        sub.add_option("--name", import_.name, "What its root is called (the file's name)");
        server_options(sub);
      },
      [&] { import(common, import_, server); });
  std::string copy, from, lines;
  const auto file_option = [&](CLI::App& sub) { sub.add_option("WORLD", world, "The world file")->required(); };
  command("verify", "Read every byte of a world file, and say whether it is good; also while it is served", file_option,
          [&] { run_on_file(common, {"verify", world}); });
  command(
      "backup", "Copy a world file, also while it is served",
      [&](CLI::App& sub) {
        file_option(sub);
        sub.add_option("COPY", copy, "The file to make; one that is there is never replaced")->required();
      },
      [&] { run_on_file(common, {"backup", world, copy}); });
  command(
      "journal", "Print the inputs that a world file has behind its checkpoint; also while it is served",
      [&](CLI::App& sub) {
        file_option(sub);
        sub.add_option("--from", from, "The first sequence to print");
        sub.add_option("--lines", lines, "How many inputs to print at most");
      },
      [&] {
        std::vector<std::string> arguments = {"journal", world};
        if (!from.empty()) arguments.insert(arguments.end(), {"--from", from});
        if (!lines.empty()) arguments.insert(arguments.end(), {"--lines", lines});
        run_on_file(common, arguments);
      });

  // --- reading
  List list;
  command(
      "ls", "List the children of an entity, or search below it",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", list.of, "The whole world if left out");
        sub.add_option("--with", list.with, "Search: only entities that have this component");
        sub.add_option("--name", list.name, "Search: only entities with this in their name");
      },
      [&] { ls(common, list); });
  Tree tree_;
  command(
      "tree", "Draw the entities below an entity",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", tree_.of, "The whole world if left out");
        sub.add_option("--depth", tree_.depth_max, "How many levels");
      },
      [&] { tree(common, tree_); });
  std::string entity;
  const auto entity_option = [&](CLI::App& sub) { sub.add_option("ENTITY", entity)->required(); };
  command("show", "Show an entity's components", entity_option, [&] { show(common, entity); });
  bool with_hash = false;
  command(
      "info", "Say what the world and its server are",
      [&](CLI::App& sub) { sub.add_flag("--hash", with_hash, "With the hash of the whole state"); },
      [&] { info(common, with_hash); });
  bool ended = false;
  command(
      "who", "List who is connected, and what each is told",
      [&](CLI::App& sub) { sub.add_flag("--ended", ended, "Whose session the server ended, and why, instead"); },
      [&] { ended ? who_ended(common) : who(common); });
  Top top_;
  command(
      "top", "Say again and again what the world is busy with: messages, handlers, sessions",
      [&](CLI::App& sub) {
        sub.add_option("--seconds", top_.seconds, "Between two looks")
            ->check(CLI::Range(0.05, 1e6))
            ->capture_default_str();
        sub.add_option("--times", top_.times, "End after so many looks; else with Ctrl-C");
        sub.add_option("--rows", top_.rows, "Of each table at most")->check(CLI::Range(1, 1000))->capture_default_str();
      },
      [&] { top(common, top_); });
  command("timers", "List the timed messages that wait, with their numbers", [](CLI::App&) {}, [&] { timers(common); });
  command(
      "handlers", "List the handlers: for which message, and which components they write and read", [](CLI::App&) {},
      [&] { handlers(common); });
  std::string type;
  command(
      "types", "List the components and messages of the world, or describe one",
      [&](CLI::App& sub) { sub.add_option("NAME", type); }, [&] { types(common, type); });
  std::string of_template;
  command(
      "templates", "List the templates of the world, or the entities that one makes",
      [&](CLI::App& sub) { sub.add_option("NAME", of_template); }, [&] { templates(common, of_template); });
  WatchFor watch_;
  double rate = 0;
  CLI::Option* rate_option = nullptr;
  command(
      "watch", "Print what changes, as it happens",
      [&](CLI::App& sub) {
        sub.add_option("ENTITY", watch_.entities, "The whole world if left out");
        sub.add_flag("--below", watch_.below, "Everything below the entities too");
        sub.add_flag("--values", watch_.values, "Values of components");
        sub.add_flag("--structure", watch_.structure, "Entities made, moved, renamed, destroyed");
        sub.add_flag("--events", watch_.events, "Messages from outside");
        sub.add_option("--component", watch_.components, "Only values of this component");
        sub.add_option("--message", watch_.messages, "Only messages of this type");
        sub.add_option("--except", watch_.except, "No messages from outside of this type");
        sub.add_option("--pushed", watch_.pushed, "Messages of this type that handlers push or timers deliver");
        rate_option =
            sub.add_option("--rate", rate,
                           "Values at most so many times a second; 0: every change (10 where the world ticks)")
                ->check(CLI::Range(0.0, 1e6));
        sub.add_option("--for", watch_.seconds, "End after so many seconds")->check(CLI::PositiveNumber);
        sub.add_option("--lines", watch_.lines, "End after so many lines");
      },
      [&] {
        if (rate_option->count() > 0) watch_.rate_max = rate;
        watch(common, watch_);
      });

  // --- editing
  const auto durable_option = [&](CLI::App& sub) {
    sub.add_flag("--durable", common.durable, "Wait until it is on the disk, and survives a crash");
  };
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
        expect_option = sub.add_option("--expect", expected, "Refuse unless the field holds this now");
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
        sub.add_option("ENTITY", push_.entity, "@world: everyone")->required();
        sub.add_option("MESSAGE", push_.message)->required();
        sub.add_option("FIELD=VALUE", push_.fields);
        sub.add_flag("--below", push_.below, "Everything below the entity too");
      },
      [&] { push(common, push_); });
  std::string component;
  std::vector<std::string> fields;
  command(
      "add", "Give an entity a component",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("COMPONENT", component)->required();
        sub.add_option("FIELD=VALUE", fields);
      },
      [&] { add(common, entity, component, fields); });
  command(
      "remove", "Take a component from an entity",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("COMPONENT", component)->required();
      },
      [&] { muster::cli::remove(common, entity, component); });
  SpawnOne spawn_;
  command(
      "spawn", "Make an entity: muster spawn /town/orc Health.value=30",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("NAME", spawn_.name, "Its name, or its whole path: /town/orc")->required();
        sub.add_option("COMPONENT[.FIELD=VALUE]", spawn_.values);
        sub.add_option("--template", spawn_.what, "What it is made from, with everything below it");
        sub.add_option("--under", spawn_.under, "Its parent");
        sub.add_option("--before", spawn_.before, "The sibling it is put before");
        sub.add_flag("--suffix", spawn_.suffix, "A taken name gets the next free suffix: orc~2");
      },
      [&] { spawn(common, spawn_); });
  std::string template_;
  command(
      "merge", "Lay a template over an entity and what is below it",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("TEMPLATE", template_)->required();
      },
      [&] { muster::cli::merge(common, entity, template_); });
  std::vector<std::string> files;
  command(
      "define", "Define the templates of a file (FlatBuffers JSON), or replace them",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("FILE", files)->required();
      },
      [&] { define(common, files); });
  std::vector<std::string> entities;
  command(
      "destroy", "End entities and everything below them",
      [&](CLI::App& sub) {
        durable_option(sub);
        sub.add_option("ENTITY", entities)->required();
      },
      [&] { destroy(common, entities); });
  std::string parent, before;
  command(
      "reparent", "Hang an entity under another one",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("PARENT", parent, "/: it becomes a root")->required();
        sub.add_option("--before", before, "The sibling it is put before");
      },
      [&] { reparent(common, entity, parent, before); });
  std::string name;
  command(
      "rename", "Name an entity",
      [&](CLI::App& sub) {
        durable_option(sub);
        entity_option(sub);
        sub.add_option("NAME", name)->required();
      },
      [&] { muster::cli::rename(common, entity, name); });
  ClockOrder clock_;
  command(
      "clock", "Say how the world's clock runs, or pause it, step, play, set its speed: muster clock speed 0.5",
      [&](CLI::App& sub) {
        sub.add_option("WHAT", clock_.what, "pause, play, step or speed; left out: only says how it runs")
            ->check(CLI::IsMember({"pause", "play", "step", "speed"}));
        sub.add_option("NUMBER", clock_.number, "How many ticks (1), or how many times as fast (0.01 to 100)");
      },
      [&] { muster::cli::clock(common, clock_); });
  TokenOrder token_;
  command(
      "token", "Say who may come in, let somebody in, or no more: muster token create ann --role edit",
      [&](CLI::App& sub) {
        sub.add_option("WHAT", token_.what, "create, list or revoke")
            ->required()
            ->check(CLI::IsMember({"create", "list", "revoke"}));
        sub.add_option("NAME", token_.name, "The user's, with create and revoke");
        sub.add_option("--role", token_.role, "What the user may do: view, edit, control or admin");
        sub.add_option("--expires", token_.expires, "Until when: 30d, 2027-01-31, 2027-01-31T12:00:00Z");
      },
      [&] { muster::cli::token(common, token_); });
  command("save", "Save the world to its file", [](CLI::App&) {}, [&] { save(common); });
  std::string plugin;
  command(
      "reload", "Have the server load a plugin's new build, while the world runs",
      [&](CLI::App& sub) { sub.add_option("PLUGIN", plugin, "Its name or file; all if left out"); },
      [&] { reload(common, plugin); });
  std::string trace_file;
  double seconds = 5;
  command(
      "trace", "Record what the world does for a while, for ui.perfetto.dev",
      [&](CLI::App& sub) {
        sub.add_option("FILE", trace_file, "Written here")->required();
        sub.add_option("--seconds", seconds, "How long; Ctrl-C ends it earlier")
            ->check(CLI::Range(0.0, 1e6))
            ->capture_default_str();
      },
      [&] { trace(common, trace_file, seconds); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);  // the exception for --help and --version
  } catch (const CLI::ParseError& error) {
    return complain({Exit::usage, usage_text(app, error) + "\nmuster --help says how it is used"}, common.json);
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
    return complain({Exit::unwritten, "done, but the output could not be written"}, common.json);
  return 0;
}
