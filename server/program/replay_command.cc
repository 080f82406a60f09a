#include "server/program/replay_command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "messages/json_writer.h"
#include "schema/hex.h"
#include "schema/quoted.h"

namespace muster {
namespace {

void print_json(const ReplayReport& report) {
  JsonWriter out;
  out.open_object()
      .member("sequence", report.sequence)
      .member("tick", report.tick)
      .member("hash", hex(report.hash))
      .member("inputs", report.inputs)
      .member("ticks", report.ticks)
      .member("compared", report.compared)
      .member("hashes", report.hashes);
  out.key("differences").open_array();
  for (const ReplayDifference& each : report.differences) {
    const SyncDifference& found = each.found;
    out.open_object()
        .member("tick", each.tick)
        .member("handler", found.handler)
        .member("message", found.message)
        .member("entity", found.path)
        .member("component", found.component)
        .member("field", found.field)
        .member("first", found.first)
        .member("second", found.second)
        .member("values", found.values)
        .member("text", each.text());
    out.close_object();
  }
  out.close_array().key("not_compared").open_array();
  for (const std::string& why : report.not_compared) out.value(why);
  out.close_array().close_object();
  std::printf("%s\n", out.text().c_str());
}

void print_text(const std::string& file, const ReplayReport& report, const ReplayOptions& options) {
  std::printf("%s: %llu inputs with %llu ticks were done again, through sequence %llu, tick %llu: hash %s\n",
              file.c_str(), static_cast<unsigned long long>(report.inputs),
              static_cast<unsigned long long>(report.ticks), static_cast<unsigned long long>(report.sequence),
              static_cast<unsigned long long>(report.tick), hex(report.hash).c_str());
  for (const ReplayDifference& each : report.differences) std::printf("differs: %s\n", printable(each.text()).c_str());
  for (const std::string& why : report.not_compared) std::printf("note: ticks were not done twice: %s\n", why.c_str());
  if (!options.hashes.empty())
    std::printf("the hashes of %llu ticks were compared\n", static_cast<unsigned long long>(report.hashes));
  if (options.check && report.differences.empty())
    std::printf("no difference: %llu inputs were done twice, and all of them in a second replay\n",
                static_cast<unsigned long long>(report.compared));
}

bool is_slice_file(const std::string& path) {
  std::array<char, 8> head{};
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  const std::size_t read = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return looks_like_slice(std::as_bytes(std::span(head).first(read)));
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

std::expected<ReplayEnd, WorldError> run_replay(const ReplayCommand& command, const ReplayInstall& install) {
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
  if (report->differences.empty()) return ReplayEnd::same;
  const bool named = !command.slice.empty();
  if (!named && is_slice_file(command.file)) return ReplayEnd::differs;
  const std::string path = named ? command.slice : command.file + "-differs.slice";
  const auto written = write_slice(path, *slice);
  if (!written && (named || written.error().code() != WorldErrorCode::exists)) return std::unexpected(written.error());
  if (!command.json) std::printf("%s %s reproduces this\n", written ? "the new file" : "the file", path.c_str());
  return ReplayEnd::differs;
}

}  // namespace muster
