// A handler that subscribes, ends, enables and disables others, and those others.
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

/// `to`: a registry or an Outbox.
template <class To>
Subscription subscribe_late(To& to, Recorder& rec, unsigned kind, std::string name, int priority) {
  HandlerOptions options{.priority = priority};
  switch (kind) {
    case 0:
      return to.subscribe(
          std::move(name),
          [&rec](const Hit& hit, Tally& tally, Entity e) {
            rec.add("late.hit", bytes_of(hit), e, tally.sum);
            count(tally, 77);
          },
          std::move(options));
    case 1:
      return to.subscribe(
          std::move(name),
          [&rec](const Tick& tick, muster::Outbox& out) {
            rec.add("late.tick", bytes_of(tick), {});
            if (tick.step % 8 == 0) out.post(Beat{.step = 2});
          },
          std::move(options));
    default:
      return to.subscribe(
          std::move(name),
          [&rec](const Changed<Tally>&, const Tally& tally, Entity e) { rec.add("late.changed", {}, e, tally.sum); },
          std::move(options));
  }
}

Handler late_in_model(Recorder& rec, unsigned kind) {
  switch (kind) {
    case 0:
      return {.message = id_of<Hit>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                auto tally = c.value<Tally>(0);
                rec.add("late.hit", c.message, c.self, tally.sum);
                count(tally, 77);
                c.write(0, tally);
                return false;
              }};
    case 1:
      return {.message = id_of<Tick>, .once = true, .run = [&rec](Call& c) {
                rec.add("late.tick", c.message, {});
                if (as<Tick>(c.message).step % 8 == 0) c.out.post(Beat{.step = 2});
                return false;
              }};
    default:
      return {.message = id_of<Changed<Tally>>, .terms = {self<Tally>()}, .run = [&rec](Call& c) {
                rec.add("late.changed", {}, c.self, c.value<Tally>(0).sum);
                return false;
              }};
  }
}

Late& begin(Recorder& rec, muster::Outbox& out, std::uint32_t slot, Late like) {
  like.subscription = subscribe_late(out, rec, like.kind, like.name, like.priority);
  return rec.late[slot] = std::move(like);
}
Late& begin(Recorder& rec, Outbox& out, std::uint32_t slot, Late like) {
  like.ordinal = out.subscribe(like.name, late_in_model(rec, like.kind), like.priority);
  return rec.late[slot] = std::move(like);
}
void end(Recorder& rec, muster::Outbox& out, std::uint32_t slot) {
  const auto at = rec.late.find(slot);
  if (at == rec.late.end()) return;
  out.end(std::move(at->second.subscription));
  rec.late.erase(at);
}
void end(Recorder& rec, Outbox& out, std::uint32_t slot) {
  const auto at = rec.late.find(slot);
  if (at == rec.late.end()) return;
  out.end(at->second.ordinal);
  rec.late.erase(at);
}

template <class Out>
void enlist(const Enlist& message, Recorder& rec, Out& out) {
  static constexpr const char* switched[] = {"hit.live", "late.0", "tick.once", "tally.changed", "poke.tally",
                                             "late.1",   "stock",  "set.log",   "life.added",    "hit.armor"};
  const std::uint32_t slot = message.seed % late_slots;
  const char* const name = switched[message.seed % std::size(switched)];
  switch (message.way % 8) {
    case 0:
    case 1:
    case 2: {
      end(rec, out, slot);
      // Sometimes by the name of another, which refuses it if that one is there.
      const std::uint32_t number = message.seed % 5 == 0 ? 0 : slot;
      begin(rec, out, slot,
            {.kind = message.way % 3,
             .name = "late." + std::to_string(number),
             .priority = static_cast<int>(message.seed % 3) - 1});
      return;
    }
    case 3: return end(rec, out, slot);
    case 4:
      end(rec, out, slot);
      begin(rec, out, slot, {.kind = message.seed % late_kinds, .name = "", .priority = 0});
      return end(rec, out, slot);
    case 5: return out.set_handler_enabled(name, false);
    case 6: return out.set_handler_enabled(name, true);
    default:
      out.set_handler_enabled(name, message.seed % 2 == 0);
      out.post(Tick{.step = 8});
      return out.set_handler_enabled(name, message.seed % 2 != 0);
  }
}

const HandlerKind request_kinds[] = {
    {"enlist", id_of<Enlist>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           [&rec](const Enlist& message, Entity e, muster::Outbox& out) {
             rec.add("enlist", bytes_of(message), e);
             enlist(message, rec, out);
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Enlist>, .run = [&rec](Call& c) {
                        rec.add("enlist", c.message, c.self);
                        enlist(as<Enlist>(c.message), rec, c.out);
                        return false;
                      }};
     }},
};

}  // namespace

void install_late(EntityRegistry& registry, Recorder& recorder, std::uint32_t slot, const Late& like) {
  Late made{.kind = like.kind, .name = like.name, .priority = like.priority};
  made.subscription = subscribe_late(registry, recorder, like.kind, like.name, like.priority);
  recorder.late[slot] = std::move(made);
}

std::span<const HandlerKind> request_handlers() { return request_kinds; }

}  // namespace naive
