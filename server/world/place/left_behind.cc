#include "server/world/place/left_behind.h"

#include <array>

#include "server/world/place/file_stamp.h"

namespace muster {

std::string left_behind(const std::string& path) {
  const std::string names = left_companions(path);
  if (names.empty()) return {};
  return "no such file, but a world that was here left these behind: " + names +
         ". If it was moved, put it back, or move them to its new name; if it is gone for good, move them away";
}

std::string left_companions(const std::string& path) {
  constexpr std::array companions = {"-wal", "-work", "-users"};
  std::string names;
  for (const char* companion : companions) {
    const FileStamp file = stamp_of(path + companion);
    if (file.inode == 0 || file.bytes == 0) continue;
    names += (names.empty() ? "" : ", ") + path + companion;
  }
  return names;
}

bool is_free_name(const std::string& path) {
  for (const char* part : {"", "-journal", "-wal", "-shm", "-lock", "-work", "-users", "-server.json"}) {
    const FileStamp there = stamp_of(path + part);
    if (there.inode != 0 || there.error != 0) return false;
  }
  return true;
}

}  // namespace muster
