// Handlers that follow what comes, goes and changes.
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

const HandlerKind change_kinds[] = {
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
             out.post(e, Broad{.low = 1, .high = 0});
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
             c.out.post(c.self, Broad{.low = 1, .high = 0});
             return false;
           }};
     }},
    {"flags.changed", id_of<Changed<Flags>>,
     [](EntityRegistry& r, Recorder& rec, std::string name, HandlerOptions o) {
       return r.subscribe(
           std::move(name),
           {.message = r.host().change_message(muster::ChangeKind::changed, id_of<Flags>),
            .terms = {term(self<Flags>())}},
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
             out.post(e, Poke{.value = 5});
           },
           std::move(o));
     },
     [](Recorder& rec) {
       return Handler{.message = id_of<Removed<Armor>>,
                      .terms = {self<Armor>(), up<Life>(Source::parent, Presence::optional)},
                      .run = [&rec](Call& c) {
                        rec.add("armor.removed", {}, c.self,
                                mix(static_cast<std::uint64_t>(c.value<Armor>(0).factor), c.present[1]));
                        c.out.post(c.self, Poke{.value = 5});
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
};

}  // namespace

std::span<const HandlerKind> change_handlers() { return change_kinds; }

}  // namespace naive
