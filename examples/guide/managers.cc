#include <muster/registry.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "examples/guide/guide.h"
#include "examples/guide/guide_types.h"

namespace guide {

namespace {

// guide: a manager
/// Points per entity, in a map of its own.
class Scores final : public muster::Manager {
 public:
  explicit Scores(muster::EntityRegistry& registry) : registry_(registry) {
    registry.add_manager("guide.scores", *this);  // takes over what was saved under this name
    add_ = registry.subscribe("guide.score", *this, &Scores::add, {.external_writes = {"guide.scores"}});
  }
  ~Scores() override { registry_.remove_manager(*this); }

  int of(muster::Entity e) const {
    const auto at = points_.find(e);
    return at == points_.end() ? 0 : at->second;
  }

  void on_destroyed(std::span<const muster::Entity> gone) override {
    for (const muster::Entity e : gone) points_.erase(e);
  }
  /// The values that `muster show` and the editor's inspector show.
  void describe(muster::Entity e, const std::function<void(const muster::Held&)>& take) const override {
    const auto at = points_.find(e);
    if (at != points_.end()) take({.name = "score", .bytes = std::as_bytes(std::span(&at->second, 1))});
  }
  /// Messages that make it hold the same again, for an undo of a deletion.
  bool save_entity(muster::Entity e, muster::BatchWriter& to) const override {
    if (const auto at = points_.find(e); at != points_.end()) to.append(e, Score{.points = at->second});
    return true;
  }
  /// Everything that decides what it does later; the same history must give the same bytes.
  void save(std::vector<std::byte>& out) const override {
    for (const auto& [e, points] : points_) {
      const Row row{e, points, 0};
      const auto bytes = std::as_bytes(std::span(&row, 1));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }
  std::expected<void, std::string> load(std::uint32_t, std::span<const std::byte> bytes) override {
    if (bytes.size() % sizeof(Row) != 0) return std::unexpected("scores are truncated");
    points_.clear();
    for (; !bytes.empty(); bytes = bytes.subspan(sizeof(Row))) {
      Row row;
      std::memcpy(&row, bytes.data(), sizeof row);
      points_[row.entity] = row.points;
    }
    return {};
  }

  /// For moments in memory.
  std::shared_ptr<const muster::ManagerMoment> keep() override { return std::make_shared<const Kept>(points_); }
  void return_to(const muster::ManagerMoment& moment) override { points_ = static_cast<const Kept&>(moment).points; }

 private:
  using Points = std::map<muster::Entity, std::int32_t>;
  struct Kept final : muster::ManagerMoment {
    explicit Kept(Points all) : points(std::move(all)) {}
    Points points;
  };
  struct Row {
    muster::Entity entity;
    std::int32_t points, zero;
  };
  void add(const Score& score, muster::Entity self) { points_[self] += score.points; }

  muster::EntityRegistry& registry_;
  Points points_;
  muster::Subscription add_;
};
// guide: end

// guide: a manager in parts
/// How deep the snow lies, by cell. Each 1024 cells are a part of what is saved.
class Snow final : public muster::Manager {
 public:
  explicit Snow(muster::EntityRegistry& registry) : registry_(registry) { registry.add_manager("guide.snow", *this); }
  ~Snow() override { registry_.remove_manager(*this); }

  void set(std::uint32_t cell, float depth) {
    Field& field = fields_[cell / cells];
    field.depths[cell % cells] = depth;
    field.version = registry_.version();  // a greater one after each save
  }
  float at(std::uint32_t cell) const {
    const auto field = fields_.find(cell / cells);
    return field == fields_.end() ? 0 : field->second.depths[cell % cells];
  }

  bool in_parts() const override { return true; }
  void save_parts(muster::ManagerSink& to) const override {
    for (const auto& [number, field] : fields_)
      if (!to.has(number, field.version)) to.part(number, field.version, std::as_bytes(std::span(field.depths)));
  }
  std::expected<void, std::string> load_parts(std::uint32_t, std::span<const muster::ManagerPart> parts) override {
    std::map<std::uint32_t, Field> fields;
    for (const auto& [number, bytes] : parts) {
      if (bytes.size() != sizeof Field::depths)
        return std::unexpected("field " + std::to_string(number) + " is truncated");
      std::memcpy(fields[number].depths.data(), bytes.data(), bytes.size());
    }
    fields_ = std::move(fields);
    return {};
  }

 private:
  static constexpr std::uint32_t cells = 1024;
  struct Field {
    std::array<float, cells> depths = {};
    std::uint64_t version = 0;
  };
  muster::EntityRegistry& registry_;
  std::map<std::uint32_t, Field> fields_;
};
// guide: end

}  // namespace

void managers() {
  muster::EntityRegistry registry;
  // guide: using a manager
  Scores scores(registry);
  const muster::Entity orc = registry.create("orc");
  registry.push(orc, Score{.points = 5});
  registry.push(orc, Score{.points = 2});
  require(scores.of(orc) == 7);
  registry.destroy(orc);
  require(scores.of(orc) == 0);
  // guide: end
  Snow fallen(registry);
  fallen.set(5000, 0.25f);
  registry.remove_manager(fallen);
  const Snow snow(registry);
  require(snow.at(5000) == 0.25f);
  require(snow.at(0) == 0);
}

}  // namespace guide
