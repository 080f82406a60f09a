#include "server/world/place/left_behind.h"

#include <array>

#include "server/world/place/file_stamp.h"

namespace muster {

std::string left_behind(const std::string& path) {
  constexpr std::array companions = {"-wal", "-work", "-users"};
  std::string names;
  for (const char* companion : companions) {
    const FileStamp file = stamp_of(path + companion);
    if (file.inode == 0 || file.bytes == 0) continue;
    names += (names.empty() ? "" : ", ") + path + companion;
  }
  if (names.empty()) return {};
  return "no such file, but a world that was here left these behind: " + names +
         ". If it was moved, put it back, or move them to its new name; if it is gone for good, move them away";
}

}  // namespace muster
