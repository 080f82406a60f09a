// Handlers of passes, and of a message and a component that the program was not compiled with.
#include "registry/handlers/dynamic_handler.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

const HandlerKind pass_kinds[] = {
    // --- Tick and Beat: passes
    {"tick.up", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, Place& place, Parent<const Place> above, Entity e) {
             rec.add("tick.up", bytes_of(tick), e, bits(above->at.x));
             place.at.x = place.at.x * 0.5f + above->at.x;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Tick>, .terms = {self<Place>(), up<Place>(Source::parent)}, .run = [&rec](Call& c) {
             auto place = c.value<Place>(0);
             const auto above = c.value<Place>(1);
             rec.add("tick.up", c.message, c.self, bits(above.at.x));
             place.at.x = place.at.x * 0.5f + above.at.x;
             c.write(0, place);
             return false;
           }};
     }},
    {"tick.span", id_of<Tick>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Tick& tick, std::span<Life> lives, std::span<const Entity> ids, muster::Outbox& out) {
             for (std::size_t i = 0; i < lives.size(); ++i) {
               alone("tick.span", bytes_of(tick), ids[i], static_cast<std::uint64_t>(lives[i].value));
               if (++lives[i].value % 16 == 0) out.post(ids[i], Poke{.value = tick.step});
             }
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Tick>, .terms = {self<Life>()}, .run = [](Call& c) {
                        auto life = c.value<Life>(0);
                        alone("tick.span", c.message, c.self, static_cast<std::uint64_t>(life.value));
                        if (++life.value % 16 == 0) c.out.post(c.self, Poke{.value = as<Tick>(c.message).step});
                        c.write(0, life);
                        return false;
                      }};
     }},
    {"tick.anchor", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, Tally& tally, ParentWith<const Life*, Flags> life, Entity e) {
             rec.add("tick.anchor", bytes_of(tick), e, life ? static_cast<std::uint64_t>(life->value) : 77);
             count(tally, life ? static_cast<std::uint32_t>(life->value) : 5);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>,
                      .terms = {self<Tally>(), up<Life>(Source::parent_with, Presence::optional, id_of<Flags>)},
                      .run = [&rec](Call& c) {
                        auto tally = c.value<Tally>(0);
                        Life room;
                        const Life* life = c.value_or_null<Life>(1, room);
                        rec.add("tick.anchor", c.message, c.self, life ? static_cast<std::uint64_t>(life->value) : 77);
                        count(tally, life ? static_cast<std::uint32_t>(life->value) : 5);
                        c.write(0, tally);
                        return false;
                      }};
     }},
    {"tick.lookup", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, const Link& link, Tally& tally, Lookup<const Tally> tallies, Entity e) {
             const Tally* other = tallies.find(link.to);
             rec.add("tick.lookup", bytes_of(tick), e, mix(other ? other->sum : 3, tallies.alive(link.to)));
             count(tally, other ? other->sum : 9);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>, .terms = {self<Link>(), self<Tally>()}, .run = [&rec](Call& c) {
                        const Entity to = c.value<Link>(0).to;
                        auto tally = c.value<Tally>(1);
                        const Thing* thing = c.model.find(to);
                        const bool has = thing && thing->components.contains(id_of<Tally>);
                        const auto other = has ? as<Tally>(thing->components.at(id_of<Tally>)) : Tally{};
                        rec.add("tick.lookup", c.message, c.self, mix(has ? other.sum : 3, thing != nullptr));
                        count(tally, has ? other.sum : 9);
                        c.write(1, tally);
                        if (has) ++c.model.covered["component looked up by id"];
                        return false;
                      }};
     }},
    {"tick.once", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       o.on_begin = [&rec] { return rec.begins++ % 3 != 2; };
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, muster::Outbox& out) {
             rec.add("tick.once", bytes_of(tick), {});
             if (tick.step % 4 == 0) out.post(Beat{.step = tick.step});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>,
                      .once = true,
                      .on_begin = [&rec] { return rec.begins++ % 3 != 2; },
                      .run =
                          [&rec](Call& c) {
                            rec.add("tick.once", c.message, {});
                            const auto tick = as<Tick>(c.message);
                            if (tick.step % 4 == 0) c.out.post(Beat{.step = tick.step});
                            return false;
                          }};
     }},
    {"tick.spawn", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, With<Frozen>, With<Marked>, Entity e, muster::Spawner& spawner) {
             const Entity made = spawner.create_under(e, "born", Tally{}, Life{.value = 9, .most = 9});
             rec.add("tick.spawn", bytes_of(tick), e, made.bits());
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>, .terms = {with<Frozen>(), with<Marked>()}, .run = [&rec](Call& c) {
                        const Entity made =
                            c.spawner.create_under(c.self, "born", Tally{}, Life{.value = 9, .most = 9});
                        rec.add("tick.spawn", c.message, c.self, made.bits());
                        return false;
                      }};
     }},
    {"tick.dynamic", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), {.message = id_of<Tick>, .terms = {}, .per_entity = false},
           [&rec](const muster::DynamicCall& call) {
             rec.add("tick.dynamic", to_bytes(call.message), call.self);
             call.outbox.post(Beat{.step = 1});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>, .once = true, .run = [&rec](Call& c) {
                        rec.add("tick.dynamic", c.message, {});
                        c.out.post(Beat{.step = 1});
                        return false;
                      }};
     }},
    {"beat.flags", id_of<Beat>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Beat& beat, Flags& flags, SelfOrParent<const Link*> link, Entity e, muster::Outbox& out) {
             rec.add("beat.flags", bytes_of(beat), e, link ? link->to.bits() : 1);
             flags.on = !flags.on;
             ++flags.level;
             if (link && flags.level % 4 == 0) out.post(link->to, Hit{.amount = 2, .from = e});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Beat>,
                      .terms = {self<Flags>(), up<Link>(Source::self_or_parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        auto flags = c.value<Flags>(0);
                        Link room;
                        const Link* link = c.value_or_null<Link>(1, room);
                        rec.add("beat.flags", c.message, c.self, link ? link->to.bits() : 1);
                        flags.on = !flags.on;
                        ++flags.level;
                        if (link && flags.level % 4 == 0) c.out.post(link->to, Hit{.amount = 2, .from = c.self});
                        c.write(0, flags);
                        return false;
                      }};
     }},
    {"beat.dynamic", id_of<Beat>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = id_of<Beat>,
            .terms = {{.type = mana, .access = muster::Access::write},
                      term(up<Life>(Source::parent_with, Presence::required, id_of<Armor>)),
                      term(optional<Frozen>())}},
           [&rec](const muster::DynamicCall& call) {
             const auto life = read<Life>(call.values[1]);
             const auto value = read<std::uint32_t>(call.values[0]) + static_cast<std::uint32_t>(life.value);
             rec.add("beat.dynamic", to_bytes(call.message), call.self, mix(value, call.values[2] != nullptr));
             std::memcpy(call.values[0], &value, sizeof value);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Beat>,
                      .terms = {{.type = mana},
                                up<Life>(Source::parent_with, Presence::required, id_of<Armor>),
                                optional<Frozen>()},
                      .run = [&rec](Call& c) {
                        const auto life = c.value<Life>(1);
                        const auto value = c.value<std::uint32_t>(0) + static_cast<std::uint32_t>(life.value);
                        rec.add("beat.dynamic", c.message, c.self, mix(value, c.values[2] != nullptr));
                        c.write(0, value);
                        return false;
                      }};
     }},

    // --- a message and a component that the program was not compiled with
    {"charge.dynamic", charge,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), {.message = charge, .terms = {{.type = mana, .access = muster::Access::write}}},
           [&rec](const muster::DynamicCall& call) {
             const auto value = read<std::uint32_t>(call.values[0]) + read<std::uint32_t>(call.message.data());
             rec.add("charge.dynamic", to_bytes(call.message), call.self, value);
             std::memcpy(call.values[0], &value, sizeof value);
             if (value % 3 == 0) call.spawner.create_under(call.self, "spark", Tally{.calls = value, .sum = 0});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = charge, .terms = {{.type = mana}}, .run = [&rec](Call& c) {
                        const auto value = c.value<std::uint32_t>(0) + as<std::uint32_t>(c.message);
                        rec.add("charge.dynamic", c.message, c.self, value);
                        c.write(0, value);
                        if (value % 3 == 0) c.spawner.create_under(c.self, "spark", Tally{.calls = value, .sum = 0});
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> pass_handlers() { return pass_kinds; }

}  // namespace naive
