// Handlers that read from the entity that a message names, that are kept away by ancestors or by archetype, and that take
// runtime components.
#include "registry/handlers/dynamic_handler.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

const HandlerKind elsewhere_kinds[] = {
    // --- Other
    {"hit.other", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Hit& hit, Tally& tally, Other<const Armor> armor, Entity e) {
             rec.add("hit.other", bytes_of(hit), e, static_cast<std::uint64_t>(armor->factor));
             count(tally, static_cast<std::uint32_t>(armor->factor));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>,
                      .terms = {self<Tally>(), up<Armor>(Source::other)},
                      .other_offset = other_at,
                      .run = [&rec](Call& c) {
                        auto tally = c.value<Tally>(0);
                        const auto armor = c.value<Armor>(1);
                        rec.add("hit.other", c.message, c.self, static_cast<std::uint64_t>(armor.factor));
                        count(tally, static_cast<std::uint32_t>(armor.factor));
                        c.write(0, tally);
                        return false;
                      }};
     }},
    {"hit.redirect", id_of<Hit>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](Hit& hit, const Link& link, Entity e) {
             rec.add("hit.redirect", bytes_of(hit), e);
             hit.from = link.to;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Hit>, .terms = {self<Link>()}, .changes_message = true, .run = [&rec](Call& c) {
                        rec.add("hit.redirect", c.message, c.self);
                        auto hit = as<Hit>(c.message);
                        hit.from = c.value<Link>(0).to;
                        c.message = bytes_of(hit);
                        return false;
                      }};
     }},
    {"turn.other", id_of<Turn>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Turn& turn, Other<const Life*> life, Entity e, muster::Outbox& out) {
             rec.add("turn.other", bytes_of(turn), e, life ? static_cast<std::uint64_t>(life->value) : 3);
             if (life && turn.seed % 3 == 0) out.post(turn.other, Poke{.value = turn.seed});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Turn>,
                      .terms = {up<Life>(Source::other, Presence::optional)},
                      .other_offset = other_at,
                      .run = [&rec](Call& c) {
                        const auto turn = as<Turn>(c.message);
                        Life room;
                        const Life* life = c.value_or_null<Life>(0, room);
                        rec.add("turn.other", c.message, c.self, life ? static_cast<std::uint64_t>(life->value) : 3);
                        if (life && turn.seed % 3 == 0) c.out.post(turn.other, Poke{.value = turn.seed});
                        return false;
                      }};
     }},
    {"chain.other", id_of<Chain>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), {.message = id_of<Chain>, .terms = {term(up<Tally>(Source::other)), term(without<Big>())}},
           [&rec](const muster::DynamicCall& call) {
             rec.add("chain.other", to_bytes(call.message), call.self, read<Tally>(call.values[0]).sum);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Chain>,
                      .terms = {up<Tally>(Source::other), without<Big>()},
                      .other_offset = other_at,
                      .run = [&rec](Call& c) {
                        rec.add("chain.other", c.message, c.self, c.value<Tally>(0).sum);
                        return false;
                      }};
     }},

    // --- kept away by ancestors or archetype
    {"poke.open", id_of<Poke>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Poke& poke, WithoutParent<Armor>, Wide& wide, Entity e) {
             alone("poke.open", bytes_of(poke), e, wide.high);
             wide.high = mix(wide.high, poke.value);
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{
           .message = id_of<Poke>,
           .terms = {{.type = id_of<Armor>, .source = Source::parent, .presence = Presence::excluded, .value = false},
                     self<Wide>()},
           .run = [](Call& c) {
             auto wide = c.value<Wide>(1);
             alone("poke.open", c.message, c.self, wide.high);
             wide.high = mix(wide.high, as<Poke>(c.message).value);
             c.write(1, wide);
             return false;
           }};
     }},
    {"poke.upto", id_of<Poke>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Poke& poke, UpTo<const Life, Flags> life, Entity e) {
             rec.add("poke.upto", bytes_of(poke), e, static_cast<std::uint64_t>(life->value));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Poke>,
                      .terms = {up<Life>(Source::up_to, Presence::required, id_of<Flags>)},
                      .run = [&rec](Call& c) {
                        rec.add("poke.upto", c.message, c.self, static_cast<std::uint64_t>(c.value<Life>(0).value));
                        return false;
                      }};
     }},
    {"beat.upto", id_of<Beat>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = id_of<Beat>,
            .terms = {term(self<Tally>(), muster::Access::write),
                      term(up<Armor>(Source::up_to, Presence::optional, id_of<Life>))}},
           [&rec](const muster::DynamicCall& call) {
             auto tally = read<Tally>(call.values[0]);
             const std::int32_t factor = call.values[1] ? read<Armor>(call.values[1]).factor : 11;
             rec.add("beat.upto", to_bytes(call.message), call.self,
                     mix(tally.sum, static_cast<std::uint64_t>(factor)));
             count(tally, static_cast<std::uint32_t>(factor));
             std::memcpy(call.values[0], &tally, sizeof tally);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Beat>,
                      .terms = {self<Tally>(), up<Armor>(Source::up_to, Presence::optional, id_of<Life>)},
                      .run = [&rec](Call& c) {
                        auto tally = c.value<Tally>(0);
                        Armor armor{.factor = 11};
                        c.value_or_null<Armor>(1, armor);
                        rec.add("beat.upto", c.message, c.self,
                                mix(tally.sum, static_cast<std::uint64_t>(armor.factor)));
                        count(tally, static_cast<std::uint32_t>(armor.factor));
                        c.write(0, tally);
                        return false;
                      }};
     }},
    {"tick.open", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, WithoutSelfOrParent<Marked>, const Tally& tally, Entity e) {
             rec.add("tick.open", bytes_of(tick), e, tally.sum);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>,
                      .terms = {{.type = id_of<Marked>,
                                 .source = Source::self_or_parent,
                                 .presence = Presence::excluded,
                                 .value = false},
                                self<Tally>()},
                      .run = [&rec](Call& c) {
                        rec.add("tick.open", c.message, c.self, c.value<Tally>(1).sum);
                        return false;
                      }};
     }},
    {"nudge.open", id_of<Nudge>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       muster::Term above{
           .type = id_of<Life>, .presence = Presence::excluded, .source = Source::parent, .value = false};
       return r.subscribe(
           std::move(name), {.message = id_of<Nudge>, .terms = {above}},
           [&rec](const muster::DynamicCall& call) { rec.add("nudge.open", to_bytes(call.message), call.self); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Nudge>,
           .terms = {{.type = id_of<Life>, .source = Source::parent, .presence = Presence::excluded, .value = false}},
           .run = [&rec](Call& c) {
             rec.add("nudge.open", c.message, c.self);
             return false;
           }};
     }},
    {"nudge.filter", id_of<Nudge>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       o.filter = [](const muster::Archetype& archetype) { return archetype.types.size() % 3 != 1; };
       return r.subscribe(
           std::move(name), [&rec](const Nudge& nudge, Entity e) { rec.add("nudge.filter", bytes_of(nudge), e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Nudge>,
                      .filter = [](const std::set<TypeId>& types) { return types.size() % 3 != 1; },
                      .run =
                          [&rec](Call& c) {
                            rec.add("nudge.filter", c.message, c.self);
                            return false;
                          }};
     }},
    {"tick.columns", id_of<Tick>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const Tick& tick, std::span<const Tally> tallies, std::span<Wide> wides, Without<Frozen>,
              std::span<const Entity> ids) {
             for (std::size_t i = 0; i < ids.size(); ++i) {
               alone("tick.columns", bytes_of(tick), ids[i], wides[i].low);
               wides[i].low = mix(wides[i].low, tallies[i].sum);
             }
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{
           .message = id_of<Tick>, .terms = {self<Tally>(), self<Wide>(), without<Frozen>()}, .run = [](Call& c) {
             auto wide = c.value<Wide>(1);
             alone("tick.columns", c.message, c.self, wide.low);
             wide.low = mix(wide.low, c.value<Tally>(0).sum);
             c.write(1, wide);
             return false;
           }};
     }},

    // --- runtime components
    {"poke.voice", id_of<Poke>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Poke& poke, Voice& voice, Entity e) {
             rec.add_of_process("poke.voice", bytes_of(poke), e, {voice.value(), 0});
             voice.say(poke.value);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Poke>, .terms = {self<Voice>()}, .run = [&rec](Call& c) {
                        auto voice = c.value<TwoValues>(0);
                        rec.add_of_process("poke.voice", c.message, c.self, voice);
                        voice.first = voice.first * 31 + as<Poke>(c.message).value;
                        voice.loaded = voice.loaded * 31 + as<Poke>(c.message).value;
                        c.write(0, voice);
                        return false;
                      }};
     }},
    {"tick.voice", id_of<Tick>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Tick& tick, Parent<const Voice> above, Voice* own, Tally* tally, Entity e) {
             rec.add_of_process("tick.voice", bytes_of(tick), e, {mix(above->value(), own ? own->value() : 5), 0});
             if (own) own->say(above->value());
             if (tally) count(*tally, own != nullptr);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>,
                      .terms = {up<Voice>(Source::parent), optional<Voice>(), optional<Tally>()},
                      .run = [&rec](Call& c) {
                        const auto above = c.value<TwoValues>(0);
                        TwoValues own{5, 5};
                        const bool has = c.value_or_null<TwoValues>(1, own) != nullptr;
                        rec.add_of_process("tick.voice", c.message, c.self,
                                           {mix(above.first, own.first), mix(above.loaded, own.loaded)});
                        if (has) c.write(1, TwoValues{own.first * 31 + above.first, own.loaded * 31 + above.loaded});
                        Tally tally;
                        if (c.value_or_null<Tally>(2, tally)) {
                          count(tally, has);
                          c.write(2, tally);
                        }
                        return false;
                      }};
     }},
    {"voice.added", id_of<Added<Voice>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Added<Voice>&, Voice& voice, Entity e) {
             rec.add_of_process("voice.added", {}, e, {voice.value(), 0});
             voice.say(1);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Added<Voice>>, .terms = {self<Voice>()}, .run = [&rec](Call& c) {
                        auto voice = c.value<TwoValues>(0);
                        rec.add_of_process("voice.added", {}, c.self, voice);
                        voice.first = voice.first * 31 + 1;
                        voice.loaded = voice.loaded * 31 + 1;
                        c.write(0, voice);
                        return false;
                      }};
     }},
    {"voice.removed", id_of<Removed<Voice>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<Voice>&, const Voice& voice, Entity e, muster::Outbox& out) {
             rec.add_of_process("voice.removed", {}, e, {voice.value(), 0});
             out.post(e, Nudge{.x = 3, .y = 0, .z = 0});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Voice>>, .terms = {self<Voice>()}, .run = [&rec](Call& c) {
                        rec.add_of_process("voice.removed", {}, c.self, c.value<TwoValues>(0));
                        c.out.post(c.self, Nudge{.x = 3, .y = 0, .z = 0});
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> elsewhere_handlers() { return elsewhere_kinds; }

}  // namespace naive
