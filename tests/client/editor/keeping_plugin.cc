// A plugin whose manager holds something for each entity named "chest", and cannot save it.
#include <muster/plugin.h>

#include <array>
#include <cstddef>
#include <functional>

namespace {

class Treasures final : public muster::Manager {
 public:
  explicit Treasures(muster::EntityRegistry& registry) : registry_(registry) {
    registry_.add_manager("treasures", *this);
  }
  ~Treasures() override { registry_.remove_manager(*this); }
  Treasures(const Treasures&) = delete;
  Treasures& operator=(const Treasures&) = delete;

  void describe(muster::Entity e, const std::function<void(const muster::Held&)>& take) const override {
    static constexpr std::array<std::byte, 4> gold{};
    if (registry_.name(e) == "chest") take({.name = "gold", .bytes = gold});
  }

 private:
  muster::EntityRegistry& registry_;
};

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<Treasures>("treasures", "1");
  return &plugin;
}
