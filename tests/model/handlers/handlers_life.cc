// Handlers of an entity's life, of templates, and one that a manager's data belongs to.
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

template <class Spawn, class Out>
Entity raise(const Raise& message, Entity e, Spawn& spawner, Out& out) {
  const std::string what = template_name(message.what);
  Entity made;
  switch (message.way % 5) {
    case 0: made = spawner.spawn(what, {.parent = e}); break;
    case 1: made = spawner.spawn(what, {.parent = e, .name = "orc", .count = 2}, Life{.value = 3, .most = 4}); break;
    case 2: made = spawner.spawn(what, {.name = "a", .clash = muster::NameClash::refuse}); break;
    case 3: made = spawner.spawn(what, {.parent = e, .before = e}, Tally{}, Armor{.factor = 1}); break;
    default:
      made = spawner.spawn(what, {.parent = e, .name = "b"}, muster::Has<Voice>{});
      out.post(made, Hit{.amount = 1, .from = e});
      out.set(e, Link{.to = made, .weight = 2});
      break;
  }
  if (message.way % 3 == 0) out.post(made, Poke{.value = message.what});
  return made;
}

const HandlerKind life_kinds[] = {
    {"activated.life", id_of<muster::Activated>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Activated&, Life& life, Entity e, muster::Outbox& out) {
             rec.add("activated.life", {}, e, static_cast<std::uint64_t>(life.value));
             ++life.value;
             if (life.value % 8 == 0) out.post(e, Poke{.value = 8});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Activated>, .terms = {self<Life>()}, .run = [&rec](Call& c) {
                        auto life = c.value<Life>(0);
                        rec.add("activated.life", {}, c.self, static_cast<std::uint64_t>(life.value));
                        ++life.value;
                        c.write(0, life);
                        if (life.value % 8 == 0) c.out.post(c.self, Poke{.value = 8});
                        return false;
                      }};
     }},
    {"activated.end", id_of<muster::Activated>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Activated&, With<Frozen>, Entity e) {
             rec.add("activated.end", {}, e);
             return Verdict::consume;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Activated>,
                      .terms = {with<Frozen>()},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        rec.add("activated.end", {}, c.self);
                        return true;
                      }};
     }},
    {"loaded.log", id_of<muster::Loaded>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Loaded& m, Parent<const Life*> above, Tally* tally, Entity e) {
             rec.add("loaded.log", bytes_of(m), e, above ? static_cast<std::uint64_t>(above->value) : 1);
             if (tally) count(*tally, m.previously);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Loaded>,
                      .terms = {up<Life>(Source::parent, Presence::optional), optional<Tally>()},
                      .run = [&rec](Call& c) {
                        Life life;
                        const Life* above = c.value_or_null<Life>(0, life);
                        rec.add("loaded.log", c.message, c.self, above ? static_cast<std::uint64_t>(above->value) : 1);
                        Tally tally;
                        if (c.value_or_null<Tally>(1, tally)) {
                          count(tally, as<muster::Loaded>(c.message).previously);
                          c.write(1, tally);
                        }
                        return false;
                      }};
     }},
    {"deactivated.log", id_of<muster::Deactivated>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Deactivated&, SelfOrParent<const Armor*> armor, Entity e, muster::Outbox& out) {
             rec.add("deactivated.log", {}, e, armor ? static_cast<std::uint64_t>(armor->factor) : 9);
             if (armor) out.post(Beat{.step = 3});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Deactivated>,
                      .terms = {up<Armor>(Source::self_or_parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        Armor room;
                        const Armor* armor = c.value_or_null<Armor>(0, room);
                        rec.add("deactivated.log", {}, c.self, armor ? static_cast<std::uint64_t>(armor->factor) : 9);
                        if (armor) c.out.post(Beat{.step = 3});
                        return false;
                      }};
     }},
    {"spawn.log", id_of<muster::Spawn>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](muster::Spawn& m, const Life* life, Entity e) {
             rec.add("spawn.log", bytes_of(m), e, life ? static_cast<std::uint64_t>(life->value) : 0);
             m.parent = e;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Spawn>,
                      .terms = {optional<Life>()},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        Life room;
                        const Life* life = c.value_or_null<Life>(0, room);
                        rec.add("spawn.log", c.message, c.self, life ? static_cast<std::uint64_t>(life->value) : 0);
                        auto m = as<muster::Spawn>(c.message);
                        m.parent = c.self;
                        c.message = bytes_of(m);
                        return false;
                      }};
     }},
    {"merge.log", id_of<muster::MergeTemplate>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::MergeTemplate& m, Without<Frozen>, Entity e, muster::Outbox& out) {
             rec.add("merge.log", bytes_of(m), e);
             out.post(e, Poke{.value = 6});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::MergeTemplate>, .terms = {without<Frozen>()}, .run = [&rec](Call& c) {
                        rec.add("merge.log", c.message, c.self);
                        c.out.post(c.self, Poke{.value = 6});
                        return false;
                      }};
     }},
    {"define.log", id_of<muster::DefineTemplate>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const muster::DefineTemplateView& m) { rec.add("define.log", Bytes(m.name()), {}); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::DefineTemplate>, .once = true, .run = [&rec](Call& c) {
                        rec.add("define.log", c.message, {});
                        return false;
                      }};
     }},
    {"raise", id_of<Raise>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Raise& message, Entity e, muster::Spawner& spawner, muster::Outbox& out) {
             const Entity made = raise(message, e, spawner, out);
             rec.add("raise", bytes_of(message), e, made.bits());
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Raise>, .run = [&rec](Call& c) {
                        const Entity made = raise(as<Raise>(c.message), c.self, c.spawner, c.out);
                        rec.add("raise", c.message, c.self, made.bits());
                        return false;
                      }};
     }},
    {"stock", id_of<Stock>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       o.external_writes = {"ledger"};
       return r.subscribe(
           std::move(name),
           [&rec](const Stock& message, Entity e) {
             if (message.amount % 2) rec.watcher->watched.push_back(e);
             alone("stock", bytes_of(message), e, rec.ledger->add(e, message.amount));
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Stock>, .run = [](Call& c) {
                        const auto amount = as<Stock>(c.message).amount;
                        if (amount % 2) c.model.watched.push_back(c.self);
                        auto& held = c.model.ledger[c.self];
                        held.emplace_back(c.model.next_instance++, amount);
                        alone("stock", c.message, c.self, held.size());
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> life_handlers() { return life_kinds; }

}  // namespace naive
