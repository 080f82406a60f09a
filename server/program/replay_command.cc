#include "server/program/replay_command.h"

#include <cstdio>

#include "messages/json_writer.h"
#include "schema/hex.h"
#include "schema/quoted.h"

namespace muster {
namespace {

void print_json(const ReplayReport& report, bool check) {
  JsonWriter out;
  out.open_object()
      .member("sequence", report.sequence)
      .member("tick", report.tick)
      .member("hash", hex(report.hash))
      .member("inputs", report.inputs)
      .member("ticks", report.ticks);
  if (check) {
    out.member("compared", report.compared);
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
    out.close_array();
  }
  out.close_object();
  std::printf("%s\n", out.text().c_str());
}

void print_text(const std::string& file, const ReplayReport& report, bool check) {
  std::printf("%s: %llu inputs with %llu ticks were done again, through sequence %llu, tick %llu: hash %s\n",
              file.c_str(), static_cast<unsigned long long>(report.inputs),
              static_cast<unsigned long long>(report.ticks), static_cast<unsigned long long>(report.sequence),
              static_cast<unsigned long long>(report.tick), hex(report.hash).c_str());
  if (!check) return;
  for (const ReplayDifference& each : report.differences) std::printf("differs: %s\n", printable(each.text()).c_str());
  for (const std::string& why : report.not_compared) std::printf("note: ticks were not done twice: %s\n", why.c_str());
  if (report.differences.empty())
    std::printf("no difference: %llu inputs were done twice, and all of them in a second replay\n",
                static_cast<unsigned long long>(report.compared));
}

}  // namespace

std::expected<ReplayEnd, WorldError> run_replay(const ReplayCommand& command, const ReplayInstall& install) {
  const auto slice = read_slice_or_world(command.file);
  if (!slice) return std::unexpected(slice.error());
  const auto report = replay(command.file, *slice, install, command.options);
  if (!report) return std::unexpected(report.error());
  if (command.json)
    print_json(*report, command.options.check);
  else
    print_text(command.file, *report, command.options.check);
  if (report->differences.empty()) return ReplayEnd::same;
  if (!command.slice.empty())
    if (auto written = write_slice(command.slice, *slice); !written) return std::unexpected(written.error());
  return ReplayEnd::differs;
}

}  // namespace muster
