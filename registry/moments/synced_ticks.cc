// Does every tick twice, for RegistryOptions::on_sync_difference.
#include <set>

#include "registry/moments/synctest.h"
#include "registry/registry_impl.h"

namespace muster {
namespace {

class SyncedTicks final : public EachTick {
 public:
  SyncedTicks(EntityRegistry& registry, const RegistryOptions& options) : synctest_(registry), options_(options) {}

  void before_tick() override {
    if (const auto found = synctest_.end(); !found)
      tell(found.error());
    else if (*found)
      options_.on_sync_difference(**found);
    if (const auto begun = synctest_.begin(); !begun) tell(begun.error());
  }

 private:
  /// Says once that ticks were not done twice for this reason.
  void tell(const std::string& why) {
    if (told_.insert(why).second) options_.warn("ticks were not done twice: " + why);
  }

  Synctest synctest_;
  const RegistryOptions& options_;
  std::set<std::string> told_;
};

}  // namespace

void EntityRegistry::Impl::do_ticks_twice(EntityRegistry& registry) {
  each_tick = std::make_unique<SyncedTicks>(registry, options);
}

}  // namespace muster
