#include <algorithm>

#include "tests/model/steps/decider.h"

namespace naive {

using namespace trial;

namespace {

const char* const names[] = {"a", "b", "orc", "orc~2", "x/y", "back\\slash", "~", "a~9", "gr\xc3\xbc\xc3\x9f", "orc~"};

}  // namespace

Action Decider::decide(Do what) {
  Action a;
  a.what = what;
  switch (what) {
    case Do::push:
    case Do::post: a.message = to_somebody(message_type()); break;
    case Do::post_later:
      a.message = random_.percent(80) ? to_one(message_type()) : to_world();
      a.number = model_.now_ns + random_.below(60) - std::min<std::uint64_t>(model_.now_ns, 5);
      break;
    case Do::push_batch:
      a.batch = foreign();
      a.session = random_.percent(70) ? 7 : 0;
      a.request = random_.below(1000);
      break;
    case Do::post_batch: a.batch = foreign(); break;
    case Do::put:
      a.batch = foreign();
      a.lane = random_.below(lane_count);
      a.request = random_.below(1000);
      break;
    case Do::flush: break;
    case Do::advance: a.number = random_.one_of<std::uint64_t>({0, 1, 5, 20, 60}); break;
    case Do::cancel: a.number = timer(); break;
    case Do::create:
      a.text = random_.percent(50) ? names[random_.below(std::size(names))] : "";
      a.parent = random_.percent(60) ? somebody() : Entity{};
      a.rows = typed_rows();
      break;
    case Do::create_many:
      a.number = s_.crowd ? random_.one_of<std::uint64_t>({40, 300, 1100}) : 1 + random_.below(12);
      a.rows = typed_rows();
      break;
    case Do::destroy:
      a.target = somebody();
      if (random_.percent(s_.crowd ? 50 : 10)) {  // many at once, so that ids come round again
        a.what = Do::push;
        const std::size_t count = std::min<std::size_t>(living_.size(), s_.crowd ? 1200 : 3);
        a.message = span(std::span<const Entity>(living_).first(count), muster::Destroy{});
      }
      break;
    case Do::set:
      a.target = somebody();
      a.rows = typed_rows();
      break;
    case Do::remove:
      a.target = somebody();
      a.component = component_of(a.target);
      break;
    case Do::reparent:
      a.target = somebody();
      a.parent = random_.percent(80) ? somebody() : Entity{};
      a.before = random_.percent(30) ? child_of(a.parent) : Entity{};
      break;
    case Do::rename:
      a.target = somebody();
      a.text = random_.percent(85) ? names[random_.below(std::size(names))] : "";
      break;
    case Do::intern: a.text = "text " + std::to_string(random_.below(40)); break;
    case Do::grant:
      a.number = random_.below(12);
      a.session = 1 + random_.below(5);
      break;
    case Do::return_grant:
      a.target = s_.granted.empty() ? Entity{1, 1} : s_.granted[random_.below(s_.granted.size())];
      a.number = random_.below(6);
      break;
    case Do::subscribe: subscribe(a); break;
    case Do::unsubscribe:
      if (!s_.subscribed.empty()) a.number = s_.subscribed[random_.below(s_.subscribed.size())].slot;
      break;
    case Do::spawn: spawn(a); break;
    case Do::merge:
      a.target = somebody();
      a.text = template_name(random_.below(5));
      break;
    case Do::define: define(a); break;
    case Do::enable:
      a.text = handler_name();
      a.number = random_.percent(55);
      break;
    case Do::dismiss: a.number = random_.below(late_slots); break;
    case Do::sweep: a.number = random_.below(12); break;
    case Do::push_several:
      a.batches = several_batches();
      a.session = random_.percent(70) ? 7 : 0;
      a.request = random_.below(1000);
      break;
    case Do::post_several: a.batches = several_batches(); break;
    case Do::put_several:
      a.batches = several_batches();
      a.lane = random_.below(lane_count);
      a.request = random_.below(1000);
      break;
    case Do::flood: flood(a); break;
    case Do::hand_over:
    case Do::forget:
    case Do::reload: break;
  }
  return a;
}

Entity Decider::somebody() {
  const std::uint64_t roll = random_.below(100);
  if (roll < 90) return alive();
  const auto index = static_cast<std::uint32_t>(random_.below(model_.generations.size()));
  if (roll < 95) return {index, model_.generations[index] - random_.small(2)};
  if (roll < 96) return {static_cast<std::uint32_t>(model_.generations.size() + random_.below(3)), 1};
  if (roll < 97) return {0xfffffff0u, random_.small(3)};
  if (roll < 98) return {0, 1};
  if (roll < 99 && !s_.granted.empty()) return s_.granted[random_.below(s_.granted.size())];
  return {};
}

Entity Decider::child_of(Entity parent) {
  const Thing* thing = model_.find(parent);
  if (!thing || thing->children.empty() || random_.percent(15)) return somebody();
  return thing->children[random_.below(thing->children.size())];
}

std::string Decider::handler_name() {
  if (random_.percent(4)) return "";
  if (random_.percent(20)) return "late." + std::to_string(random_.below(late_slots));
  if (random_.percent(30) || s_.subscribed.empty()) {
    const auto kinds = drawn_kinds(s_.enableable);
    return kinds[random_.below(kinds.size())].name;
  }
  return s_.subscribed[random_.below(s_.subscribed.size())].name;
}

void Decider::subscribe(Action& a) {
  const auto kinds = drawn_kinds(s_.enableable);
  a.kind = random_.below(kinds.size());
  const HandlerKind& kind = kinds[a.kind];
  a.text = random_.percent(85) ? kind.name : random_.percent(50) ? "" : std::string(kind.name) + "'";
  a.options.priority = random_.percent(60) ? 0 : static_cast<int>(random_.below(5)) - 2;
  for (const HandlerKind& other : kinds) {
    if (other.message != kind.message) continue;
    if (random_.percent(12)) a.options.before.emplace_back(other.name);
    if (random_.percent(8)) a.options.after.emplace_back(other.name);
  }
}

Action decide(Do what, std::uint64_t seed, const Situation& situation) { return Decider(seed, situation).decide(what); }

}  // namespace naive
