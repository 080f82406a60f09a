#include "server/file/verify.h"

#include <utility>

#include "registry/entity_registry.h"
#include "server/file/read_world.h"
#include "server/world/journal/record_reader.h"

namespace muster {
namespace {

/// Reads a group's records as recovery does, and counts them. The error says what is wrong.
std::expected<bool, std::string> judge(const JournalGroup& group, EntityRegistry& registry, VerifyReport& report) {
  const std::string place = "journal group " + std::to_string(group.id);
  RecordReader reader(group.records, group.first);
  for (;;) {
    auto read = reader.next(registry.types());
    if (!read) return std::unexpected(place + ", " + read.error().text);
    if (!*read) break;
    switch ((*read)->kind) {
      case JournalRecord::Kind::input: ++report.inputs; break;
      case JournalRecord::Kind::tick: ++report.ticks; break;
      case JournalRecord::Kind::schema:
        if (auto added = registry.types().add_schema((*read)->schema); !added)
          return std::unexpected(place + ": the schema does not fit: " + added.error().text());
        break;
    }
  }
  if (reader.next_sequence() == group.last + 1) return true;
  return std::unexpected(place + ": ends with input " + std::to_string(reader.next_sequence() - 1) + ", not " +
                         std::to_string(group.last));
}

}  // namespace

std::expected<VerifyReport, WorldError> verify(const std::string& path) {
  auto world = ReadWorld::open(path);
  if (!world) return std::unexpected(world.error());
  WorldFile& file = world->file();
  VerifyReport report{.meta = file.meta(), .running = world->is_running(), .older = file.is_older()};
  EntityRegistry registry;
  const auto loaded = file.load([&](StateSource& source) -> std::expected<void, StateError> {
    auto read = registry.load(source);
    if (!read) return std::unexpected(std::move(read.error()));
    for (const MendedState& mended : read->listed) report.remarks.push_back(mended.text());
    if (read->mended > read->listed.size())
      report.remarks.push_back(std::to_string(read->mended - read->listed.size()) +
                               " more values are put right by opening");
    return {};
  });
  if (!loaded) return std::unexpected(world->error(loaded.error()));
  report.entities = registry.storage().rows();
  report.hash = registry.hash();
  const auto journal = file.journal([&](const JournalGroup& group) { return judge(group, registry, report); });
  if (!journal) return std::unexpected(world->error(journal.error()));
  if (!journal->cut.empty()) report.remarks.push_back(journal->cut);
  report.groups = journal->groups;
  report.durable = file.durable();
  return report;
}

}  // namespace muster
