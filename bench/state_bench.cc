// A registry's whole state into memory and back: its own rows with the schema, each with a checksum. The limit copies as
// many bytes. All memory is warm: what the system takes to give out fresh pages is no work of the registry's.
#include <malloc.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // XXH3 with the widest registers the processor has
#endif

#include <cstring>

#include "bench/support.h"
#include "registry/state/state.h"

using namespace muster;
using namespace bench;

namespace {

constexpr std::uint32_t count = 1'000'000;

/// Keeps rows one behind the other, as a file would.
class Snapshot final : public StateSink, public StateSource {
 public:
  void clear() { used_ = 0, rows_.clear(); }
  /// After the last row.
  void close() { std::ranges::sort(rows_, {}, &Kept::key); }
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    const std::size_t room = (bytes.size() + 63) & ~std::size_t{63};
    if (bytes_.size() < used_ + room) bytes_.resize((used_ + room) * 2);
    std::memcpy(bytes_.data() + used_, bytes.data(), bytes.size());
    rows_.push_back({key, version, used_, bytes.size(), checksum(bytes)});
    used_ += room;
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    const auto first = std::ranges::lower_bound(rows_, section, {}, [](const Kept& row) { return row.key.section; });
    for (auto row = first; row != rows_.end() && row->key.section == section; ++row) {
      const std::span bytes(bytes_.data() + row->offset, row->length);
      if (checksum(bytes) != row->checksum) std::abort();
      take(row->key, bytes);
    }
  }
  std::size_t bytes() const noexcept { return used_; }

 private:
  struct Kept {
    StateKey key;
    std::uint64_t version;
    std::size_t offset, length;
    std::uint64_t checksum;
  };
  static std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
  }
  std::vector<std::byte> bytes_;
  std::vector<Kept> rows_;
  std::size_t used_ = 0;
};

/// Three components of 32 bytes together.
struct Saved {
  World world;
  Snapshot snapshot;
  Saved() {
    // What is given back stays with the program.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    world.registry.create_many(count, Position{1, 2, 3, 4}, Velocity{1, 2}, Mass{1, 2});
    save();
  }
  void save() {
    snapshot.clear();
    world.registry.save(snapshot);
    snapshot.close();
  }
};

void copy_limit(Measure& measure) {
  const std::size_t bytes = kept<Saved>().snapshot.bytes();
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  measure.run(count, [&] {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  });
}
void save(Measure& measure) {
  auto& saved = kept<Saved>();
  measure.run(count, [&] { saved.save(); });
}
void load(Measure& measure) {
  auto& saved = kept<Saved>();
  std::unique_ptr<EntityRegistry> loaded;
  measure.run(
      count,
      [&] {
        loaded.reset();
        loaded = std::make_unique<EntityRegistry>();
      },
      [&] {
        if (!loaded->load(saved.snapshot)) std::abort();
      });
  if (loaded && loaded->hash() != saved.world.registry.hash()) std::abort();
}
const Entry copy_limit_row("snapshot/limit", no_goal, copy_limit);
const Entry save_row("snapshot/save", ratio(1 / 0.3), save);
const Entry load_row("snapshot/load", ratio(1 / 0.3), load);

}  // namespace
