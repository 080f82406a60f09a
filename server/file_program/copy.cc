#include "server/file_program/copy.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/postgres/pg_address.h"
#include "server/postgres/pg_open.h"
#include "server/world/file/file_beside.h"
#include "server/world/file/world_file.h"
#include "server/world/place/left_behind.h"
#include "system/temporary_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Opened = std::expected<std::unique_ptr<RowStore>, WorldError>;

Opened open_world(const std::string& name, OpenMode mode) {
  if (is_pg_address(name)) return open_pg_store(name, {.mode = mode});
  auto file = WorldFile::open(name, {.mode = mode});
  if (!file) return std::unexpected(std::move(file.error()));
  return std::make_unique<WorldFile>(std::move(*file));
}

/// Reads everything that is in a world.
std::expected<CopyReport, WorldError> read_whole(Store& store) {
  EntityRegistry registry({.on_warning = [](const std::string&) {}});
  const auto loaded = store.load([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.load(source);
    if (!read) return std::unexpected(std::move(read.error()));
    return {};
  });
  if (!loaded) return std::unexpected(loaded.error());
  if (auto read = store.steps([](std::uint64_t, std::span<const std::byte>) {}); !read)
    return std::unexpected(std::move(read.error()));
  if (auto read = store.journal({}); !read) return std::unexpected(std::move(read.error()));
  if (auto checked = store.check_past(); !checked) return std::unexpected(std::move(checked.error()));
  return CopyReport{.checkpoint = store.meta().checkpoint,
                    .sequence = store.durable(),
                    .entities = registry.host().storage().rows(),
                    .hash = registry.hash()};
}

/// Makes the copy at `to`, which is removed again if it is not the same.
std::expected<void, WorldError> write_copy(RowStore& source, const CopyReport& expected, const std::string& to) {
  {
    auto copy = open_world(to, OpenMode::create_new);
    if (!copy) return std::unexpected(std::move(copy.error()));
    if (auto copied = (*copy)->copy_from(source); !copied) return copied;
  }
  auto again = open_world(to, OpenMode::open_existing);
  if (!again) return std::unexpected(std::move(again.error()));
  const auto whole = read_whole(**again);
  if (!whole) return std::unexpected(whole.error());
  if (whole->hash != expected.hash || whole->sequence != expected.sequence ||
      (*again)->meta().digest != source.meta().digest || (*again)->meta().history != source.meta().history)
    return std::unexpected(
        WorldError(WorldErrorCode::io, shown_pg_address(to), "the copy differs from " + source.path()));
  return {};
}

}  // namespace

std::expected<CopyReport, WorldError> copy_world(const std::string& from, const std::string& to) {
  const auto refuse = [&](WorldErrorCode code, std::string what) {
    return std::unexpected(WorldError(code, shown_pg_address(to), std::move(what)));
  };
  auto source = open_world(from, OpenMode::open_existing);
  if (!source) return std::unexpected(std::move(source.error()));
  const auto whole = read_whole(**source);
  if (!whole) return std::unexpected(whole.error());
  if (is_pg_address(to)) {
    if (auto written = write_copy(**source, *whole, to); !written) return std::unexpected(std::move(written.error()));
    return whole;
  }
  std::error_code failure;
  const fs::path target = fs::absolute(to, failure).lexically_normal();
  if (failure || !target.has_filename()) return refuse(WorldErrorCode::missing, "not the path of a file");
  if (fs::exists(fs::symlink_status(target, failure)))
    return refuse(WorldErrorCode::exists, "exists already, and is not replaced");
  if (const std::string left = left_companions(target.string()); !left.empty())
    return refuse(WorldErrorCode::left_behind,
                  "these files of an earlier world would be combined with the new one: " + left);
  const TemporaryFolder folder(target.parent_path(), ".muster-copy-");
  if (folder.error() != 0)
    return refuse(folder.error() == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied,
                  "no folder can be made next to it: " + std::string(std::strerror(folder.error())));
  const std::string made = (folder.path() / target.filename()).string();
  if (auto written = write_copy(**source, *whole, made); !written)
    return refuse(written.error().code(), written.error().detail());
  // Use link instead of rename, because it never replaces an existing file.
  if (::link(made.c_str(), target.c_str()) != 0)
    return refuse(errno == EEXIST ? WorldErrorCode::exists : WorldErrorCode::io,
                  "it cannot be put in its place: " + std::string(std::strerror(errno)));
  // A world with several names is refused.
  ::unlink(made.c_str());
  if (auto synced = sync_directory(target.parent_path().string(), to); !synced) {
    ::unlink(target.c_str());
    return std::unexpected(std::move(synced.error()));
  }
  return whole;
}

}  // namespace muster
