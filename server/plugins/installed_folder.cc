#include "server/plugins/installed_folder.h"

#include <filesystem>
#include <system_error>

namespace muster {

std::string installed_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = (program.parent_path() / MUSTER_DATA_FROM_PROGRAMS).lexically_normal();
  if (!error && std::filesystem::is_regular_file(beside / "schema/muster.fbs", error)) return beside.string();
  return MUSTER_INSTALLED;
}

}  // namespace muster
