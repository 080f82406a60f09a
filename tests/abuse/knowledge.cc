#include "tests/abuse/knowledge.h"

#include <algorithm>
#include <stdexcept>

namespace muster::abuse {

void Knowledge::learn(const TypeTable& table, Random& random) {
  types = &table;
  for (const TypeDescriptor* type : table.types()) {
    if (type->name.starts_with("muster.") || type->remote == RemoteRight::none) continue;
    // What its own handlers do is the game's to bound: Deploy and Reinforce make armies, bodies and squads in one place meet
    // each other.
    const auto& left_out = {"skirmish.Deploy", "skirmish.Reinforce", "skirmish.Army", "skirmish.Squad"};
    if (type->name.starts_with("collision.") || std::ranges::find(left_out, type->name) != left_out.end()) continue;
    if (type->role == TypeRole::component) components.push_back(type);
    if (type->role == TypeRole::message) messages.push_back(type);
  }
  // Each kind of entities makes an archetype: with what is set and removed there are thousands, of which few are used at a time.
  for (std::size_t i = 0; i < std::min<std::size_t>(8, components.size()); ++i)
    changing.push_back(components[random.below(components.size())]);
  for (int i = 0; i < 200; ++i) {
    std::vector<const TypeDescriptor*> set;
    for (const TypeDescriptor* component : components)
      if (random.percent(i < 2 ? 100 : 20)) set.push_back(component);
    sets.push_back(std::move(set));
  }
  sets.emplace_back();
}

void Knowledge::learn_world(Client& client) {
  const auto children = client.ask<session::ListChildren>();
  if (!children) throw std::runtime_error(children.error().text);
  roots = children->entities;
  session::Find what;
  what.limit = 10'000;
  for (bool more = true; more;) {
    const auto found = client.ask(what);
    if (!found) throw std::runtime_error(found.error().text);
    entities.insert(entities.end(), found->entities.begin(), found->entities.end());
    more = found->more && !found->entities.empty();
    if (more) what.after = found->entities.back();
  }
  const auto defined = client.templates();
  if (!defined) throw std::runtime_error(defined.error().text);
  for (std::size_t i = 0; i < defined->names.size(); ++i) {
    templates.push_back({defined->names[i], defined->nodes[i]});
    texts.push_back(text_of(defined->names[i]));
  }
}

}  // namespace muster::abuse
