// Several meshes per entity. Rows of one entity are a chain; each mesh has an id of its own that
// outlives row moves.
#pragma once

#include <vector>

#include <muster/registry.h>

#include "registry/storage/flat_map.h"

namespace managers {

struct AddMesh;
struct RemoveMesh;

/// A row; invalid after any removal. ~0 is nil.
using Instance = std::uint32_t;
constexpr Instance no_instance = ~Instance{0};

/// Adds itself to the registry as "meshes". Meshes of dead entities stay until collect() comes by.
class Meshes final : public muster::Manager {
 public:
  explicit Meshes(muster::EntityRegistry& registry);
  ~Meshes() override;
  Meshes(const Meshes&) = delete;
  Meshes& operator=(const Meshes&) = delete;

  /// The entity's first mesh, the oldest one; nil if it has none.
  Instance first(muster::Entity e) const noexcept;
  Instance next_instance(Instance i) const noexcept { return rows_[i].next; }
  muster::Entity entity(Instance i) const noexcept { return rows_[i].entity; }
  muster::Text mesh(Instance i) const noexcept { return rows_[i].mesh; }
  std::uint64_t id(Instance i) const noexcept { return rows_[i].id; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }

  /// Fills the hole with the last row.
  void remove(Instance i);
  /// Looks at this many rows for dead entities; how many meshes went.
  std::uint32_t collect(std::uint32_t rows);

  void describe(muster::Entity e, const std::function<void(const muster::Held&)>& take) const override;
  std::uint32_t state_version() const override { return 2; }
  bool in_parts() const override { return true; }
  void save_parts(muster::ManagerSink& to) const override;
  std::expected<void, std::string> load_parts(std::uint32_t version,
                                              std::span<const muster::ManagerPart> parts) override;
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override;

 private:
  struct Row {
    muster::Entity entity;
    muster::Text mesh;
    std::uint64_t id = 0;
    Instance next = no_instance;
    std::uint32_t zero = 0;
  };
  void add(const AddMesh& message, muster::Entity self);
  void remove_by_id(const RemoveMesh& message, muster::Entity self);
  // A part of what is saved has so many rows; part 0 has what is not of rows: | next id 8 | cursor
  // 8 | rows 8 |
  static constexpr std::uint32_t part_rows = 1024;
  /// The row is another one from now on, or comes, or goes.
  void changed(Instance i);
  /// Judges and takes all of it, or leaves everything as it is.
  std::expected<void, std::string> take_over(std::uint64_t next_id, std::uint64_t cursor, std::vector<Row> rows);
  /// Whatever leads to row `from` leads to `to`.
  void redirect(muster::Entity e, Instance from, Instance to);

  muster::EntityRegistry& registry_;
  muster::FlatMap<muster::Entity, Instance> first_;
  std::vector<Row> rows_;
  std::uint64_t next_id_ = 1;
  std::uint32_t cursor_ = 0;
  // by part of rows: the registry's when one of them changed last
  std::vector<std::uint64_t> versions_;
  std::uint64_t version_ = 0;  // likewise of part 0
  muster::Handlers handlers_;
};

}  // namespace managers
