#include <muster/host.h>
#include <muster/registry.h>

#include <fstream>
#include <iterator>
#include <string>

#include "examples/guide/guide.h"
#include "examples/guide/guide_types.h"
#include "registry/templates/template_tree.h"

namespace guide {

void templates() {
  using muster::Entity;
  using muster::TemplateTree;
  muster::EntityRegistry registry;
  std::uint32_t loudest = 0;
  std::string said;
  muster::Handlers ears;
  ears.add(registry.subscribe("guide.hear", [&](const Greet& greet) { loudest = std::max(loudest, greet.loudness); }));
  ears.add(registry.subscribe("guide.listen", [&](const SpeechView& speech, Entity) { said += speech.text(); }));
  registry.add_type<Health>();
  const Entity camp = registry.create("camp");

  // guide: in code
  TemplateTree squad("squad");
  squad.set("", Health{.value = 50}).set("", Soldier{.rank = Rank::sergeant});
  squad.set("left", Soldier{}).refer("left", &Soldier::leader, "");  // the id of the new root
  squad.message("left", Greet{.loudness = 5});
  registry.define_template(squad);

  const Entity alpha = registry.spawn("squad", {.parent = camp, .name = "alpha"});
  registry.spawn("squad", {.name = "beta", .count = 10}, Health{.value = 7}).or_stop();  // the roots get this Health
  // guide: end
  require(registry.get<Soldier>(registry.find_path("/camp/alpha/left")).leader == alpha);
  require(registry.get<Health>(registry.find_path("/beta~10")).value == 7);

  // guide: other sources
  TemplateTree copy = TemplateTree::of(registry, alpha, "copy");  // a living tree; references inside stay inside
  TemplateTree again = TemplateTree::read(*registry.host().template_definition("squad"));  // one that the world knows
  again.merge(again.root(), copy);  // a base, plus and minus components
  again.remove<Health>("left");
  // guide: end

  // guide: from a file
  std::ifstream file(GUIDE_FOLDER "/squad.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto names = muster::define_templates(registry, text, "squad.json");
  require(names.has_value());  // otherwise names.error().text() has file, line and node
  const Entity patrol = registry.spawn("guide.patrol", {.name = "patrol"});
  // guide: end
  require(said == "charge!");
  require(registry.get<Health>(patrol).value == 80 && !registry.has<Armor>(patrol));
  require(registry.get<Position>(patrol).y == 2);
  require(registry.find_path("/patrol/scout/bag") && !registry.find_path("/patrol/bag"));
  require(!registry.has<Position>(registry.find_path("/patrol/scout/bag")));

  // guide: merging
  registry.apply_template(alpha, "guide.patrol");
  require(registry.find_path("/camp/alpha/scout/bag") && registry.find_path("/camp/alpha/left"));
  // guide: end
  require(loudest == 5);
}

}  // namespace guide
