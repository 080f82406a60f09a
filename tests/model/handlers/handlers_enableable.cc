// Handlers that take components which come and go without their rows moving. Only programs that draw those have them.
#include "registry/handlers/dynamic_handler.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

std::uint64_t seen(const Shield* shield) { return shield ? mix(static_cast<std::uint64_t>(shield->strength), 5) : 3; }
const Shield* shield_of(const Call& c, std::size_t term, Shield& room) { return c.value_or_null<Shield>(term, room); }

const HandlerKind enableable_kinds[] = {
    // --- of the entity's own
    {"hit.guarded", id_of<Hit>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Hit& hit, Shield& shield, Entity e, muster::Outbox& out) {
             alone("hit.guarded", bytes_of(hit), e, seen(&shield));
             shield.strength -= hit.amount;
             if (shield.strength < 0) out.remove<Shield>(e);
             if (shield.strength % 5 == 0) out.set(e, Stunned{});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Hit>, .terms = {self<Shield>()}, .run = [](Call& c) {
                        auto shield = c.value<Shield>(0);
                        alone("hit.guarded", c.message, c.self, seen(&shield));
                        shield.strength -= as<Hit>(c.message).amount;
                        c.write(0, shield);
                        if (shield.strength < 0) c.out.remove<Shield>(c.self);
                        if (shield.strength % 5 == 0) c.out.set(c.self, Stunned{});
                        return false;
                      }};
     }},
    {"hit.ward", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Hit& hit, const Shield& shield, Without<Stunned>, Entity e) {
             rec.add("hit.ward", bytes_of(hit), e, seen(&shield));
             return shield.strength % 7 == 0 ? Verdict::consume : Verdict::proceed;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>,
                      .terms = {self<Shield>(), without<Stunned>()},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        rec.add("hit.ward", c.message, c.self, seen(&shield));
                        return shield.strength % 7 == 0;
                      }};
     }},
    {"poke.stunned", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, Tally& tally, With<Stunned>, Shield* shield, Entity e, muster::Outbox& out) {
             alone("poke.stunned", bytes_of(poke), e, seen(shield));
             count(tally, shield ? 9 : 2);
             if (shield) ++shield->strength;
             if (tally.calls % 2 == 0) out.remove<Stunned>(e);
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{
           .message = id_of<Poke>, .terms = {self<Tally>(), with<Stunned>(), optional<Shield>()}, .run = [](Call& c) {
             auto tally = c.value<Tally>(0);
             Shield room;
             const Shield* shield = shield_of(c, 2, room);
             alone("poke.stunned", c.message, c.self, seen(shield));
             count(tally, shield ? 9 : 2);
             if (shield) {
               ++room.strength;
               c.write(2, room);
             }
             c.write(0, tally);
             if (tally.calls % 2 == 0) c.out.remove<Stunned>(c.self);
             return false;
           }};
     }},
    {"nudge.bare", id_of<Nudge>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Nudge& nudge, Without<Shield>, Entity e, muster::Outbox& out) {
             alone("nudge.bare", bytes_of(nudge), e);
             out.set(e, Shield{.strength = nudge.x, .left = 0.5f, .by = e});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Nudge>, .terms = {without<Shield>()}, .run = [](Call& c) {
                        alone("nudge.bare", c.message, c.self);
                        c.out.set(c.self, Shield{.strength = as<Nudge>(c.message).x, .left = 0.5f, .by = c.self});
                        return false;
                      }};
     }},
    {"turn.toggle", id_of<Turn>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Turn& turn, const Shield* shield, Entity e, muster::Outbox& out) {
             rec.add("turn.toggle", bytes_of(turn), e, seen(shield));
             if (shield)
               out.remove<Shield>(e);
             else
               out.set(e, Shield{.strength = static_cast<int>(turn.seed % 50), .left = 0, .by = turn.other}, Stunned{});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Turn>, .terms = {optional<Shield>()}, .run = [&rec](Call& c) {
                        const auto turn = as<Turn>(c.message);
                        Shield room;
                        const Shield* shield = shield_of(c, 0, room);
                        rec.add("turn.toggle", c.message, c.self, seen(shield));
                        if (shield)
                          c.out.remove<Shield>(c.self);
                        else
                          c.out.set(c.self,
                                    Shield{.strength = static_cast<int>(turn.seed % 50), .left = 0, .by = turn.other},
                                    Stunned{});
                        return false;
                      }};
     }},

    // --- passes
    {"tick.shield", id_of<Tick>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Tick& tick, Shield& shield, const Life* life, Entity e, muster::Outbox& out) {
             alone("tick.shield", bytes_of(tick), e, seen(&shield));
             shield.strength += life ? 1 : 2;
             if (shield.strength % 4 == 0) out.remove<Shield>(e);
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Tick>, .terms = {self<Shield>(), optional<Life>()}, .run = [](Call& c) {
                        auto shield = c.value<Shield>(0);
                        Life room;
                        const bool life = c.value_or_null<Life>(1, room) != nullptr;
                        alone("tick.shield", c.message, c.self, seen(&shield));
                        shield.strength += life ? 1 : 2;
                        c.write(0, shield);
                        if (shield.strength % 4 == 0) c.out.remove<Shield>(c.self);
                        return false;
                      }};
     }},
    {"beat.awake", id_of<Beat>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Beat& beat, Life& life, Without<Stunned>, Without<Shield>, Entity e, muster::Outbox& out) {
             alone("beat.awake", bytes_of(beat), e, static_cast<std::uint64_t>(life.value));
             if (++life.value % 3 == 0) out.set(e, Stunned{});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{
           .message = id_of<Beat>, .terms = {self<Life>(), without<Stunned>(), without<Shield>()}, .run = [](Call& c) {
             auto life = c.value<Life>(0);
             alone("beat.awake", c.message, c.self, static_cast<std::uint64_t>(life.value));
             if (++life.value % 3 == 0) c.out.set(c.self, Stunned{});
             c.write(0, life);
             return false;
           }};
     }},
    {"beat.enableable", id_of<Beat>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = id_of<Beat>,
            .terms = {term(self<Tally>()), term(optional<Shield>(), muster::Access::write), term(with<Stunned>()),
                      term(up<Shield>(Source::parent, Presence::optional))}},
           [&rec](const muster::DynamicCall& call) {
             const auto above = call.values[3] ? read<Shield>(call.values[3]) : Shield{};
             auto own = call.values[1] ? read<Shield>(call.values[1]) : Shield{};
             rec.add("beat.enableable", to_bytes(call.message), call.self,
                     mix(seen(call.values[1] ? &own : nullptr), seen(&above)));
             own.strength += above.strength;
             if (call.values[1]) std::memcpy(call.values[1], &own, sizeof own);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Beat>,
                      .terms = {self<Tally>(), optional<Shield>(), with<Stunned>(),
                                up<Shield>(Source::parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        const auto above = c.values[3] ? c.value<Shield>(3) : Shield{};
                        auto own = c.values[1] ? c.value<Shield>(1) : Shield{};
                        rec.add("beat.enableable", c.message, c.self,
                                mix(seen(c.values[1] ? &own : nullptr), seen(&above)));
                        own.strength += above.strength;
                        if (c.values[1]) c.write(1, own);
                        return false;
                      }};
     }},

    // --- of others
    {"tick.shielded", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, SelfOrParent<const Shield> shield, ParentWith<const Life*, Stunned> life,
                  UpTo<const Armor*, Shield> armor, Entity e) {
             rec.add("tick.shielded", bytes_of(tick), e,
                     mix(seen(shield.get()), mix(life ? static_cast<std::uint64_t>(life->value) : 8,
                                                 armor ? static_cast<std::uint64_t>(armor->factor) : 9)));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>,
                      .terms = {up<Shield>(Source::self_or_parent),
                                up<Life>(Source::parent_with, Presence::optional, id_of<Stunned>),
                                up<Armor>(Source::up_to, Presence::optional, id_of<Shield>)},
                      .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        Life life;
                        Armor armor;
                        const bool lives = c.value_or_null<Life>(1, life) != nullptr;
                        const bool armored = c.value_or_null<Armor>(2, armor) != nullptr;
                        rec.add("tick.shielded", c.message, c.self,
                                mix(seen(&shield), mix(lives ? static_cast<std::uint64_t>(life.value) : 8,
                                                       armored ? static_cast<std::uint64_t>(armor.factor) : 9)));
                        return false;
                      }};
     }},
    {"tick.above", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, Tally& tally, Parent<const Shield> shield, WithoutParent<Stunned>,
                  UpTo<const Shield*, Life> near, Entity e) {
             rec.add("tick.above", bytes_of(tick), e, mix(seen(shield.get()), seen(near.get())));
             count(tally, static_cast<std::uint32_t>(shield->strength));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Tick>,
           .terms = {self<Tally>(),
                     up<Shield>(Source::parent),
                     {.type = id_of<Stunned>, .source = Source::parent, .presence = Presence::excluded, .value = false},
                     up<Shield>(Source::up_to, Presence::optional, id_of<Life>)},
           .run = [&rec](Call& c) {
             auto tally = c.value<Tally>(0);
             const auto shield = c.value<Shield>(1);
             Shield room;
             rec.add("tick.above", c.message, c.self, mix(seen(&shield), seen(shield_of(c, 3, room))));
             count(tally, static_cast<std::uint32_t>(shield.strength));
             c.write(0, tally);
             return false;
           }};
     }},
    {"turn.guard", id_of<Turn>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Turn& turn, Other<const Shield> shield, WithoutSelfOrParent<Shield>,
                  Lookup<const Stunned> stunned, Lookup<const Shield> shields, Entity e, muster::Outbox& out) {
             rec.add("turn.guard", bytes_of(turn), e,
                     mix(seen(shield.get()), mix(stunned.has(turn.other), seen(shields.find(turn.other)))));
             out.set(e, Shield{*shield});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Turn>,
                      .terms = {up<Shield>(Source::other),
                                {.type = id_of<Shield>,
                                 .source = Source::self_or_parent,
                                 .presence = Presence::excluded,
                                 .value = false}},
                      .other_offset = other_at,
                      .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        const Thing* thing = c.model.find(as<Turn>(c.message).other);
                        const bool stunned = thing && thing->components.contains(id_of<Stunned>);
                        const bool has = thing && thing->components.contains(id_of<Shield>);
                        const auto own = has ? as<Shield>(thing->components.at(id_of<Shield>)) : Shield{};
                        rec.add("turn.guard", c.message, c.self,
                                mix(seen(&shield), mix(stunned, seen(has ? &own : nullptr))));
                        c.out.set(c.self, shield);
                        return false;
                      }};
     }},

    // --- who follows them
    {"shield.added", id_of<Added<Shield>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Added<Shield>&, const Shield& shield, Entity e) {
             rec.add("shield.added", {}, e, seen(&shield));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Added<Shield>>, .terms = {self<Shield>()}, .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        rec.add("shield.added", {}, c.self, seen(&shield));
                        return false;
                      }};
     }},
    {"shield.changed", id_of<Changed<Shield>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Changed<Shield>&, const Shield& shield, Entity e) {
             rec.add("shield.changed", {}, e, seen(&shield));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Changed<Shield>>, .terms = {self<Shield>()}, .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        rec.add("shield.changed", {}, c.self, seen(&shield));
                        return false;
                      }};
     }},
    {"shield.removed", id_of<Removed<Shield>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<Shield>&, const Shield& shield, Entity e, muster::Outbox& out) {
             rec.add("shield.removed", {}, e, seen(&shield));
             if (shield.strength % 2 == 0) out.set(e, Shield{.strength = 1});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Shield>>, .terms = {self<Shield>()}, .run = [&rec](Call& c) {
                        const auto shield = c.value<Shield>(0);
                        rec.add("shield.removed", {}, c.self, seen(&shield));
                        if (shield.strength % 2 == 0) c.out.set(c.self, Shield{.strength = 1});
                        return false;
                      }};
     }},
    {"stunned.added", id_of<Added<Stunned>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const Added<Stunned>&, Entity e) { rec.add("stunned.added", {}, e); }, std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Added<Stunned>>, .run = [&rec](Call& c) {
                        rec.add("stunned.added", {}, c.self);
                        return false;
                      }};
     }},
    {"stunned.removed", id_of<Removed<Stunned>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<Stunned>&, With<Stunned>, Entity e) { rec.add("stunned.removed", {}, e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Stunned>>, .terms = {with<Stunned>()}, .run = [&rec](Call& c) {
                        rec.add("stunned.removed", {}, c.self);
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> enableable_handlers() { return enableable_kinds; }

}  // namespace naive
