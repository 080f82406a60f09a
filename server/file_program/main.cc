// muster-file inspects world files without serving them. `muster verify`, `muster backup`, and
// `muster journal` run this program, because the `muster` command itself does not access world
// files.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "messages/json_writer.h"
#include "schema/hex.h"
#include "server/file_program/backup.h"
#include "server/file_program/compact.h"
#include "server/file_program/copy.h"
#include "server/file_program/journal_text.h"
#include "server/file_program/read_world.h"
#include "server/file_program/verify.h"
#include "server/postgres/pg_address.h"
#include "server/world/replay/slice_import.h"
#include "system/standard_descriptors.h"

namespace {

using namespace muster;

/// The exit codes are those of `muster`; docs/cli.md lists them.
enum ExitCode { exit_done = 0, exit_refused = 1, exit_usage = 2, exit_bad_file = 4 };

int complain(const std::string& text, ExitCode code, bool json) {
  if (json) {
    JsonWriter out;
    out.open_object().member("error", text).member("exit", static_cast<int>(code)).close_object();
    std::fprintf(stderr, "%s\n", out.text().c_str());
  } else {
    std::fprintf(stderr, "muster: %s\n", text.c_str());
  }
  return code;
}
int complain(const WorldError& error, bool json) {
  return complain(error.what(), error.code() == WorldErrorCode::exists ? exit_refused : exit_bad_file, json);
}

void print_line(const std::string& line) { std::printf("%s\n", line.c_str()); }

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

int verify_file(const std::string& path, bool json) {
  const auto report = verify(path);
  if (!report) return complain(report.error(), json);
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("world", report->meta.world)
        .member("running", report->running)
        .member("format", report->format)
        .member("checkpoint", report->meta.checkpoint)
        .member("sequence", report->meta.sequence)
        .member("tick", report->meta.tick)
        .member("rows", report->meta.rows)
        .member("playing", report->meta.level.has_value())
        .member("past", report->meta.past.size())
        .member("steps", report->meta.steps)
        .member("entities", report->entities)
        .member("hash", hex(report->hash))
        .member("groups", report->groups)
        .member("inputs", report->inputs)
        .member("durable", report->durable);
    out.key("remarks").open_array();
    for (const std::string& remark : report->remarks) out.value(remark);
    out.close_array().close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line(
      path + ": good" + (report->running ? " (read from a copy, because it is running)" : "") +
      (report->older ? ", of file format " + std::to_string(report->format) + ", which the next save converts" : ""));
  print_line("checkpoint " + std::to_string(report->meta.checkpoint) + " of " + report->meta.saved + ": sequence " +
             std::to_string(report->meta.sequence) + ", tick " + std::to_string(report->meta.tick) + ", " +
             counted(report->entities, "entity", "entities") + ", " + counted(report->meta.rows, "row", "rows") +
             ", hash " + hex(report->hash));
  if (report->meta.level)
    print_line("a run is on, begun at tick " + std::to_string(report->meta.level->tick) + " of the level: checkpoint " +
               std::to_string(report->meta.level->checkpoint) + ", sequence " +
               std::to_string(report->meta.level->sequence));
  if (!report->meta.past.empty())
    print_line("past: " + counted(report->meta.past.size(), "save is", "saves are") + " kept, the oldest of " +
               report->meta.past.front().saved + ", tick " + std::to_string(report->meta.past.front().tick));
  if (report->meta.steps > 0)
    print_line("history: " + counted(report->meta.steps, "step", "steps") + " that can be undone or redone");
  if (report->groups > 0)
    print_line("journal after it: " + counted(report->groups, "group", "groups") + ", " +
               counted(report->inputs, "input", "inputs") + ", " + counted(report->ticks, "tick", "ticks") +
               ", through sequence " + std::to_string(report->durable));
  for (const std::string& remark : report->remarks) print_line("note: " + remark);
  return exit_done;
}

int back_up_file(const std::string& from, const std::string& asked, std::size_t keep, bool json) {
  const bool is_folder = std::filesystem::is_directory(asked);
  if (keep > 0 && !is_folder) return complain("--keep requires a folder for the copies", exit_usage, json);
  const std::string to = is_folder ? dated_copy(from, asked, std::chrono::system_clock::now()) : asked;
  const auto report = back_up(from, to);
  if (!report) return complain(report.error(), json);
  std::vector<std::string> removed;
  if (keep > 0) {
    auto old = remove_old_copies(from, asked, keep);
    if (!old) return complain(old.error(), json);
    removed = std::move(*old);
  }
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("copy", to)
        .member("checkpoint", report->checkpoint)
        .member("group", report->group)
        .member("sequence", report->sequence)
        .member("bytes", report->bytes)
        .member("users", report->has_users);
    out.key("removed").open_array();
    for (const std::string& each : removed) out.value(each);
    out.close_array().close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line("copied " + shown_pg_address(from) + " to " + shown_pg_address(to) + ", through sequence " +
             std::to_string(report->sequence) + ", " + std::to_string(report->bytes) + " bytes" +
             (report->has_users ? ", with its users" : ""));
  for (const std::string& each : removed) print_line("removed " + each);
  return exit_done;
}

/// Writes a slice. If `is_export` is true, it must have everything that an import needs. `hashes`
/// is a file of a TickHashLog, or empty.
int slice_file(const std::string& path, const std::string& to, const SliceRange& range, const std::string& hashes,
               bool is_export, bool json) {
  auto world = ReadWorld::open(path);
  if (!world) return complain(world.error(), json);
  auto slice = world->slice(range);
  if (!slice) return complain(slice.error(), json);
  if (!hashes.empty())
    if (auto added = add_hashes(*slice, hashes); !added) return complain(added.error(), json);
  if (is_export && slice->in_run)
    return complain(path + ": a run is on, and the file would lack the level. Stop the run first", exit_refused, json);
  if (auto written = write_slice(to, *slice); !written) return complain(written.error(), json);
  const std::uint64_t ticks = slice->groups.empty() ? 0 : slice->groups.back().last_tick - slice->tick;
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("slice", to)
        .member("sequence", slice->sequence)
        .member("last_sequence", slice->last_sequence())
        .member("ticks", ticks)
        .member("hashes", slice->hashes.size())
        .member("states", slice->states.size())
        .close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line("wrote " + to + ": the state at sequence " + std::to_string(slice->sequence) + ", and " +
             counted(slice->last_sequence() - slice->sequence, "input", "inputs") + " with " +
             counted(ticks, "tick", "ticks") + " after it");
  if (is_export) return exit_done;
  if (slice->last_sequence() == slice->sequence)
    print_line(
        "note: it has no inputs, so that muster replay has nothing to do again; --seconds N begins at an earlier save");
  else
    print_line("to compare a replay with this run, it has the hashes of " +
               counted(slice->hashes.size(), "tick", "ticks") + " and " +
               counted(slice->states.size(), "state", "states"));
  return exit_done;
}

int import_file(const std::string& from, const std::string& to, bool json) {
  const auto report = import_slice(from, to);
  if (!report) return complain(report.error(), json);
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("world", to)
        .member("sequence", report->sequence)
        .member("tick", report->tick)
        .member("entities", report->entities)
        .member("hash", hex(report->hash))
        .member("inputs", report->inputs)
        .member("steps", report->steps)
        .close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line("made " + to + " of " + from + ", through sequence " + std::to_string(report->sequence) + ": " +
             counted(report->entities, "entity", "entities") + " with hash " + hex(report->hash) +
             " at the checkpoint, " + counted(report->inputs, "input", "inputs") + " after it, and " +
             counted(report->steps, "step", "steps") + " of the history");
  return exit_done;
}

int compact_file(const std::string& path, bool json) {
  const auto report = compact(path);
  if (!report) return complain(report.error(), json);
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("bytes_before", report->bytes_before)
        .member("bytes", report->bytes_after)
        .member("saves_dropped", report->saves_dropped)
        .member("hash", hex(report->hash))
        .close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line(
      path + ": " + std::to_string(report->bytes_before) + " bytes became " + std::to_string(report->bytes_after) +
      (report->saves_dropped > 0 ? "; without " + counted(report->saves_dropped, "past save", "past saves") : ""));
  return exit_done;
}

int copy_to(const std::string& from, const std::string& to, bool json) {
  const auto report = copy_world(from, to);
  if (!report) return complain(report.error(), json);
  if (json) {
    JsonWriter out;
    out.open_object()
        .member("copy", shown_pg_address(to))
        .member("checkpoint", report->checkpoint)
        .member("sequence", report->sequence)
        .member("entities", report->entities)
        .member("hash", hex(report->hash))
        .close_object();
    print_line(out.text());
    return exit_done;
  }
  print_line("copied " + shown_pg_address(from) + " to " + shown_pg_address(to) + ", through sequence " +
             std::to_string(report->sequence) + ": " + counted(report->entities, "entity", "entities") + " with hash " +
             hex(report->hash) + " at the checkpoint, the same in both");
  return exit_done;
}

int show_journal_of(const std::string& path, const JournalChoice& choice) {
  const auto shown = show_journal(path, choice, print_line);
  if (!shown) return complain(shown.error(), choice.json);
  if (!choice.json && shown->groups == 0)
    print_line("no inputs after the checkpoint, which contains everything through sequence " +
               std::to_string(shown->sequence));
  return exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int error = occupy_standard_descriptors(); error != 0)
    return complain(std::string("/dev/null cannot be opened: ") + std::strerror(error), exit_usage, false);
  CLI::App app{"Inspects Muster world files without serving them.", "muster-file"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "muster-file " MUSTER_VERSION);
  app.footer("Exit codes: 0 done, 1 refused, 2 usage, 4 bad file.");
  bool json = false;
  app.add_flag("--json", json, "Print JSON");
  std::string world, copy, slice, hashes;
  SliceRange range;
  std::int64_t seconds = 0;
  JournalChoice choice;
  std::function<int()> run;

  CLI::App* const verify =
      app.add_subcommand("verify", "Read every byte of a world file and report whether it is valid");
  verify->add_option("WORLD", world, "The world file; a server may have it open")->required();
  verify->callback([&] { run = [&] { return verify_file(world, json); }; });

  CLI::App* const copying = app.add_subcommand("copy", "Copy a world to or from PostgreSQL, and compare both");
  copying->add_option("WORLD", world, "The world, which nobody has open: a file, or postgres://HOST/DATABASE/WORLD")
      ->required();
  copying->add_option("COPY", copy, "The new world: a file, or postgres://HOST/DATABASE/WORLD")->required();
  copying->callback([&] { run = [&] { return copy_to(world, copy, json); }; });

  CLI::App* const backup = app.add_subcommand("backup", "Copy a world file, even while a server has it open");
  backup->add_option("WORLD", world, "The world file")->required();
  backup->add_option("COPY", copy, "The file to create, or a folder; an existing file is never replaced")->required();
  std::size_t keep = 0;
  backup->add_option("--keep", keep, "Number of dated copies to keep in the folder; older ones are removed")
      ->check(CLI::Range(1, 100'000));
  backup->callback([&] { run = [&] { return back_up_file(world, copy, keep, json); }; });

  CLI::App* const journal = app.add_subcommand("journal", "Print the inputs after a world file's last checkpoint");
  journal->add_option("WORLD", world, "The world file; a server may have it open")->required();
  journal->add_option("--from", choice.from, "The first sequence to print");
  journal->add_option("--lines", choice.lines, "How many inputs to print at most");
  journal->add_option("--slice", slice, "Instead of printing, write state and inputs to this new file");
  journal->add_option("--hashes", hashes,
                      "With --slice: a file that muster-server --tick-hashes wrote, to be included");
  journal->add_option("--to", range.to_tick, "With --slice: the last tick");
  journal->add_option("--seconds", seconds, "With --slice: begin at a save that is at least this old, if it is kept")
      ->check(CLI::Range(1, 1'000'000'000));
  journal->callback([&] {
    run = [&] {
      range.age = std::chrono::seconds(seconds);
      if (!slice.empty()) return slice_file(world, slice, range, hashes, false, json);
      choice.json = json;
      return show_journal_of(world, choice);
    };
  });
  CLI::App* const exporting =
      app.add_subcommand("export", "Write a world to one file, from which import makes it again");
  exporting->add_option("WORLD", world, "The world file; a server may have it open")->required();
  exporting->add_option("FILE", slice, "The file to create")->required();
  exporting->callback([&] { run = [&] { return slice_file(world, slice, range, {}, true, json); }; });

  CLI::App* const importing = app.add_subcommand("import", "Make a world file of a file that export wrote");
  importing->add_option("FILE", slice, "The file to read")->required();
  importing->add_option("WORLD", world, "The world file to create")->required();
  importing->callback([&] { run = [&] { return import_file(slice, world, json); }; });

  CLI::App* const compacting =
      app.add_subcommand("compact", "Rewrite a world file that is not served, without past states and free space");
  compacting->add_option("WORLD", world, "The world file")->required();
  compacting->callback([&] { run = [&] { return compact_file(world, json); }; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);  // --help, --version
  } catch (const CLI::ParseError& error) {
    return complain(std::string(error.what()) + "\nmuster --help says how it is used", exit_usage, json);
  }
  const int code = run();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain("the output could not be written", exit_refused, json);
}
