// Transforms whose world matrices are right at every moment: set_local moves the whole subtree
// before it returns. Its tree is its own (a model's bones, a vehicle's parts) and need not be the
// registry's.
//
//   one block | entities | local | world | parent | first_child | next_sibling | prev_sibling | moved |  capacity of each,
//             every array on a boundary of 16 bytes; growing makes a new block and copies array by array
#pragma once

#include <memory>
#include <vector>

#include <muster/registry.h>

#include "registry/storage/flat_map.h"

namespace managers {

/// Column-major; the translation is in m[12], m[13], m[14].
struct alignas(16) Matrix4 {
  float m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  static Matrix4 translation(float x, float y, float z) noexcept;
  friend Matrix4 operator*(const Matrix4& a, const Matrix4& b) noexcept;
  friend bool operator==(const Matrix4&, const Matrix4&) = default;
};

/// Adds itself to a registry under a name; one registry may have several, and an entity a transform
/// in each.
class Transforms final : public muster::Manager {
 public:
  /// A row; invalid after any destroy. ~0 is nil.
  using Instance = std::uint32_t;
  static constexpr Instance nil = ~Instance{0};

  Transforms(muster::EntityRegistry& registry, std::string name);
  ~Transforms() override;
  Transforms(const Transforms&) = delete;
  Transforms& operator=(const Transforms&) = delete;

  /// The entity's row, made if there was none.
  Instance create(muster::Entity e);
  Instance lookup(muster::Entity e) const noexcept;
  /// Finds the entity's row; takes one comparison if `guess` is still right.
  Instance lookup(muster::Entity e, Instance guess) const noexcept {
    return guess < size_ && rows_.entities[guess] == e ? guess : lookup(e);
  }
  /// Fills the hole with the last row. Its children become roots and keep their places in the
  /// world.
  void destroy(Instance i);
  std::uint32_t size() const noexcept { return size_; }

  muster::Entity entity(Instance i) const noexcept { return rows_.entities[i]; }
  const Matrix4& local(Instance i) const noexcept { return rows_.local[i]; }
  const Matrix4& world(Instance i) const noexcept { return rows_.world[i]; }
  Instance parent(Instance i) const noexcept { return rows_.parent[i]; }
  Instance first_child(Instance i) const noexcept { return rows_.first_child[i]; }
  Instance next_sibling(Instance i) const noexcept { return rows_.next_sibling[i]; }
  Instance prev_sibling(Instance i) const noexcept { return rows_.prev_sibling[i]; }

  /// World matrices of `i` and everything below it follow at once. There is no set_world.
  void set_local(Instance i, const Matrix4& local);
  /// As the first child of `parent` (nil: a root), its local matrix unchanged. False, and nothing
  /// done, for a circle.
  bool link(Instance i, Instance parent);
  /// Entities whose world matrix was computed since the last call, in the order of their first
  /// move.
  std::vector<muster::Entity> take_moved();

  void on_destroyed(std::span<const muster::Entity> gone) override;
  void describe(muster::Entity e, const std::function<void(const muster::Held&)>& take) const override;
  void save(std::vector<std::byte>& out) const override;
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override;

 private:
  struct Rows {
    muster::Entity* entities = nullptr;
    Matrix4* local = nullptr;
    Matrix4* world = nullptr;
    Instance* parent = nullptr;
    Instance* first_child = nullptr;
    Instance* next_sibling = nullptr;
    Instance* prev_sibling = nullptr;
    std::uint8_t* moved = nullptr;
    /// Calls f(pointer member by reference) for each array, in the order of the block.
    template <class F>
    void each(F&& f) {
      f(entities), f(local), f(world), f(parent), f(first_child), f(next_sibling), f(prev_sibling), f(moved);
    }
  };
  struct Free {
    void operator()(std::byte* block) const noexcept { ::operator delete(block, std::align_val_t{64}); }
  };
  void grow(std::uint32_t capacity);
  void unlink(Instance i);
  void update(Instance top);

  muster::EntityRegistry& registry_;
  muster::FlatMap<muster::Entity, Instance> map_;
  std::unique_ptr<std::byte, Free> block_;
  Rows rows_;
  std::uint32_t size_ = 0, capacity_ = 0;
  std::vector<muster::Entity> moved_;
};

}  // namespace managers
