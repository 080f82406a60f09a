#include "server/file_program/verify.h"

#include <filesystem>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/file_program/read_world.h"
#include "server/world/file/file_beside.h"

namespace muster {

std::expected<VerifyReport, WorldError> verify(const std::string& path) {
  auto world = ReadWorld::open(path);
  if (!world) return std::unexpected(world.error());
  WorldFile& file = world->file();
  VerifyReport report{
      .meta = file.meta(), .running = world->is_running(), .format = file.format(), .older = file.is_older()};
  EntityRegistry registry;
  const auto loaded = world->load(registry);
  if (!loaded) return std::unexpected(loaded.error());
  for (const MendedState& mended : loaded->listed) report.remarks.push_back(mended.text());
  if (loaded->mended > loaded->listed.size())
    report.remarks.push_back(std::to_string(loaded->mended - loaded->listed.size()) +
                             " more values are put right by opening");
  EditHistory history(registry, ~std::uint64_t{0});
  const auto steps = world->steps();
  if (!steps) return std::unexpected(steps.error());
  if (const auto read = history.load(*steps); !read)
    report.remarks.push_back("the history cannot be read, and will be empty: " + read.error());
  report.entities = registry.host().storage().rows();
  report.hash = registry.hash();
  const auto journal = world->journal(
      registry, [](const JournalGroup&) { return true; },
      [&](const JournalGroup&, const JournalRecord& record) {
        report.inputs += record.kind == JournalRecord::Kind::input;
        report.ticks += record.kind == JournalRecord::Kind::tick;
      });
  if (!journal) return std::unexpected(journal.error());
  report.groups = journal->groups;
  report.durable = file.durable();
  if (const auto past = file.check_past(); !past)
    report.remarks.push_back("what is kept of past states cannot be restored: " + past.error().detail());
  std::error_code failure;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
  for (std::string& sentence : newer_rescued(real.string(), report.meta.world, report.durable))
    report.remarks.push_back(std::move(sentence));
  return report;
}

}  // namespace muster
