#include "tests/model/handlers.h"

#include "tests/model/trial_types.h"

namespace naive {

Recorder* active_recorder = nullptr;

namespace {

using muster::Added;
using muster::Changed;
using muster::EntityRegistry;
using muster::HandlerOptions;
using muster::Lookup;
using muster::Parent;
using muster::ParentWith;
using muster::Presence;
using muster::Removed;
using muster::SelfOrParent;
using muster::Source;
using muster::Subscription;
using muster::Verdict;
using muster::With;
using muster::Without;
using namespace trial;

constexpr TypeId mana = muster::hash32("foreign.Mana");
constexpr TypeId charge = muster::hash32("foreign.Charge");

template <class T>
Term self() {
  return {.type = id_of<T>};
}
template <class T>
Term optional() {
  return {.type = id_of<T>, .presence = Presence::optional};
}
template <class T>
Term with() {
  return {.type = id_of<T>, .value = false};
}
template <class T>
Term without() {
  return {.type = id_of<T>, .presence = Presence::excluded, .value = false};
}
template <class T>
Term up(Source source, Presence presence = Presence::required, TypeId anchor = 0) {
  return {.type = id_of<T>, .source = source, .presence = presence, .anchor = anchor};
}

void alone(const char* handler, const Bytes& message, Entity e, std::uint64_t seen = 0) {
  active_recorder->log.push_back({handler, message, e, seen, true});
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
}

// --- what handlers do ---

template <class Out>
void live(const Hit& hit, Life& life, Entity e, Out& out) {
  life.value -= hit.amount;
  if (life.value <= 0)
    out.destroy(e);
  else if (hit.from)
    out.push(hit.from, Poke{.value = static_cast<std::uint32_t>(hit.amount)});
}

template <class Spawn, class Out>
void grow(const Grow& message, Entity e, Spawn& spawner, Out& out) {
  static constexpr const char* names[] = {"a", "orc", "", "orc~2"};
  for (std::uint32_t i = 0; i < message.children % 4; ++i) {
    const std::uint32_t seed = message.seed + i * 7;
    const Entity made =
        spawner.create_under(seed % 5 == 4 ? Entity{} : e, names[seed % 4], Life{.value = 5, .most = 5});
    out.push(made, Hit{.amount = 1, .from = e});
    if (seed % 3 == 0) spawner.create_under(made, "leaf", Armor{.factor = 2}, Frozen{});
    if (seed % 5 == 0) out.set(e, Link{.to = made, .weight = 1});
    if (seed % 7 == 0) out.destroy(made);
  }
}

template <class Out>
void turn(const Turn& message, Entity e, Out& out) {
  static constexpr const char* names[] = {"a", "b", "orc", ""};
  switch (message.way % 18) {
    case 0: return out.set(e, Life{.value = static_cast<std::int32_t>(message.seed % 50), .most = 50});
    case 1: return out.set(e, Armor{.factor = 3}, Tally{.calls = 0, .sum = message.seed});
    case 2: return out.template remove<Armor>(e);
    case 3: return out.template remove<Tally>(e);
    case 4: return out.reparent(e, message.other);
    case 5: return out.reparent(e, Entity{});
    case 6: return out.rename(e, names[message.seed % 4]);
    case 7: return out.reparent(message.other, e);
    case 8: {
      const Entity both[] = {e, message.other, e};
      return out.push(std::span<const Entity>(both), Hit{.amount = 1, .from = e});
    }
    case 9: return out.push_subtree(e, 1 + message.seed % 7, Poke{.value = message.seed});
    case 10: return out.destroy(message.other);
    case 11: return out.set(e, Frozen{});
    case 12: return out.template remove<Frozen>(e);
    case 13: return out.set(message.other, Wide{.low = message.seed, .high = 7}, Marked{});
    case 14: return out.push(Tick{.step = message.seed});
    case 15: return out.push(Beat{.step = message.seed});
    case 16:
      out.push(e, muster::SetField{.component = id_of<Tally>, .field = muster::hash32("sum"), .bytes = 4});
      return out.push(message.other, Nudge{.x = 1, .y = 2, .z = 3});
    default:
      out.push(e, Broad{.low = message.seed, .high = 1});
      return out.push(message.other, Broad{.low = message.seed, .high = 2});
  }
}

template <class Out>
void chain(const Chain& message, Entity e, Out& out) {
  if (message.hops == 0) return;
  out.push(e, Chain{.hops = message.hops - 1, .seed = message.seed, .to = message.to});
  if (message.to) out.push(message.to, Chain{.hops = message.hops - 1, .seed = message.seed + 1, .to = e});
  out.push(e, Nudge{.x = static_cast<std::int32_t>(message.hops), .y = 0, .z = 0});
}

template <class Out>
void alarm(const Alarm& message, Entity e, Out& out) {
  switch (message.way % 5) {
    case 0: out.push_after(message.delay_ns, e, Hit{.amount = 1, .from = e}); return;
    case 1: out.push_after(message.delay_ns, Tick{.step = 8}); return;
    case 2: out.cancel(message.timer); return;
    case 3: out.push_after(0, e, Poke{.value = 3}); return;
    default: out.cancel(out.push_after(message.delay_ns + 1, e, Hit{.amount = 100, .from = {}})); return;
  }
}

void count(Tally& tally, std::uint32_t value) {
  ++tally.calls;
  tally.sum = tally.sum * 31 + value;
}

std::uint64_t bits(float value) {
  std::uint32_t out;
  std::memcpy(&out, &value, sizeof out);
  return out;
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

template <class T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
Bytes to_bytes(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
muster::Term term(const Term& t, muster::Access access = muster::Access::read) {
  return {.type = t.type,
          .access = access,
          .presence = t.presence,
          .source = t.source,
          .value = t.value,
          .anchor = t.anchor};
}

const HandlerKind kinds[] = {
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
             call.outbox.push(call.self, Poke{.value = tally.calls});
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
                        c.out.push(c.self, Poke{.value = tally.calls});
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
             out.push(link.to, Nudge{.x = static_cast<std::int32_t>(poke.value), .y = 1, .z = 2});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Poke>, .terms = {self<Link>()}, .run = [](Call& c) {
                        const auto link = c.value<Link>(0);
                        alone("poke.echo", c.message, c.self, link.to.bits());
                        c.out.push(link.to,
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
               if (++lives[i].value % 16 == 0) out.push(ids[i], Poke{.value = tick.step});
             }
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<Tick>, .terms = {self<Life>()}, .run = [](Call& c) {
                        auto life = c.value<Life>(0);
                        alone("tick.span", c.message, c.self, static_cast<std::uint64_t>(life.value));
                        if (++life.value % 16 == 0) c.out.push(c.self, Poke{.value = as<Tick>(c.message).step});
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
             if (tick.step % 4 == 0) out.push(Beat{.step = tick.step});
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
                            if (tick.step % 4 == 0) c.out.push(Beat{.step = tick.step});
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
             call.outbox.push(Beat{.step = 1});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Tick>, .once = true, .run = [&rec](Call& c) {
                        rec.add("tick.dynamic", c.message, {});
                        c.out.push(Beat{.step = 1});
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
             if (link && flags.level % 4 == 0) out.push(link->to, Hit{.amount = 2, .from = e});
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
                        if (link && flags.level % 4 == 0) c.out.push(link->to, Hit{.amount = 2, .from = c.self});
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

    // --- what pushes on
    {"grow", id_of<Grow>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Grow& message, Entity e, muster::Spawner& spawner, muster::Outbox& out) {
             rec.add("grow", bytes_of(message), e);
             grow(message, e, spawner, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Grow>, .run = [&rec](Call& c) {
                        rec.add("grow", c.message, c.self);
                        grow(as<Grow>(c.message), c.self, c.spawner, c.out);
                        return false;
                      }};
     }},
    {"kill", id_of<Kill>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Kill& message, const Link* link, Entity e, muster::Outbox& out) {
             rec.add("kill", bytes_of(message), e);
             out.destroy(link && message.way % 2 ? link->to : e);
             if (message.way % 3 == 0) out.push(e, Hit{.amount = 1, .from = e});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Kill>, .terms = {optional<Link>()}, .run = [&rec](Call& c) {
                        rec.add("kill", c.message, c.self);
                        const auto message = as<Kill>(c.message);
                        Link room;
                        const Link* link = c.value_or_null<Link>(0, room);
                        c.out.destroy(link && message.way % 2 ? link->to : c.self);
                        if (message.way % 3 == 0) c.out.push(c.self, Hit{.amount = 1, .from = c.self});
                        return false;
                      }};
     }},
    {"chain", id_of<Chain>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Chain& message, Entity e, muster::Outbox& out) {
             rec.add("chain", bytes_of(message), e);
             chain(message, e, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Chain>, .run = [&rec](Call& c) {
                        rec.add("chain", c.message, c.self);
                        chain(as<Chain>(c.message), c.self, c.out);
                        return false;
                      }};
     }},
    {"alarm", id_of<Alarm>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Alarm& message, Entity e, muster::Outbox& out) {
             rec.add("alarm", bytes_of(message), e, out.now_ns());
             alarm(message, e, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Alarm>, .run = [&rec](Call& c) {
                        rec.add("alarm", c.message, c.self, c.out.now_ns());
                        alarm(as<Alarm>(c.message), c.self, c.out);
                        return false;
                      }};
     }},
    {"turn", id_of<Turn>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Turn& message, Entity e, muster::Outbox& out) {
             rec.add("turn", bytes_of(message), e);
             turn(message, e, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Turn>, .run = [&rec](Call& c) {
                        rec.add("turn", c.message, c.self);
                        turn(as<Turn>(c.message), c.self, c.out);
                        return false;
                      }};
     }},
    {"broad.wide", id_of<Broad>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](Broad& message, Wide& wide, Entity e) {
             rec.add("broad.wide", bytes_of(message), e, wide.high);
             wide.high += message.low;
             message.low = wide.high;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Broad>, .terms = {self<Wide>()}, .changes_message = true, .run = [&rec](Call& c) {
             auto message = as<Broad>(c.message);
             auto wide = c.value<Wide>(0);
             rec.add("broad.wide", c.message, c.self, wide.high);
             wide.high += message.low;
             message.low = wide.high;
             c.write(0, wide);
             c.message = bytes_of(message);
             return false;
           }};
     }},

    // --- a table
    {"say.hear", id_of<Say>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const SayView& say, Tally& tally, Entity e, muster::Outbox& out) {
             rec.add("say.hear", Bytes(say.text()), e, say.volume());
             count(tally, say.volume());
             if (say.volume() % 2) out.push(e, Poke{.value = say.volume()});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Say>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                        std::vector<std::uint64_t> aligned((c.message.size() + 7) / 8);
                        std::memcpy(aligned.data(), c.message.data(), c.message.size());
                        const auto say =
                            SayView::from({reinterpret_cast<const std::byte*>(aligned.data()), c.message.size()});
                        auto tally = c.value<Tally>(0);
                        rec.add("say.hear", Bytes(say.text()), c.self, say.volume());
                        count(tally, say.volume());
                        c.write(0, tally);
                        if (say.volume() % 2) c.out.push(c.self, Poke{.value = say.volume()});
                        return false;
                      }};
     }},
    {"say.hush", id_of<Say>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const SayView& say, With<Frozen>, Entity e) {
             rec.add("say.hush", Bytes(say.text()), e);
             return Verdict::consume;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Say>, .terms = {with<Frozen>()}, .changes_message = true, .run = [&rec](Call& c) {
             std::vector<std::uint64_t> aligned((c.message.size() + 7) / 8);
             std::memcpy(aligned.data(), c.message.data(), c.message.size());
             const auto say = SayView::from({reinterpret_cast<const std::byte*>(aligned.data()), c.message.size()});
             rec.add("say.hush", Bytes(say.text()), c.self);
             return true;
           }};
     }},
    {"say.dynamic", id_of<Say>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), {.message = id_of<Say>, .terms = {term(without<Marked>())}},
           [&rec](const muster::DynamicCall& call) { rec.add("say.dynamic", to_bytes(call.message), call.self); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Say>, .terms = {without<Marked>()}, .run = [&rec](Call& c) {
                        rec.add("say.dynamic", c.message, c.self);
                        return false;
                      }};
     }},

    // --- structure messages
    {"create.log", id_of<muster::Create>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Create& m, const Life* life, Entity e) {
             rec.add("create.log", bytes_of(m), e, life ? static_cast<std::uint64_t>(life->value) : 0);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Create>, .terms = {optional<Life>()}, .run = [&rec](Call& c) {
                        Life room;
                        const Life* life = c.value_or_null<Life>(0, room);
                        rec.add("create.log", c.message, c.self, life ? static_cast<std::uint64_t>(life->value) : 0);
                        return false;
                      }};
     }},
    {"create.push", id_of<muster::Create>,
     [](EntityRegistry& r, Recorder&, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [](const muster::Create& m, With<Armor>, Entity e, muster::Outbox& out) {
             if (m.parent) out.push(m.parent, Poke{.value = e.index});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<muster::Create>, .terms = {with<Armor>()}, .run = [](Call& c) {
                        const auto m = as<muster::Create>(c.message);
                        if (m.parent) c.out.push(m.parent, Poke{.value = c.self.index});
                        return false;
                      }};
     }},
    {"destroy.log", id_of<muster::Destroy>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Destroy& m, const Link* link, Parent<const Life*> above, Entity e,
                  muster::Outbox& out) {
             rec.add("destroy.log", bytes_of(m), e, above ? static_cast<std::uint64_t>(above->value) : 1);
             if (link) out.push(link->to, Poke{.value = 1});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Destroy>,
                      .terms = {optional<Link>(), up<Life>(Source::parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        Life life;
                        const Life* above = c.value_or_null<Life>(1, life);
                        rec.add("destroy.log", c.message, c.self, above ? static_cast<std::uint64_t>(above->value) : 1);
                        Link room;
                        if (const Link* link = c.value_or_null<Link>(0, room)) c.out.push(link->to, Poke{.value = 1});
                        return false;
                      }};
     }},
    {"destroy.change", id_of<muster::Destroy>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](muster::Destroy& m, const Armor& armor, Entity e) {
             rec.add("destroy.change", bytes_of(m), e);
             ++m.reserved;
             return armor.factor > 2 ? Verdict::consume : Verdict::proceed;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Destroy>,
                      .terms = {self<Armor>()},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        auto m = as<muster::Destroy>(c.message);
                        rec.add("destroy.change", c.message, c.self);
                        ++m.reserved;
                        c.message = bytes_of(m);
                        return c.value<Armor>(0).factor > 2;
                      }};
     }},
    {"set.log", id_of<muster::Set>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Set& m, Tally& tally, Entity e) {
             rec.add("set.log", bytes_of(m), e, tally.sum);
             count(tally, 1);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Set>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                        auto tally = c.value<Tally>(0);
                        rec.add("set.log", c.message, c.self, tally.sum);
                        count(tally, 1);
                        c.write(0, tally);
                        return false;
                      }};
     }},
    {"remove.log", id_of<muster::Remove>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Remove& m, Without<Armor>, Entity e) { rec.add("remove.log", bytes_of(m), e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Remove>, .terms = {without<Armor>()}, .run = [&rec](Call& c) {
                        rec.add("remove.log", c.message, c.self);
                        return false;
                      }};
     }},
    {"field.log", id_of<muster::SetField>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const muster::SetField& m, Entity e) { rec.add("field.log", bytes_of(m), e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::SetField>, .run = [&rec](Call& c) {
                        rec.add("field.log", c.message, c.self);
                        return false;
                      }};
     }},
    {"reparent.change", id_of<muster::Reparent>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](muster::Reparent& m, Parent<const Life*> above, Entity e) {
             rec.add("reparent.change", bytes_of(m), e, above ? static_cast<std::uint64_t>(above->value) : 1);
             m.parent = e;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Reparent>,
                      .terms = {up<Life>(Source::parent, Presence::optional)},
                      .changes_message = true,
                      .run = [&rec](Call& c) {
                        auto m = as<muster::Reparent>(c.message);
                        Life life;
                        const Life* above = c.value_or_null<Life>(0, life);
                        rec.add("reparent.change", c.message, c.self,
                                above ? static_cast<std::uint64_t>(above->value) : 1);
                        m.parent = c.self;
                        c.message = bytes_of(m);
                        return false;
                      }};
     }},
    {"reparent.log", id_of<muster::Reparent>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const muster::Reparent& m, Entity e) { rec.add("reparent.log", bytes_of(m), e); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Reparent>, .run = [&rec](Call& c) {
                        rec.add("reparent.log", c.message, c.self);
                        return false;
                      }};
     }},
    {"rename.log", id_of<muster::Rename>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Rename& m, const muster::Name* now, Entity e) {
             rec.add("rename.log", bytes_of(m), e, now ? now->text.hash : 0);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Rename>, .terms = {optional<muster::Name>()}, .run = [&rec](Call& c) {
                        muster::Name room;
                        const muster::Name* now = c.value_or_null<muster::Name>(0, room);
                        rec.add("rename.log", c.message, c.self, now ? now->text.hash : 0);
                        return false;
                      }};
     }},
    // --- what comes, goes and changes
    {"tally.changed", id_of<Changed<Tally>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Changed<Tally>&, const Tally& tally, Entity e) { rec.add("tally.changed", {}, e, tally.sum); },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Changed<Tally>>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                        rec.add("tally.changed", {}, c.self, c.value<Tally>(0).sum);
                        return false;
                      }};
     }},
    {"place.changed", id_of<Changed<Place>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Changed<Place>&, const Place& place, Tally* tally, Entity e, muster::Outbox& out) {
             rec.add("place.changed", {}, e, bits(place.at.x));
             if (tally) count(*tally, place.slots[0]);
             out.push(e, Broad{.low = 1, .high = 0});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{
           .message = id_of<Changed<Place>>, .terms = {self<Place>(), optional<Tally>()}, .run = [&rec](Call& c) {
             const auto place = c.value<Place>(0);
             rec.add("place.changed", {}, c.self, bits(place.at.x));
             Tally tally;
             if (c.value_or_null<Tally>(1, tally)) {
               count(tally, place.slots[0]);
               c.write(1, tally);
             }
             c.out.push(c.self, Broad{.low = 1, .high = 0});
             return false;
           }};
     }},
    {"flags.changed", id_of<Changed<Flags>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = r.change_message(muster::ChangeKind::changed, id_of<Flags>), .terms = {term(self<Flags>())}},
           [&rec](const muster::DynamicCall& call) {
             rec.add("flags.changed", {}, call.self, static_cast<std::uint64_t>(read<Flags>(call.values[0]).level));
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Changed<Flags>>, .terms = {self<Flags>()}, .run = [&rec](Call& c) {
                        rec.add("flags.changed", {}, c.self, static_cast<std::uint64_t>(c.value<Flags>(0).level));
                        return false;
                      }};
     }},
    {"life.added", id_of<Added<Life>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Added<Life>&, Life& life, Entity e) {
             rec.add("life.added", {}, e, static_cast<std::uint64_t>(life.value));
             ++life.most;
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Added<Life>>, .terms = {self<Life>()}, .run = [&rec](Call& c) {
                        auto life = c.value<Life>(0);
                        rec.add("life.added", {}, c.self, static_cast<std::uint64_t>(life.value));
                        ++life.most;
                        c.write(0, life);
                        return false;
                      }};
     }},
    {"armor.removed", id_of<Removed<Armor>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<Armor>&, const Armor& armor, Parent<const Life*> above, Entity e, muster::Outbox& out) {
             rec.add("armor.removed", {}, e, mix(static_cast<std::uint64_t>(armor.factor), static_cast<bool>(above)));
             out.push(e, Poke{.value = 5});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Armor>>,
                      .terms = {self<Armor>(), up<Life>(Source::parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        rec.add("armor.removed", {}, c.self,
                                mix(static_cast<std::uint64_t>(c.value<Armor>(0).factor), c.present[1]));
                        c.out.push(c.self, Poke{.value = 5});
                        return false;
                      }};
     }},
    {"frozen.added", id_of<Added<Frozen>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name), [&rec](const Added<Frozen>&, Entity e) { rec.add("frozen.added", {}, e); }, std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Added<Frozen>>, .run = [&rec](Call& c) {
                        rec.add("frozen.added", {}, c.self);
                        return false;
                      }};
     }},
    {"frozen.removed", id_of<Removed<Frozen>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<Frozen>&, With<Frozen>, Entity e) { rec.add("frozen.removed", {}, e); }, std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Frozen>>, .terms = {with<Frozen>()}, .run = [&rec](Call& c) {
                        rec.add("frozen.removed", {}, c.self);
                        return false;
                      }};
     }},
    {"name.removed", id_of<Removed<muster::Name>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Removed<muster::Name>&, const muster::Name& now, Entity e) {
             rec.add("name.removed", {}, e, now.text.hash);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<muster::Name>>, .terms = {self<muster::Name>()}, .run = [&rec](Call& c) {
                        rec.add("name.removed", {}, c.self, c.value<muster::Name>(0).text.hash);
                        return false;
                      }};
     }},
    {"name.changed", id_of<Changed<muster::Name>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Changed<muster::Name>&, const muster::Name& now, Entity e) {
             rec.add("name.changed", {}, e, now.text.hash);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Changed<muster::Name>>, .terms = {self<muster::Name>()}, .run = [&rec](Call& c) {
                        rec.add("name.changed", {}, c.self, c.value<muster::Name>(0).text.hash);
                        return false;
                      }};
     }},
    {"advance.log", id_of<muster::Advance>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const muster::Advance& m, Tally& tally, Entity e) {
             rec.add("advance.log", bytes_of(m), e, tally.calls);
             count(tally, 2);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<muster::Advance>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                        auto tally = c.value<Tally>(0);
                        rec.add("advance.log", c.message, c.self, tally.calls);
                        count(tally, 2);
                        c.write(0, tally);
                        return false;
                      }};
     }},
};

}  // namespace

std::span<const HandlerKind> handler_kinds() { return kinds; }

}  // namespace naive
