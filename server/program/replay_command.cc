#include "server/program/replay_command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "messages/json_writer.h"
#include "schema/hex.h"
#include "schema/quoted.h"
#include "server/world/journal/code_identity.h"

namespace muster {
namespace {

unsigned long long shown(std::uint64_t number) { return number; }

std::string counted(std::uint64_t count, const char* one) {
  return std::to_string(count) + ' ' + one + (count == 1 ? "" : "s");
}
std::string counted(const ReplayCount& count) {
  return counted(count.inputs, "input") + " in " + counted(count.ticks, "tick");
}

/// Returns the name of a handler without the quotes in which texts show it.
std::string bare(const std::string& handler) {
  const bool quoted = handler.size() > 1 && handler.front() == '"' && handler.back() == '"';
  return quoted ? handler.substr(1, handler.size() - 2) : handler;
}

void print_json(const ReplayReport& report) {
  JsonWriter out;
  const auto count = [&out](const char* name, const ReplayCount& of) {
    out.key(name).open_object().member("inputs", of.inputs).member("ticks", of.ticks).close_object();
  };
  out.open_object()
      .member("sequence", report.sequence)
      .member("tick", report.tick)
      .member("hash", hex(report.hash))
      .member("inputs", report.inputs)
      .member("ticks", report.ticks);
  count("twice", report.twice);
  count("not_twice", report.not_twice);
  count("second", report.second);
  out.member("hashes", report.hashes)
      .member("states", report.states)
      .member("recorded_hashes", report.recorded_hashes)
      .member("recorded_states", report.recorded_states)
      .member("compared", report.compared_anything())
      .member("other_build", !report.recorded_by.empty());
  out.key("differences").open_array();
  for (const ReplayDifference& each : report.differences) {
    const SyncDifference& found = each.found;
    out.open_object()
        .member("tick", each.tick)
        .member("with", name(each.with))
        .member("handler", bare(found.handler))
        .member("message", found.message)
        .member("entity", found.path)
        .member("component", found.component)
        .member("field", found.field)
        .member("first", found.first)
        .member("second", found.second)
        .member("values", found.values)
        .member("part", found.part);
    out.key("candidates").open_array();
    for (const std::string& suspect : found.suspects) out.value(bare(suspect));
    out.close_array().member("text", each.text());
    out.close_object();
  }
  out.close_array().key("not_compared").open_array();
  for (const std::string& why : report.not_compared) out.value(why);
  out.close_array().close_object();
  std::printf("%s\n", out.text().c_str());
}

void print_recorded(const ReplayReport& report) {
  if (report.compared_with_recorded())
    std::printf("compared with the recorded run: the hashes of %s, and %s\n", counted(report.hashes, "tick").c_str(),
                counted(report.states, "state").c_str());
  else
    std::printf("not compared with the recorded run: %s\n", report.recorded_hashes + report.recorded_states == 0
                                                                ? "there are no hashes of it for these inputs"
                                                                : "its hashes are of other types or of other ticks");
}

void print_text(const std::string& file, const ReplayReport& report, const ReplayOptions& options) {
  std::printf("%s: %s with %s were done again, through sequence %llu, tick %llu: hash %s\n", file.c_str(),
              counted(report.inputs, "input").c_str(), counted(report.ticks, "tick").c_str(), shown(report.sequence),
              shown(report.tick), hex(report.hash).c_str());
  for (const ReplayDifference& each : report.differences) std::printf("differs: %s\n", printable(each.text()).c_str());
  if (!report.recorded_by.empty())
    std::printf("note: another build recorded this (%s) than runs now (%s)%s\n", printable(report.recorded_by).c_str(),
                printable(report.replayed_by).c_str(),
                handlers_part(report.recorded_by) == handlers_part(report.replayed_by)
                    ? ""
                    : ". It had other handlers, so differences from the recorded run may be right");
  if (options.check)
    std::printf("compared with each other: %s that were done twice, and %s in a second registry\n",
                counted(report.twice).c_str(), counted(report.second).c_str());
  if (report.not_twice.inputs > 0) std::printf("note: %s were not done twice\n", counted(report.not_twice).c_str());
  for (const std::string& why : report.not_compared) std::printf("note: not compared: %s\n", why.c_str());
  print_recorded(report);
  if (report.inputs == 0)
    std::printf("nothing was compared: there are no inputs after the checkpoint\n");
  else if (!report.compared_anything())
    std::printf("nothing was compared%s\n",
                options.check ? "" : "; with --check, every tick is done twice, and in a second registry");
  else if (report.differences.empty())
    std::printf("no difference\n");
}

/// Says what is in the slice at `path`, which is new or was there already.
void print_slice(const std::string& path, const Slice& slice, bool is_new) {
  if (is_new)
    return (void)std::printf("the new file %s has the inputs of this replay, which showed the difference\n",
                             path.c_str());
  const auto there = read_slice_or_world(path);
  const bool is_same = there && encode(*there) == encode(slice);
  std::printf("the file %s %s\n", path.c_str(),
              is_same ? "has the inputs of this replay already"
                      : "exists already, and has other inputs; write a new one with --slice FILE");
}

bool is_slice_file(const std::string& path) {
  std::array<char, 8> head{};
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  const std::size_t read = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return looks_like_slice(std::as_bytes(std::span(head).first(read)));
}

/// The result of a replay, apart from errors, as an exit code.
enum class ReplayEnd : std::uint8_t { same = 0, differs = 1, nothing_compared = 6 };

std::expected<ReplayEnd, WorldError> do_again(const ReplayCommand& command, const ReplayInstall& install) {
  const auto slice = read_slice_or_world(command.file);
  if (!slice) return std::unexpected(slice.error());
  ReplayOptions options = command.options;
  if (!command.hashes.empty()) {
    auto hashes = read_tick_hashes(command.hashes);
    if (!hashes) return std::unexpected(hashes.error());
    options.hashes = std::move(*hashes);
  }
  const auto report = replay(command.file, *slice, install, options);
  if (!report) return std::unexpected(report.error());
  if (command.json)
    print_json(*report);
  else
    print_text(command.file, *report, options);
  if (report->differences.empty()) {
    const bool was_asked = options.check || !command.hashes.empty() || report->inputs == 0;
    return was_asked && !report->compared_anything() ? ReplayEnd::nothing_compared : ReplayEnd::same;
  }
  const bool named = !command.slice.empty();
  if (!named && is_slice_file(command.file)) return ReplayEnd::differs;
  const std::string path = named ? command.slice : command.file + "-differs.slice";
  const auto written = write_slice(path, *slice);
  if (!written && (named || written.error().code() != WorldErrorCode::exists)) return std::unexpected(written.error());
  if (!command.json) print_slice(path, *slice, written.has_value());
  return ReplayEnd::differs;
}

}  // namespace

void add_replay_options(CLI::App& app, ReplayCommand& command) {
  CLI::Option* const replay = app.add_flag("--replay", command.wanted, "serve nothing: see muster replay");
  const auto option = [&](const char* name, auto& value, const char* what) {
    app.add_option(name, value, std::string("with --replay: ") + what)->needs(replay);
  };
  const auto flag = [&](const char* name, bool& value, const char* what) {
    app.add_flag(name, value, std::string("with --replay: ") + what)->needs(replay);
  };
  option("--to", command.options.to_tick, "the last tick");
  flag("--check", command.options.check, "do everything twice, and name what differs");
  flag("--any-build", command.options.any_code, "accept inputs that another build recorded");
  option("--hashes", command.hashes, "a file that --tick-hashes wrote, to compare with");
  option("--slice", command.slice, "a slice to write if results differ");
  flag("--json", command.json, "print JSON");
}

int replay_refused(const ReplayCommand& command, const std::string& text) {
  constexpr int bad_file = 4;
  if (command.json) {
    JsonWriter out;
    out.open_object().member("error", text).member("exit", bad_file).close_object();
    std::fprintf(stderr, "%s\n", out.text().c_str());
  } else {
    std::fprintf(stderr, "muster: %s\n", text.c_str());
  }
  return bad_file;
}

int run_replay(const ReplayCommand& command, const ReplayInstall& install) {
  constexpr int unwritten = 5;
  const auto end = do_again(command, install);
  if (!end) return replay_refused(command, end.error().what());
  return std::fflush(stdout) == 0 ? static_cast<int>(*end) : unwritten;
}

}  // namespace muster
