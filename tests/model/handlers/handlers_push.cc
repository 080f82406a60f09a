// Handlers that post, create and set timers; and of a message that is a table.
#include "registry/handlers/dynamic_handler.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

template <class Spawn, class Out>
void grow(const Grow& message, Entity e, Spawn& spawner, Out& out) {
  static constexpr const char* names[] = {"a", "orc", "", "orc~2"};
  for (std::uint32_t i = 0; i < message.children % 4; ++i) {
    const std::uint32_t seed = message.seed + i * 7;
    const Entity made =
        spawner.create_under(seed % 5 == 4 ? Entity{} : e, names[seed % 4], Life{.value = 5, .most = 5});
    out.post(made, Hit{.amount = 1, .from = e});
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
      return out.post(std::span<const Entity>(both), Hit{.amount = 1, .from = e});
    }
    case 9: return out.post_subtree(e, 1 + message.seed % 7, Poke{.value = message.seed});
    case 10: return out.destroy(message.other);
    case 11: return out.set(e, Frozen{});
    case 12: return out.template remove<Frozen>(e);
    case 13: return out.set(message.other, Wide{.low = message.seed, .high = 7}, Marked{});
    case 14: return out.post(Tick{.step = message.seed});
    case 15: return out.post(Beat{.step = message.seed});
    case 16:
      out.post(e, muster::SetField{.component = id_of<Tally>, .field = muster::hash32("sum"), .bytes = 4});
      return out.post(message.other, Nudge{.x = 1, .y = 2, .z = 3});
    default:
      out.post(e, Broad{.low = message.seed, .high = 1});
      return out.post(message.other, Broad{.low = message.seed, .high = 2});
  }
}

template <class Out>
void chain(const Chain& message, Entity e, Out& out) {
  if (message.hops == 0) return;
  out.post(e, Chain{.hops = message.hops - 1, .seed = message.seed, .to = message.to});
  if (message.to) out.post(message.to, Chain{.hops = message.hops - 1, .seed = message.seed + 1, .to = e});
  out.post(e, Nudge{.x = static_cast<std::int32_t>(message.hops), .y = 0, .z = 0});
}

template <class Out>
void alarm(const Alarm& message, Entity e, Out& out) {
  switch (message.way % 5) {
    case 0: out.post_after(message.delay_ns, e, Hit{.amount = 1, .from = e}); return;
    case 1: out.post_after(message.delay_ns, Tick{.step = 8}); return;
    case 2: out.cancel(message.timer); return;
    case 3: out.post_after(0, e, Poke{.value = 3}); return;
    default: out.cancel(out.post_after(message.delay_ns + 1, e, Hit{.amount = 100, .from = {}})); return;
  }
}

const HandlerKind push_kinds[] = {
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
             if (message.way % 3 == 0) out.post(e, Hit{.amount = 1, .from = e});
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
                        if (message.way % 3 == 0) c.out.post(c.self, Hit{.amount = 1, .from = c.self});
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
             if (say.volume() % 2) out.post(e, Poke{.value = say.volume()});
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
                        if (say.volume() % 2) c.out.post(c.self, Poke{.value = say.volume()});
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
};

}  // namespace

std::span<const HandlerKind> push_handlers() { return push_kinds; }

}  // namespace naive
