#include "tests/end_to_end/replayed_world.h"

#include <functional>
#include <stdexcept>
#include <utility>

#include "registry/host.h"
#include "server/world/file/world_file.h"
#include "server/world/journal/record_reader.h"
#include "tests/server/plugins/counter.h"

namespace muster::test {
namespace {

/// `load` takes the state or leaves it and gives the types that what is recorded is judged by; `take` is given each record.
WorldFile read_world(const std::string& path, const WorldFile::Read& load, const std::function<TypeTable&()>& types,
                     const std::function<void(const JournalRecord&)>& take) {
  auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
  if (!file) throw std::move(file.error());
  if (auto loaded = file->load(load); !loaded) throw std::move(loaded.error());
  const auto journal = file->journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    RecordReader reader(group.records, group.first);
    for (;;) {
      const auto read = reader.next(types());
      if (!read) return std::unexpected(read.error().text);
      if (!*read) return true;
      if ((*read)->kind == JournalRecord::Kind::schema)
        if (auto added = types().add_schema((*read)->schema); !added) return std::unexpected(added.error().text());
      take(**read);
    }
  });
  if (!journal) throw WorldError(journal.error());
  return std::move(*file);
}

}  // namespace

Recorded read_recorded(const std::string& path) {
  EntityRegistry registry;
  Recorded recorded;
  const WorldFile file = read_world(
      path,
      [&](StateSource& source) -> std::expected<void, StateError> {
        if (auto read = registry.load(source); !read) return std::unexpected(std::move(read.error()));
        return {};
      },
      [&]() -> TypeTable& { return registry.types(); },
      [&](const JournalRecord& record) {
        recorded.ticks += record.kind == JournalRecord::Kind::tick;
        if (record.kind != JournalRecord::Kind::input || record.envelope.session == 0) return;
        ++recorded.edits;
        if (BatchView(record.batch).type() == TypeTraits<counter::Ask>::id)
          recorded.asks.push_back(record.envelope.sequence);
      });
  recorded.saved = file.meta().sequence;
  recorded.durable = file.durable();
  return recorded;
}

void ReplayedWorld::go_on(const std::string& path, std::uint64_t last) {
  const std::uint64_t before = registry_ ? registry_->sequence() : 0;
  std::uint64_t saved = 0;
  {
    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
    if (!file) throw std::move(file.error());
    saved = file->meta().sequence;
  }
  const bool anew = !registry_ || before < saved;
  (anew ? loads : goings_on) += 1;
  (void)read_world(
      path,
      [&](StateSource& source) -> std::expected<void, StateError> {
        if (!anew) return {};
        handlers_ = {};
        history_.reset();
        registry_.emplace();
        history_.emplace(*registry_, std::uint64_t{256} << 20);
        handlers_ = plugins_.install(*registry_);
        if (auto read = registry_->load(source); !read) return std::unexpected(std::move(read.error()));
        return {};
      },
      [&]() -> TypeTable& { return registry_->types(); },
      [&](const JournalRecord& record) {
        const std::uint64_t sequence = record.envelope.sequence;
        if (record.kind == JournalRecord::Kind::cut) registry_->host().expect_cut(record.cut);
        for (const CascadeCut& cut : record.cuts) registry_->host().expect_cut(cut);
        if (record.kind != JournalRecord::Kind::input || sequence <= registry_->sequence() || sequence > last) return;
        registry_->host().replay(record.envelope, record.batch);
        ++inputs;
      });
}

std::uint64_t ReplayedWorld::granted() const {
  std::uint64_t granted = 0;
  for (std::uint32_t i = 1; i < registry_->host().storage().ids().indices(); ++i)
    granted += registry_->host().storage().in_state({i, 1}, IdState::granted) ? 1 : 0;
  return granted;
}

}  // namespace muster::test
