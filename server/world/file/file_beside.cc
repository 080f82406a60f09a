#include "server/world/file/file_beside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "server/world/file/world_file.h"
#include "server/world/place/left_behind.h"
#include "server/world/store/file_meta.h"
#include "system/sync_folder.h"

namespace muster {
namespace {

/// Returns true if `stem` has a suffix that WorldFile::rescue adds: -rescued, -rescued-2, and so
/// on.
bool is_rescued_name(std::string_view stem) {
  const std::size_t last = stem.find_last_not_of("0123456789");
  if (last != stem.npos && last + 1 < stem.size() && stem[last] == '-') stem = stem.substr(0, last);
  return stem.ends_with("-rescued");
}

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

}  // namespace

std::expected<std::string, WorldError> give_free_name(const std::string& unfinished,
                                                      const std::function<std::string(int number)>& name,
                                                      const std::string& shown) {
  // Use link instead of rename, because it never replaces an existing file.
  std::string given;
  int reason = EEXIST;
  for (int number = 1; reason == EEXIST && number <= 1000; ++number) {
    given = name(number);
    reason = ::link(unfinished.c_str(), given.c_str()) == 0 ? 0 : errno;
  }
  ::unlink(unfinished.c_str());
  if (reason != 0)
    return std::unexpected(
        WorldError(WorldErrorCode::io, shown, "a file cannot be put at " + given + ": " + std::strerror(reason)));
  if (auto synced = sync_directory(folder_of(given), shown); !synced) {
    ::unlink(given.c_str());
    return std::unexpected(std::move(synced.error()));
  }
  return given;
}

std::expected<std::string, WorldError> WorldFile::rescue(const CheckpointStamp& stamp, const Save& save) const {
  FileMeta meta = meta_;
  meta.group = journal_.end().group;
  meta.chain = journal_.end().checksum;
  struct stat own{};
  const bool known = ::fstat(lock_.descriptor(), &own) == 0;
  return write_rescued(path_, {.vfs = options_.vfs, .continues = &meta}, known ? own.st_mode & 0777 : 0600, stamp, save,
                       shown_);
}

std::expected<std::string, WorldError> WorldFile::write_rescued(const std::string& beside, WorldFileOptions options,
                                                                unsigned rights, const CheckpointStamp& stamp,
                                                                const Save& save, const std::string& shown) {
  const auto error = [&](WorldErrorCode code, std::string detail) {
    return std::unexpected(WorldError(code, shown, std::move(detail)));
  };
  const std::filesystem::path path(beside);
  const std::string ending = path.extension().string();
  const std::string name = (path.parent_path() / path.stem()).string() + "-rescued";
  // Pick a name that is not in use, so that no existing file is replaced.
  std::string unfinished;
  int number = 0;
  do unfinished = name + "-new-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ending;
  while (!is_free_name(unfinished) && number < 1000);
  const auto remove_unfinished = [&] {
    for (const char* part : {"", "-wal", "-shm", "-lock"}) ::unlink((unfinished + part).c_str());
  };
  options.mode = OpenMode::create_new;
  auto written = [&]() -> std::expected<void, WorldError> {
    auto file = open(unfinished, std::move(options));
    if (!file) return std::unexpected(std::move(file.error()));
    if (auto saved = file->save(stamp, save); !saved) return std::unexpected(std::move(saved.error()));
    // Closing the connection merges the -wal but does not report errors, so merge the -wal
    // explicitly first. Otherwise, the file might be incomplete.
    auto merged = file->database_->merge_whole("writing a rescued world");
    if (!merged) return std::unexpected(std::move(merged.error()));
    if (!*merged) return error(WorldErrorCode::io, unfinished + " is being read by another program");
    (void)::chmod(unfinished.c_str(), rights);
    return {};
  }();
  if (!written) {
    remove_unfinished();
    return error(written.error().code(), written.error().detail());
  }
  ::unlink((unfinished + "-lock").c_str());
  // Do not choose a name that already has companion files of another world, because SQLite would
  // apply those files to this one.
  int taken = 0;
  const auto free_name = [&](int given) {
    std::string free;
    do free = name + (given + taken == 1 ? "" : "-" + std::to_string(given + taken)) + ending;
    while (!is_free_name(free) && ++taken < 1000);
    return free;
  };
  auto rescued = give_free_name(unfinished, free_name, shown);
  remove_unfinished();
  return rescued;
}

std::string WorldFile::way_on(const std::string& rescued) const {
  return "To go on with it, end this process, move what is left of " + shown_ + ", " + shown_ + "-wal and " + shown_ +
         "-lock away, and give " + rescued + " the name " + shown_;
}

std::vector<std::string> newer_rescued(const std::string& path, const std::string& world, std::uint64_t sequence) {
  std::vector<std::string> found, sentences;
  std::error_code failure;
  auto entry = std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const std::filesystem::path& file = entry->path();
    if (file != path && is_rescued_name(file.stem().string())) found.push_back(file.string());
  }
  std::ranges::sort(found);
  for (const std::string& file : found) {
    struct stat there{}, own{};
    if (::stat(file.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) continue;
    if (::stat(path.c_str(), &own) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev) continue;
    const FileAlone rescued = read_alone(file, file, false);
    if (rescued.world != world || rescued.sequence <= sequence) continue;
    sentences.push_back(file + " was saved when the world's file was not in its place, and ends at sequence " +
                        std::to_string(rescued.sequence) + "; this file ends at sequence " + std::to_string(sequence) +
                        ", so it may lack edits that are there. To go on with them, end this process, move " + path +
                        ", " + path + "-wal and " + path + "-lock away, and give " + file + " the name " + path +
                        ". To go on without them, move " + file + " away");
  }
  return sentences;
}

std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown) {
  if (sync_folder(directory)) return {};
  return std::unexpected(
      WorldError(WorldErrorCode::io, shown, "its directory cannot be synced: " + std::string(std::strerror(errno))));
}

}  // namespace muster
