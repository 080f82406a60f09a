#include "server/world/replay/slice_import.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/world/file/file_beside.h"
#include "server/world/file/world_file.h"
#include "server/world/journal/record_reader.h"
#include "server/world/place/left_behind.h"
#include "server/world/replay/slice_source.h"
#include "system/temporary_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

/// Reads what a server would read. The error is a sentence that gives the position.
std::expected<void, std::string> read_groups(const Slice& slice, EntityRegistry& registry) {
  std::uint64_t next = slice.sequence + 1, id = 0;
  for (const JournalGroup& group : slice.groups) {
    if (group.first != next || group.last + 1 < group.first || (id != 0 && group.id != id))
      return std::unexpected("journal group " + std::to_string(group.id) + " does not follow what is before it");
    if (auto whole = read_group(group, registry.types(), [](const JournalRecord&) {}); !whole) return whole;
    next = group.last + 1;
    id = group.id + 1;
  }
  return {};
}

WorldErrorCode code_of(int error) noexcept {
  return error == EEXIST                       ? WorldErrorCode::exists
         : error == ENOSPC || error == EDQUOT  ? WorldErrorCode::disk_full
         : error == ENOENT || error == ENOTDIR ? WorldErrorCode::missing
         : error == EACCES || error == EROFS   ? WorldErrorCode::denied
                                               : WorldErrorCode::io;
}

std::expected<void, WorldError> write_world(const std::string& path, const Slice& slice, const TypeTable& types) {
  FileMeta before;
  before.world = slice.world;
  before.created = utc_now();
  before.group = slice.groups.empty() ? 0 : slice.groups.front().id - 1;
  auto file = WorldFile::open(path, {.mode = OpenMode::create_new, .continues = &before});
  if (!file) return std::unexpected(std::move(file.error()));
  const CheckpointStamp stamp{.sequence = slice.sequence,
                              .tick = slice.tick,
                              .code = slice.code,
                              .steps = slice.steps,
                              .types_fingerprint = types.fingerprint(),
                              .types = types.types()};
  auto saved = file->save(stamp, [&](StateSink& sink) {
    for (const Slice::Row& row : slice.rows) sink.row(row.key, 1, row.bytes);
  });
  if (!saved) return std::unexpected(std::move(saved.error()));
  for (JournalGroup group : slice.groups)
    if (auto appended = file->append(group); !appended) return appended;
  return {};
}

}  // namespace

std::expected<ImportReport, WorldError> import_slice(const std::string& from, const std::string& to) {
  const auto refuse = [&](WorldErrorCode code, const std::string& path, std::string what) {
    return std::unexpected(WorldError(code, path, std::move(what)));
  };
  std::error_code failure;
  const fs::path target = fs::absolute(to, failure).lexically_normal();
  if (failure || !target.has_filename()) return refuse(WorldErrorCode::missing, to, "not the path of a file");
  if (fs::exists(fs::symlink_status(target, failure)))
    return refuse(WorldErrorCode::exists, to, "exists already; an import never replaces a file");
  if (const std::string left = left_companions(target.string()); !left.empty())
    return refuse(WorldErrorCode::left_behind, to,
                  "these files of an earlier world would be combined with the new one: " + left +
                      ". Move them away, or give the new file another name");
  const auto slice = read_slice_or_world(from);
  if (!slice) return std::unexpected(slice.error());
  if (slice->in_run)
    return refuse(WorldErrorCode::incompatible, from,
                  "was made during a run, and lacks the level to which the run returns. Stop the run, and export "
                  "the world again");

  ImportReport report{.world = slice->world, .sequence = slice->last_sequence(), .tick = slice->tick};
  EntityRegistry registry({.on_warning = [](const std::string&) {}});
  SliceSource source(*slice);
  if (const auto loaded = registry.load(source); !loaded)
    return refuse(WorldErrorCode::incompatible, from, loaded.error().text());
  report.entities = registry.host().storage().rows();
  report.hash = registry.hash();
  report.inputs = slice->last_sequence() - slice->sequence;
  report.steps = slice->steps.size();
  EditHistory history(registry, ~std::uint64_t{0});
  if (const auto read = history.load(slice->steps); !read) return refuse(WorldErrorCode::damaged, from, read.error());
  if (const auto read = read_groups(*slice, registry); !read)
    return refuse(WorldErrorCode::incompatible, from, read.error());

  const TemporaryFolder folder(target.parent_path(), ".muster-import-");
  if (folder.error() != 0) return refuse(code_of(folder.error()), to, std::strerror(folder.error()));
  const fs::path made = folder.path() / target.filename();
  if (const auto written = write_world(made.string(), *slice, registry.types()); !written)
    return refuse(written.error().code(), to, written.error().detail());
  if (::link(made.c_str(), target.c_str()) != 0)
    return refuse(code_of(errno), to, "it cannot be put in its place: " + std::string(std::strerror(errno)));
  std::expected<void, WorldError> done;
  // A world with several names is refused.
  if (::unlink(made.c_str()) != 0) done = refuse(code_of(errno), to, std::strerror(errno));
  if (done) done = sync_directory(target.parent_path().string(), to);
  if (done) return report;
  ::unlink(target.c_str());
  return std::unexpected(std::move(done.error()));
}

}  // namespace muster
