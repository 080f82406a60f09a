#include "server/program/opening_lines.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <string>

#include "registry/host.h"
#include "schema/muster.h"
#include "system/real_path.h"

namespace muster {

void warn_of_others(const World& world) {
  const std::string file = real_path(world.path());
  struct stat found{};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 077) != 0)
    spdlog::warn("{}: other users of this machine can open it (mode {:04o}); chmod 600 makes it private", file,
                 found.st_mode & 07777);
  std::string folder = file.substr(0, file.rfind('/') + 1);
  if (folder.empty()) folder = ".";
  if (::stat(folder.c_str(), &found) == 0 && (found.st_mode & 022) != 0)
    spdlog::warn("{}: other users of this machine can put files into its folder (mode {:04o}); chmod 700 prevents it",
                 file, found.st_mode & 07777);
}

void warn_of_idle(const World& world, double hz) {
  if (hz > 0) return;
  std::string names;
  std::size_t count = 0;
  for (const Handler* handler : world.registry().host().handlers().handlers()) {
    if (handler->message != TypeTraits<Update>::id) continue;
    constexpr std::size_t named_max = 3;
    if (++count <= named_max)
      names += (names.empty() ? "" : ", ") + (handler->name.empty() ? "unnamed" : handler->name);
  }
  if (count == 0) return;
  spdlog::warn("{}: {} handlers of muster.Update ({}{}) are not called: the world does not tick; start it with --hz 60",
               world.path(), count, names, count > 3 ? ", ..." : "");
}
void warn_of_mended(const World& world) {
  const LoadReport& report = world.load_report();
  for (const MendedState& mended : report.listed) spdlog::warn("{}: put right: {}", world.path(), mended.text());
  if (report.mended > report.listed.size())
    spdlog::warn("{}: {} values were put right, of which {} are listed", world.path(), report.mended,
                 report.listed.size());
  for (const std::string& type : report.converted) spdlog::info("{}: converted: {}", world.path(), type);
  if (report.lost_requests > 0)
    spdlog::warn("{}: {} requests to start or end handlers were dropped: they belonged to another process",
                 world.path(), report.lost_requests);
}

void tell_of_run(const World& world) {
  if (const auto run = world.run())
    spdlog::info("{}: a run is on; muster stop brings back the level of tick {}", world.path(), run->tick);
}

void tell_of_recovery(const World& world) {
  const RecoveryReport& report = world.recovery_report();
  const std::string text = report.text();
  if (text.empty()) return;
  const auto level = report.exact() && report.failed == 0 ? spdlog::level::info : spdlog::level::warn;
  spdlog::log(level, "{}: recovered up to sequence {}, tick {}. {}", world.path(), world.registry().sequence(),
              world.tick(), text);
  for (const std::string& each : report.listed) spdlog::warn("{}: lost: {}", world.path(), each);
  if (report.failed > report.listed.size())
    spdlog::warn("{}: {} edits were lost, of which {} are listed", world.path(), report.failed, report.listed.size());
}

}  // namespace muster
