// Handlers of messages that change structure.
#include "tests/model/handlers/handler_kit.h"

namespace naive {

using namespace trial;

namespace {

const HandlerKind structure_kinds[] = {
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
             if (m.parent) out.post(m.parent, Poke{.value = e.index});
           },
           std::move(o));
     },
     [](Recorder&) {
       return Handler{.message = id_of<muster::Create>, .terms = {with<Armor>()}, .run = [](Call& c) {
                        const auto m = as<muster::Create>(c.message);
                        if (m.parent) c.out.post(m.parent, Poke{.value = c.self.index});
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
             if (link) out.post(link->to, Poke{.value = 1});
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
                        if (const Link* link = c.value_or_null<Link>(0, room)) c.out.post(link->to, Poke{.value = 1});
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

std::span<const HandlerKind> structure_handlers() { return structure_kinds; }

}  // namespace naive
