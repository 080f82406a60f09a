// Gives a save to each question that asks for one. Questions that arrive while a save is being
// written share the next save, so that none of them waits for the saves of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "server/session/world_side.h"
#include "server/world/flush_visitor.h"

namespace muster {

/// Must be used only on the world thread, between inputs. Must be a visitor of the world, before
/// the desk, which answers the questions.
class SharedSaves final : public FlushVisitor {
 public:
  using Then = std::function<void(WorldSide::Saved)>;
  struct World {
    /// Begins a save, as World::begin_save does. Returns false if one is being written.
    std::function<bool(Then)> begin;
    std::function<std::uint64_t()> sequence;  ///< returns the number of the last input
    std::function<std::uint64_t()> saved;     ///< returns the number of the last saved input
  };
  explicit SharedSaves(World world) : world_(std::move(world)) {}

  /// Begins a save of the current state, or waits for the save that is being written and begins
  /// another one then. `then` is called once, when the saved state is current or the save has
  /// failed. The call may be made before ask() returns. If the world ends first, `then` is not
  /// called.
  void ask(Then then);
  void before_flush() override {}
  /// Reports a save whose state is current, even if the world is still removing the rows that the
  /// save has replaced. Begins the next save if one is wanted.
  void after_flush(EntityRegistry&) override { look(); }
  void look();  ///< the same

 private:
  /// Questions that wait for the same save.
  struct Group {
    std::vector<Then> askers;
    std::uint64_t sequence = 0, saved_before = 0;
    void tell(const WorldSide::Saved& saved);
  };
  void begin();

  const World world_;
  std::vector<Then> waiting_;       // for the next save
  std::shared_ptr<Group> running_;  // wait for the current save; also held by the world
};

}  // namespace muster
