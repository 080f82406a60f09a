// Messages to one entity: handlers that change and end them, write, read from ancestors, run over whole batches.
#include "registry/handlers/dynamic_handler.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

template <class Out>
void live(const Hit& hit, Life& life, Entity e, Out& out) {
  life.value -= hit.amount;
  if (life.value <= 0)
    out.destroy(e);
  else if (hit.from)
    out.post(hit.from, Poke{.value = static_cast<std::uint32_t>(hit.amount)});
}

struct Subsystem {
  Recorder& recorder;
  void on_nudge(const Nudge& message, Place& place, Entity e) {
    recorder.add("nudge.member", bytes_of(message), e, place.slots[0]);
    ++place.slots[static_cast<std::size_t>(message.x & 3)];
  }
};
/// Keeps the object that a member function is called on beside the handler.
Subscription subscribe_member(EntityRegistry& registry, Recorder& recorder, std::string name, HandlerOptions options) {
  const auto system = std::make_shared<Subsystem>(Subsystem{recorder});
  options.filter = [system](const muster::Archetype&) { return true; };  // lives as long as the handler
  return registry.subscribe(std::move(name), *system, &Subsystem::on_nudge, std::move(options));
}

const HandlerKind hit_kinds[] = {
    // --- Hit: handlers that change and end the message, write, push, read from ancestors
    {"hit.armor", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](Hit& hit, const Armor& armor, Entity e) {
             rec.add("hit.armor", bytes_of(hit), e, static_cast<std::uint64_t>(armor.factor));
             hit.amount = hit.amount * armor.factor % 1000;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>, .terms = {self<Armor>()}, .changes_message = true, .run = [&rec](Call& c) {
                        const auto armor = c.value<Armor>(0);
                        rec.add("hit.armor", c.message, c.self, static_cast<std::uint64_t>(armor.factor));
                        auto hit = as<Hit>(c.message);
                        hit.amount = hit.amount * armor.factor % 1000;
                        c.message = bytes_of(hit);
                        return false;
                      }};
     }},
    {"hit.cover", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](Hit& hit, SelfOrParent<const Armor> armor, Without<Marked>, Entity e) {
             rec.add("hit.cover", bytes_of(hit), e, static_cast<std::uint64_t>(armor->factor));
             hit.amount += armor->factor;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>,
                      .terms = {up<Armor>(Source::self_or_parent), without<Marked>()},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        const auto armor = c.value<Armor>(0);
                        rec.add("hit.cover", c.message, c.self, static_cast<std::uint64_t>(armor.factor));
                        auto hit = as<Hit>(c.message);
                        hit.amount += armor.factor;
                        c.message = bytes_of(hit);
                        return false;
                      }};
     }},
    {"hit.shield", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Hit& hit, const Flags& flags, Entity e) {
             rec.add("hit.shield", bytes_of(hit), e, flags.on);
             return flags.on ? Verdict::consume : Verdict::proceed;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>, .terms = {self<Flags>()}, .changes_message = true, .run = [&rec](Call& c) {
                        const auto flags = c.value<Flags>(0);
                        rec.add("hit.shield", c.message, c.self, flags.on);
                        return flags.on;
                      }};
     }},
    {"hit.live", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Hit& hit, Life& life, Entity e, muster::Outbox& out) {
             rec.add("hit.live", bytes_of(hit), e, static_cast<std::uint64_t>(life.value));
             live(hit, life, e, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>, .terms = {self<Life>()}, .run = [&rec](Call& c) {
                        auto life = c.value<Life>(0);
                        rec.add("hit.live", c.message, c.self, static_cast<std::uint64_t>(life.value));
                        live(as<Hit>(c.message), life, c.self, c.out);
                        c.write(0, life);
                        return false;
                      }};
     }},
    {"hit.tally", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Hit& hit, Tally* tally, With<Frozen>, Entity e) {
             rec.add("hit.tally", bytes_of(hit), e, tally ? tally->calls : 999);
             if (tally) count(*tally, static_cast<std::uint32_t>(hit.amount));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>, .terms = {optional<Tally>(), with<Frozen>()}, .run = [&rec](Call& c) {
                        Tally room;
                        const Tally* tally = c.value_or_null<Tally>(0, room);
                        rec.add("hit.tally", c.message, c.self, tally ? tally->calls : 999);
                        if (tally) {
                          count(room, static_cast<std::uint32_t>(as<Hit>(c.message).amount));
                          c.write(0, room);
                        }
                        return false;
                      }};
     }},
    {"hit.dynamic", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = id_of<Hit>,
            .terms = {term(optional<Tally>(), muster::Access::write), term(up<Armor>(Source::parent)),
                      term(without<Marked>())}},
           [&rec](const muster::DynamicCall& call) {
             const auto armor = read<Armor>(call.values[1]);
             rec.add("hit.dynamic", to_bytes(call.message), call.self, static_cast<std::uint64_t>(armor.factor));
             if (!call.values[0]) return;
             auto tally = read<Tally>(call.values[0]);
             count(tally, static_cast<std::uint32_t>(armor.factor));
             std::memcpy(call.values[0], &tally, sizeof tally);
             call.outbox.post(call.self, Poke{.value = tally.calls});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>,
                      .terms = {optional<Tally>(), up<Armor>(Source::parent), without<Marked>()},
                      .run = [&rec](Call& c) {
                        const auto armor = c.value<Armor>(1);
                        rec.add("hit.dynamic", c.message, c.self, static_cast<std::uint64_t>(armor.factor));
                        Tally tally;
                        if (!c.value_or_null<Tally>(0, tally)) return false;
                        count(tally, static_cast<std::uint32_t>(armor.factor));
                        c.write(0, tally);
                        c.out.post(c.self, Poke{.value = tally.calls});
                        return false;
                      }};
     }},
    {"hit.once", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       o.filter = [](const muster::Archetype& archetype) { return archetype.types.size() % 2 == 0; };
       return r.subscribe(
           std::move(name), [&rec](const Hit& hit) { rec.add("hit.once", bytes_of(hit), {}); }, std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>,
                      .once = true,
                      .filter = [](const std::set<TypeId>& types) { return types.size() % 2 == 0; },
                      .run =
                          [&rec](Call& c) {
                            rec.add("hit.once", c.message, {});
                            return false;
                          }};
     }},

    // --- Poke: handlers without state, which may run over whole batches
    {"poke.tally", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, Tally& tally, Entity e) {
             alone("poke.tally", bytes_of(poke), e, tally.calls);
             count(tally, poke.value);
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {self<Tally>()}, .run = [](Call& c) {
                        auto tally = c.value<Tally>(0);
                        alone("poke.tally", c.message, c.self, tally.calls);
                        count(tally, as<Poke>(c.message).value);
                        c.write(0, tally);
                        return false;
                      }};
     }},
    {"poke.life", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, Life& life) {
             life.value =
                 static_cast<std::int32_t>((static_cast<std::uint32_t>(life.value) * 3 + poke.value) % 200 + 1);
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {self<Life>()}, .run = [](Call& c) {
                        auto life = c.value<Life>(0);
                        life.value = static_cast<std::int32_t>(
                            (static_cast<std::uint32_t>(life.value) * 3 + as<Poke>(c.message).value) % 200 + 1);
                        c.write(0, life);
                        return false;
                      }};
     }},
    {"poke.echo", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, const Link& link, Entity e, muster::Outbox& out) {
             alone("poke.echo", bytes_of(poke), e, link.to.bits());
             out.post(link.to, Nudge{.x = static_cast<std::int32_t>(poke.value), .y = 1, .z = 2});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {self<Link>()}, .run = [](Call& c) {
                        const auto link = c.value<Link>(0);
                        alone("poke.echo", c.message, c.self, link.to.bits());
                        c.out.post(link.to,
                                   Nudge{.x = static_cast<std::int32_t>(as<Poke>(c.message).value), .y = 1, .z = 2});
                        return false;
                      }};
     }},
    {"poke.parent", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, Parent<const Life> life, Wide& wide, Entity e) {
             alone("poke.parent", bytes_of(poke), e, static_cast<std::uint64_t>(life->value));
             wide.low = mix(wide.low, static_cast<std::uint64_t>(life->value));
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {up<Life>(Source::parent), self<Wide>()}, .run = [](Call& c) {
                        const auto life = c.value<Life>(0);
                        auto wide = c.value<Wide>(1);
                        alone("poke.parent", c.message, c.self, static_cast<std::uint64_t>(life.value));
                        wide.low = mix(wide.low, static_cast<std::uint64_t>(life.value));
                        c.write(1, wide);
                        return false;
                      }};
     }},
    {"poke.spawn", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, With<Marked>, Entity e, muster::Spawner& spawner) {
             const Entity made = poke.value % 4 == 0 ? spawner.create_under(e, "poked", Tally{}) : Entity{};
             alone("poke.spawn", bytes_of(poke), e, made.bits());
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {with<Marked>()}, .run = [](Call& c) {
                        const Entity made = as<Poke>(c.message).value % 4 == 0
                                                ? c.spawner.create_under(c.self, "poked", Tally{})
                                                : Entity{};
                        alone("poke.spawn", c.message, c.self, made.bits());
                        return false;
                      }};
     }},

    // --- Nudge
    {"nudge.member", id_of<Nudge>, &subscribe_member,
     [](Recorder& rec) {
       return Handler{.message = id_of<Nudge>, .terms = {self<Place>()}, .run = [&rec](Call& c) {
                        auto place = c.value<Place>(0);
                        const auto nudge = as<Nudge>(c.message);
                        rec.add("nudge.member", c.message, c.self, place.slots[0]);
                        ++place.slots[static_cast<std::size_t>(nudge.x & 3)];
                        c.write(0, place);
                        return false;
                      }};
     }},
    {"nudge.log", id_of<Nudge>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const Nudge& nudge, Entity e) { rec.add("nudge.log", bytes_of(nudge), e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Nudge>, .run = [&rec](Call& c) {
                        rec.add("nudge.log", c.message, c.self);
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> hit_handlers() { return hit_kinds; }

}  // namespace naive
