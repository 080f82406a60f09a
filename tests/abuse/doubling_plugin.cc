// A plugin whose handler posts every message twice.
#include <muster/plugin.h>

#include "tests/abuse/doubling.h"

namespace {

using namespace doubling;

void twice(const Ping& ping, Tally& tally, muster::Entity self, muster::Outbox& out) {
  tally.pings = tally.pings * 31 + ping.hops;
  out.post(self, Ping{.hops = ping.hops * 2});
  out.post(self, Ping{.hops = ping.hops * 2 + 1});
}

class Doubling {
 public:
  explicit Doubling(muster::EntityRegistry& registry) { handlers_.add(registry.subscribe<twice>("doubling.twice")); }

 private:
  muster::Handlers handlers_;
};

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<Doubling>("doubling", "build 1");
  return &plugin;
}
