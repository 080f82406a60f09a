#include "server/page_folder.h"

#include <filesystem>
#include <system_error>

#include "server/plugins/installed_folder.h"

namespace muster {

std::string default_page_folder() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const bool is_built = !error && program.starts_with(MUSTER_BUILT "/");
  std::string folder = is_built ? MUSTER_BUILT "/client/editor/page" : installed_folder() + "/editor";
  return std::filesystem::is_regular_file(folder + "/index.html", error) ? folder : std::string();
}

}  // namespace muster
