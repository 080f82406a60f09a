#include "server/world/replay/recorded_state.h"

#include <functional>
#include <span>
#include <vector>

#include "server/world/replay/tick_hashes.h"

namespace muster {
namespace {

/// Keeps the rows of a save in memory.
class KeptState final : public StateSink, public StateSource {
 public:
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    rows_.insert_or_assign(key, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (auto at = rows_.lower_bound({.section = section}); at != rows_.end() && at->first.section == section; ++at)
      take(at->first, at->second);
  }

 private:
  std::map<StateKey, std::vector<std::byte>> rows_;
};

}  // namespace

std::expected<RecordedState, StateError> recorded_state(StateSource& source, std::uint64_t sequence,
                                                        std::uint64_t tick) {
  EntityRegistry registry({.on_warning = [](const std::string&) {}});
  if (const auto loaded = registry.load(source); !loaded) return std::unexpected(loaded.error());
  return RecordedState{
      .sequence = sequence, .tick = tick, .hash = registry.hash(), .columns = hash_changed_columns(registry, 0)};
}

std::expected<RecordedState, StateError> recorded_state(const EntityRegistry& registry, std::uint64_t tick) {
  KeptState kept;
  registry.save(kept);
  return recorded_state(kept, registry.sequence(), tick);
}

}  // namespace muster
