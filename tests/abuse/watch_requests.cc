// Watches: what is asked, changed and ended.
#include "tests/abuse/requests.h"

namespace muster::abuse {

std::vector<Entity> Requests::some(const Belongings& has, std::uint32_t count) {
  std::vector<Entity> made;
  for (std::uint32_t i = 0; i < count; ++i)
    if (const Entity e = has.any(random_, known_)) made.push_back(e);
  return made;
}

std::vector<std::uint32_t> Requests::some(const std::vector<const TypeDescriptor*>& of, std::uint32_t count) {
  std::vector<std::uint32_t> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(random_.one_of(of)->id);
  return made;
}

std::uint64_t Requests::some_watch(const Belongings& has) {
  if (has.watches.empty() || random_.percent(3)) return random_.below(1000);
  return has.watches[random_.below(has.watches.size())];
}

void Requests::unwatch(BatchBuilder& out, Belongings& has) {
  std::uint64_t watch = random_.below(1000);
  if (!has.watches.empty()) {
    const auto at = has.watches.begin() + static_cast<std::ptrdiff_t>(random_.below(has.watches.size()));
    watch = *at;
    has.watches.erase(at);
  }
  session::append(out, session::Unwatch{.watch = watch});
}

void Requests::follow(BatchBuilder& out, Belongings& has) {
  session::Follow ask;
  if (random_.percent(50)) {
    ask.watch = some_watch(has);
  } else {
    has.watches.push_back(request_);
  }
  ask.world = random_.percent(25);
  if (!ask.world) ask.entities = some(has, random_.size(random_.percent(10) ? 10'000 : 20));
  ask.subtree = random_.percent(50);
  if (random_.percent(30)) ask.with = some(known_.components, random_.size(4));
  if (random_.percent(20)) ask.without = some(known_.components, random_.size(4));
  ask.structure = random_.percent(50);
  ask.values = random_.percent(80);
  if (random_.percent(50)) ask.components = some(known_.components, random_.size(20));
  if (random_.percent(50)) ask.open = some(has, random_.size(random_.percent(10) ? 10'000 : 20));
  if (random_.percent(50)) ask.open.push_back({});
  ask.inputs = random_.percent(50);
  if (random_.percent(30)) ask.input_types = some(known_.messages, random_.size(20));
  if (random_.percent(30)) ask.inputs_except = some(known_.messages, random_.size(20));
  if (random_.percent(50)) ask.pushed = some(known_.messages, random_.size(20));
  ask.rate_max = random_.percent(50) ? 0.0f : static_cast<float>(random_.size(60));
  session::append(out, ask);
}

void Requests::follow_more(BatchBuilder& out, Belongings& has) {
  const auto size = [&] { return random_.size(random_.percent(5) ? 10'000 : 20); };
  session::FollowMore ask{.watch = some_watch(has)};
  if (random_.percent(60)) ask.add = some(has, size());
  if (random_.percent(40)) ask.drop = some(has, size());
  if (random_.percent(40)) ask.open = some(has, size());
  if (random_.percent(40)) ask.close = some(has, size());
  session::append(out, ask);
}

}  // namespace muster::abuse
