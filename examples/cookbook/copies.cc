#include <muster/host.h>
#include <muster/messages.h>
#include <muster/registry.h>

#include <utility>
#include <vector>

#include "examples/cookbook/cookbook.h"
#include "examples/cookbook/cookbook_types.h"

namespace cook {
namespace {

using muster::Entity;

void variants() {
  muster::EntityRegistry registry;
  // guide: variants
  muster::TemplateTree orc("orc");
  orc.set("", Health{.value = 30}).set("weapon", Position{.x = 0.5f});
  muster::TemplateTree chief("orc.chief");
  chief.merge(chief.root(), orc);      // everything of an orc,
  chief.set("", Health{.value = 90});  // but for this
  registry.define_template(orc);
  registry.define_template(chief);
  const Entity boss = registry.spawn("orc.chief", {.name = "boss"});
  require(registry.get<Health>(boss).value == 90 && registry.find_path("/boss/weapon"));
  // guide: end
}

void clone() {
  muster::EntityRegistry registry;
  const Entity orc = registry.create("orc", Health{.value = 7});
  registry.create_under(orc, "sword", Aim{.at = orc}).or_stop();
  // guide: clone
  registry.define_template(muster::TemplateTree::of(registry, orc, "clipboard"));
  const Entity copy = registry.spawn("clipboard", {.name = "orc-2"});
  const Entity sword = registry.find_path("/orc-2/sword");
  require(registry.get<Health>(copy).value == 7);
  require(registry.get<Aim>(sword).at == copy);  // references inside the tree come along
  // guide: end
}

void player_alone() {
  muster::EntityRegistry registry;
  const Entity player = registry.create("player", Health{.value = 3});
  registry.create_under(player, "bag", Position{.x = 2}).or_stop();
  // guide: the player alone
  registry.define_template(muster::TemplateTree::of(registry, player, "save.player"));
  const auto batch = registry.host().template_batch("save.player");
  const std::vector<std::byte> saved(batch.begin(), batch.end());  // to a file, a socket, another process

  muster::EntityRegistry elsewhere;
  elsewhere.add_type<Health>();
  elsewhere.add_type<Position>();
  const auto judged = muster::verify_batch(saved, elsewhere.types());  // foreign bytes are judged first
  require(judged.has_value());
  elsewhere.host().push_batch(saved);
  const Entity again = elsewhere.spawn("save.player", {.name = "player"});
  require(elsewhere.get<Health>(again).value == 3 && elsewhere.find_path("/player/bag"));
  // guide: end
}

void hurt(const Damage& hit, Health& health) { health.value -= hit.amount; }

// guide: lockstep
/// Keeps every input of this step, to be sent to the other players.
class Step final : public muster::InputSink {
 public:
  struct Input {
    muster::Envelope envelope;
    std::vector<std::byte> batch;
  };
  void on_input(const muster::Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  std::vector<Input> inputs;
};
// guide: end

void lockstep() {
  // guide: using lockstep
  muster::EntityRegistry here, there;
  const auto here_hurts = here.subscribe<hurt>("cook.hurt");
  const auto there_hurts = there.subscribe<hurt>("cook.hurt");
  there.add_type<Health>();
  Step step;
  here.host().add_sink(step);
  const Entity orc = here.create("orc", Health{});
  here.push(orc, Damage{.amount = 12});
  here.advance(16'666'666);
  for (const Step::Input& input : step.inputs) there.host().replay(input.envelope, input.batch);
  require(here.hash() == there.hash());  // ids, names, clock, values: everything
  here.host().remove_sink(step);
  // guide: end
}

void several_worlds() {
  // guide: several worlds
  muster::EntityRegistry overworld, cellar;
  const muster::Handlers handlers{overworld.subscribe<hurt>("cook.hurt"), cellar.subscribe<hurt>("cook.hurt")};
  const Entity orc = overworld.create("orc", Health{}), rat = cellar.create("rat", Health{});
  require(orc == rat);  // ids are a registry's own: keep the registry beside them
  overworld.push(orc, Damage{.amount = 1});
  require(cellar.get<Health>(rat).value == 100);
  // guide: end
}

}  // namespace

void copies() {
  variants();
  clone();
  player_alone();
  lockstep();
  several_worlds();
}

}  // namespace cook
