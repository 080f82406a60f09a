#include <catch2/catch.hpp>

#include <thread>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/templates/barracks.h"

namespace template_threads_test {

using namespace muster;
using namespace barracks;

TEST_CASE("bubel 8: one template is spawned by many threads at once, under ids granted to them") {
  constexpr std::uint32_t threads = 4, rounds = 100;
  EntityRegistry registry;
  TemplateTree tree("squad");
  tree.set("", Health{}).set("left", Soldier{}).refer("left", &Soldier::leader, "");
  registry.define_template(tree);
  const Entity top = registry.create("top");
  const std::shared_ptr<const Template> squad = registry.host().find_template("squad");
  std::vector<std::thread> running;
  for (std::uint32_t t = 0; t < threads; ++t) {
    const Entity first = registry.host().grant(rounds * squad->size(), t + 1);
    auto lane = registry.host().inbox().open_lane(t + 1);
    running.emplace_back([=] {
      BatchBuilder builder;
      std::vector<Entity> ids(squad->size());
      std::uint32_t next = first.index;
      for (std::uint32_t round = 0; round < rounds; ++round) {
        for (Entity& e : ids) e = {next++, 1};
        builder.clear();
        append_spawn(builder, *squad, ids, {.parent = top}, Health{.value = static_cast<float>(t)});
        while (!lane->put(builder.bytes())) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const Receipt receipt = registry.flush();
  CHECK(receipt.handled == threads * rounds * squad->size());
  CHECK(receipt.refused == 0);
  CHECK(registry.child_count(top) == threads * rounds);
  std::uint32_t right = 0;
  registry.each<Soldier>([&](Entity e, const Soldier& soldier) { right += soldier.leader == registry.parent(e); });
  CHECK(right == threads * rounds);
}

}  // namespace template_threads_test
