#include "server/host/world_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "server/host/world_name.h"
#include "system/sync_folder.h"

namespace muster::hosting {
namespace {

namespace fs = std::filesystem;

constexpr const char* deleted_folder = "/.deleted";
constexpr const char* new_prefix = ".new-";
constexpr std::size_t options_bytes_max = 64u << 10;

bool is_kind(const std::string& path, mode_t kind, struct stat& found) {
  return ::lstat(path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == kind;
}

HostFault fault_of_disk(const std::string& what, int error) {
  return {error == ENOSPC || error == EDQUOT ? 507u : 500u, what + ": " + std::strerror(error)};
}

/// Renames an entry, and never replaces another.
int rename_to_new(const std::string& from, const std::string& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

/// Calls f with the name of each entry of a folder, and ignores errors.
template <class F>
void each_entry(const std::string& folder, F&& f) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  while (!error && at != fs::directory_iterator()) {
    f(at->path().filename().string());
    at.increment(error);
  }
}

std::optional<DeletedWorld> deleted_world_of(const std::string& id) {
  DeletedWorld world{.id = id};
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), world.deleted_s);
  if (error != std::errc() || end == id.data() + id.size() || *end != '-') return std::nullopt;
  world.name = id.substr(static_cast<std::size_t>(end - id.data()) + 1);
  if (!why_not_a_world_name(world.name).empty()) return std::nullopt;
  return world;
}

}  // namespace

std::expected<int, std::string> WorldFolders::take() const {
  const auto cannot = [&](const std::string& what) {
    return std::unexpected("cannot " + what + " '" + folder_ + "': " + std::strerror(errno));
  };
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return cannot("create the folder");
  const int lock = ::open((folder_ + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return cannot("use the folder");
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return std::unexpected("another muster-host serves the folder '" + folder_ + "'");
  }
  if (::mkdir((folder_ + deleted_folder).c_str(), 0700) != 0 && errno != EEXIST) {
    ::close(lock);
    return cannot("write to the folder");
  }
  each_entry(folder_, [&](const std::string& name) {
    if (name.starts_with(new_prefix)) drop_new(folder_ + "/" + name);
  });
  return lock;
}

bool WorldFolders::has(const std::string& name) const {
  struct stat found{};
  return why_not_a_world_name(name).empty() && is_kind(folder_of(name), S_IFDIR, found) &&
         is_kind(file_of(name), S_IFREG, found);
}

std::vector<WorldOnDisk> WorldFolders::worlds() const {
  std::vector<WorldOnDisk> all;
  each_entry(folder_, [&](const std::string& name) {
    struct stat found{};
    if (all.size() >= worlds_max || !why_not_a_world_name(name).empty() || !is_kind(folder_of(name), S_IFDIR, found) ||
        !is_kind(file_of(name), S_IFREG, found))
      return;
    WorldOnDisk world{name, static_cast<std::uint64_t>(found.st_size), found.st_mtime};
    if (is_kind(file_of(name) + "-wal", S_IFREG, found) && found.st_size > 0) {
      world.bytes += static_cast<std::uint64_t>(found.st_size);
      world.changed_s = std::max<std::int64_t>(world.changed_s, found.st_mtime);
    }
    all.push_back(std::move(world));
  });
  std::ranges::sort(all, {}, &WorldOnDisk::name);
  return all;
}

std::vector<DeletedWorld> WorldFolders::deleted() const {
  std::vector<DeletedWorld> all;
  each_entry(folder_ + deleted_folder, [&](const std::string& id) {
    if (auto world = deleted_world_of(id); world && all.size() < worlds_max) all.push_back(std::move(*world));
  });
  std::ranges::sort(all, {}, &DeletedWorld::deleted_s);
  return all;
}

std::expected<void, HostFault> WorldFolders::check_free(const std::string& name) const {
  if (std::string why = why_not_a_world_name(name); !why.empty())
    return std::unexpected(HostFault{400, std::move(why)});
  const std::string lower = in_lower_case(name);
  std::string other;
  std::size_t entries = 0;
  each_entry(folder_, [&](const std::string& entry) {
    ++entries;
    if (why_not_a_world_name(entry).empty() && in_lower_case(entry) == lower) other = entry;
  });
  if (other == name) return std::unexpected(HostFault{409, "there is already a world " + shown_name(name)});
  if (!other.empty())
    return std::unexpected(HostFault{409, "there is already a world " + shown_name(other) +
                                              ", whose name differs from " + shown_name(name) +
                                              " only in the case of letters"});
  if (entries >= worlds_max)
    return std::unexpected(HostFault{507, "a host has at most " + std::to_string(worlds_max) + " worlds"});
  return {};
}

std::expected<std::string, HostFault> WorldFolders::begin_new() const {
  std::string made = folder_ + "/" + new_prefix + "XXXXXX";
  if (!::mkdtemp(made.data())) return std::unexpected(fault_of_disk("a folder for the world cannot be created", errno));
  return made;
}

std::expected<void, HostFault> WorldFolders::finish_new(const std::string& made, const std::string& name) const {
  if (auto free = check_free(name); !free) return free;
  sync_folder(made);
  if (const int error = rename_to_new(made, folder_of(name)); error != 0)
    return std::unexpected(error == EEXIST ? HostFault{409, "there is already a world " + shown_name(name)}
                                           : fault_of_disk("the new world cannot get its name", error));
  sync_folder(folder_);
  return {};
}

void WorldFolders::drop_new(const std::string& made) const {
  std::error_code ignored;
  fs::remove_all(made, ignored);
}

std::expected<void, HostFault> WorldFolders::copy_other_files(const std::string& name, const std::string& to) const {
  const std::string own = name + ".muster";
  std::string failed;
  std::error_code error;
  each_entry(folder_of(name), [&](const std::string& entry) {
    if (error || entry.starts_with(own) || entry.front() == '.') return;
    // Links are left out: they may lead to any file.
    struct stat found{};
    const std::string from = folder_of(name) + "/" + entry;
    if (!is_kind(from, S_IFREG, found) && !is_kind(from, S_IFDIR, found)) return;
    fs::copy(from, to + "/" + entry, fs::copy_options::recursive | fs::copy_options::skip_symlinks, error);
    if (error) failed = entry;
  });
  if (error)
    return std::unexpected(fault_of_disk("the file " + shown_name(failed) + " cannot be copied", error.value()));
  return {};
}

std::expected<DeletedWorld, HostFault> WorldFolders::remove(const std::string& name, std::int64_t now_s) const {
  DeletedWorld world{.name = name, .deleted_s = now_s};
  int error = EEXIST;
  // A world of the same name may have been deleted in the same second.
  for (int tries = 0; tries < 100 && error == EEXIST; ++tries, ++world.deleted_s) {
    world.id = std::to_string(world.deleted_s) + "-" + name;
    error = rename_to_new(folder_of(name), folder_ + deleted_folder + "/" + world.id);
    if (error == 0) break;
  }
  if (error == ENOENT) return std::unexpected(HostFault{404, "there is no world " + shown_name(name)});
  if (error != 0) return std::unexpected(fault_of_disk("the world cannot be deleted", error));
  sync_folder(folder_ + deleted_folder);
  sync_folder(folder_);
  return world;
}

std::expected<std::string, HostFault> WorldFolders::restore(const std::string& id) const {
  const auto world = deleted_world_of(id);
  struct stat found{};
  const std::string from = folder_ + deleted_folder + "/" + id;
  if (!world || !is_kind(from, S_IFDIR, found))
    return std::unexpected(HostFault{404, "there is no deleted world " + shown_name(id)});
  if (auto free = check_free(world->name); !free) return std::unexpected(free.error());
  if (const int error = rename_to_new(from, folder_of(world->name)); error != 0)
    return std::unexpected(fault_of_disk("the world cannot be restored", error));
  sync_folder(folder_);
  sync_folder(folder_ + deleted_folder);
  return world->name;
}

std::vector<std::string> WorldFolders::purge(std::int64_t before_s) const {
  std::vector<std::string> names;
  for (const DeletedWorld& world : deleted()) {
    if (world.deleted_s >= before_s) continue;
    std::error_code error;
    fs::remove_all(folder_ + deleted_folder + "/" + world.id, error);
    if (!error) names.push_back(world.name);
  }
  return names;
}

std::expected<std::vector<std::string>, std::string> WorldFolders::options_of(const std::string& name) const {
  std::vector<std::string> arguments;
  const std::string path = folder_of(name) + "/options";
  struct stat found{};
  if (!is_kind(path, S_IFREG, found)) return arguments;
  if (static_cast<std::size_t>(found.st_size) > options_bytes_max)
    return std::unexpected(path + " is longer than " + std::to_string(options_bytes_max) + " bytes");
  std::ifstream file(path);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (const std::string why = why_not_an_argument(line); !why.empty())
      return std::unexpected(path + ":" + std::to_string(number) + ": " + why);
    arguments.push_back(std::move(line));
  }
  if (file.bad()) return std::unexpected(path + " cannot be read");
  return arguments;
}

std::string why_not_an_argument(const std::string& argument) {
  const std::string option = argument.substr(0, argument.find('='));
  for (const char* own : {"--listen", "--unix", "--token-file", "--token-fixed", "--page", "--new", "--existing"})
    if (option == own) return option + " is set by muster-host";
  return {};
}

}  // namespace muster::hosting
