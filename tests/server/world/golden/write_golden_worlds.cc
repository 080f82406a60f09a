#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/value_text.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/server/world/golden/golden_worlds.h"
#include "tests/server/world/golden/now.h"
#include "tests/support/folder.h"

namespace muster::golden {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t session = 5;

/// A world that is filled by names of types and fields, so that one writer serves every schema.
class Writing final : ValueReferences {
 public:
  Writing(const std::string& path, const std::string& schema, WorldOptions options)
      : world(path, [&](EntityRegistry& of) { return know(of, schema); }, std::move(options)), r(world.registry()) {}

  World world;
  EntityRegistry& r;

  const TypeDescriptor& type(const std::string& name) const {
    const TypeDescriptor* found = r.types().find("saga." + name);
    if (!found) FAIL("no type saga." << name);
    return *found;
  }
  Bytes value(const std::string& name, const FieldTexts& fields) {
    auto made = parse_struct(r.types(), type(name), fields, *this);
    if (!made) FAIL(made.error().text);
    return *made;
  }
  Entity at(const std::string& path) const {
    const Entity found = r.find_path(path);
    if (!found) FAIL("no entity " << path);
    return found;
  }

  // What batches are made of.
  using Part = std::pair<std::string, FieldTexts>;
  template <class M>
  void rows(BatchBuilder& to, Entity target, const M& message, const std::vector<Part>& parts) {
    std::vector<const TypeDescriptor*> components;
    for (const auto& [name, fields] : parts) components.push_back(&type(name));
    const RowSet set(*r.types().find(TypeTraits<M>::id), components);
    std::byte* const payload = to.append_rows(set, target);
    std::memcpy(payload, &message, sizeof message);
    for (const auto& [name, fields] : parts) {
      const Bytes bytes = value(name, fields);
      std::memcpy(payload + set.offset(type(name).id), bytes.data(), bytes.size());
    }
  }
  void put(BatchBuilder& to, Entity target, const std::string& message, const FieldTexts& fields) {
    const Bytes bytes = value(message, fields);
    std::memcpy(to.append(PayloadShape::of(type(message)), target), bytes.data(), bytes.size());
  }
  void put_table(BatchBuilder& to, Entity target, const std::string& message, const FieldTexts& fields) {
    const auto made = parse_table(r.types(), type(message), fields, *this);
    if (!made) FAIL(made.error().text);
    to.append_table(type(message).id, target, *made);
  }
  /// To one field of a component.
  SetField field(const std::string& component, const std::string& path, const std::string& given) {
    const TypeDescriptor& of = type(component);
    const auto place = r.types().place(of, path);
    if (!place) FAIL(place.error());
    const Bytes whole = value(component, {{path, given}});
    SetField set{.component = of.id, .field = hash32(path), .bytes = place->size};
    std::memcpy(set.value.data(), whole.data() + place->offset, place->size);
    return set;
  }

  void create(const std::string& parent, const std::string& name, const std::vector<Part>& parts) {
    const Entity made = r.create_under(parent.empty() ? Entity{} : at(parent), name);
    REQUIRE(made);
    BatchBuilder batch;
    rows(batch, made, Set{}, parts);
    push(batch);
  }
  void push(BatchBuilder& batch, std::uint64_t from = 0) {
    REQUIRE(r.host().push_batch(batch.bytes(), {.session = from, .request = from ? ++requests_ : 0}).refused == 0);
  }
  void timed(std::uint64_t due_ns, BatchBuilder& inner) {
    BatchBuilder batch;
    batch.append_timed(due_ns, 0, inner.front());
    push(batch);
  }
  void post(BatchBuilder& batch) { r.host().post_batch(batch.bytes()); }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) {
      const Frame frame = world.next_frame();
      r.push(Update{.dt = frame.dt});
    }
  }
  /// "camp", with a Health (or Life) of its own in its root and one of its child's fields.
  void define(const std::string& component, const FieldTexts& root, const FieldTexts& child) {
    TemplateTree camp("camp");
    const TypeDescriptor& of = type(component);
    camp.set(camp.root(), of.id, of.fingerprint, value(component, root));
    camp.set(camp.at("fire"), of.id, of.fingerprint, value(component, child));
    r.define_template(camp);
  }

 private:
  ValueResult<Entity> find_entity(std::string_view path) override { return at(std::string(path)); }
  ValueResult<Text> intern(std::string_view text) override { return r.intern(text); }
  std::string text(Text text) override { return std::string(r.text(text)); }
  std::uint64_t requests_ = 0;
};

WorldOptions options(Durability durability = Durability::checkpoint) {
  return {.hz = 60, .code = "saga", .durability = durability, .autosave = {}};
}

void write_format2(const std::string& path) {
  WorldOptions bounded = options();
  bounded.registry.cascade_messages_max = 8;
  Writing w(path, "now", bounded);
  const Subscription steps = w.r.subscribe("saga.step", [](const saga::Step& step, Entity self, Outbox& out) {
    if (step.hops > 0) out.post(self, saga::Step{.hops = step.hops - 1});
  });
  Sums sums(w.r);
  sums.sum = 42;
  w.create("", "camp/north", {{"Health", {{"value", "30.5"}, {"team", "red"}, {"marks", "loud|scarred"}}}});
  w.create("/camp\\/north", "tent", {{"Quiet", {}}, {"Health", {{"seats[3]", "9"}, {"at.x", "-2"}}}});
  w.create("", "gone", {{"Quiet", {}}});
  w.create("", "bard", {{"Bond", {{"to", "/camp\\/north/tent"}, {"word", "faith"}}}});
  w.create("", "", {{"Health", {}}});
  w.r.destroy(w.at("/gone"));
  w.define("Health", {{"value", "77"}, {"team", "blue"}}, {{"armor", "1"}});
  REQUIRE(w.r.spawn("camp", {.name = "south"}));
  w.r.set_handler_enabled("saga.elsewhere", false);
  w.r.host().grant(100, session);
  w.ticks(3);
  BatchBuilder later, say, hit, pass;
  w.put(later, w.at("/bard"), "Hit", {{"amount", "2.5"}, {"from", "/south"}});
  w.timed(90'000'000'000, later);
  w.r.push(w.at("/bard"), saga::Step{.hops = 50});  // is cut
  w.put(hit, w.at("/south"), "Hit", {{"amount", "4"}});
  w.put_table(say, w.at("/south/fire"), "Say", {{"text", "who goes there?"}, {"volume", "0.5"}});
  w.post(hit);
  w.post(say);
  w.world.save();
}

void write_journal(const std::string& path) {
  Writing w(path, "now", options(Durability::each_flush));
  w.create("", "orc", {{"Health", {{"value", "30"}}}});
  w.create("", "elf", {{"Health", {{"team", "green"}}}});
  w.define("Health", {{"value", "77"}}, {{"armor", "1"}});
  w.world.save();
  w.ticks(2);
  const Entity mine = w.r.host().grant(10, session);
  BatchBuilder edits, host;
  w.rows(edits, mine, Create{.parent = w.at("/orc"), .name = w.r.intern("axe")}, {{"Quiet", {}}});
  w.rows(edits, w.at("/orc"), Set{}, {{"Health", {{"value", "12"}, {"team", "red"}}}});
  edits.append(w.at("/elf"), w.field("Health", "value", "0.25"));
  edits.append(w.at("/elf"), w.field("Health", "at.y", "6"));
  edits.append(w.at("/elf"), Rename{.name = w.r.intern("elf of the north")});
  w.push(edits, session);
  w.put(host, w.at("/orc"), "Hit", {{"amount", "3"}});
  w.push(host);
  w.ticks(1);
}

void write_first(const std::string& path) {
  Writing w(path, "first", options());
  w.create("", "orc",
           {{"Life", {{"points", "30"}, {"team", "red"}, {"marks", "scarred"}, {"at", "1.5, 2"}, {"seats", "3, 4"}}},
            {"Burden", {{"weight", "12"}}}});
  w.create("/orc", "shield", {{"Life", {{"shield", "8"}}}, {"Quiet", {{"since", "3"}}}});
  w.create("", "bard", {{"Bond", {{"to", "/orc/shield"}, {"word", "faith"}}}, {"Quiet", {}}});
  for (int i = 0; i < 3; ++i) w.create("/bard", "", {{"Life", {{"points", std::to_string(i)}, {"team", "blue"}}}});
  w.define("Life", {{"points", "77"}, {"team", "blue"}}, {{"seats", "1, 2"}});
  REQUIRE(w.r.spawn("camp", {.name = "south"}));
  w.ticks(2);
  w.world.save();
}

void write_second(const std::string& path) {
  Writing w(path, "second", options(Durability::each_flush));
  w.create("", "orc",
           {{"Health", {{"value", "30"}, {"team", "red"}, {"at", "1.5, 2, 3"}, {"seats", "3, 4, 5"}}},
            {"Burden", {{"weight", "12"}}}});
  w.create("/orc", "axe", {{"Health", {{"armor", "1"}, {"marks", "loud"}}}, {"Quiet", {{"since", "3"}}}});
  w.create("", "bard", {{"Bond", {{"to", "/orc/axe"}, {"word", "faith"}}}});
  w.define("Health", {{"value", "77"}, {"team", "green"}}, {{"seats", "1, 2, 3"}});
  w.world.save();
  w.ticks(2);
  BatchBuilder edits;
  w.rows(edits, w.at("/bard"), Set{}, {{"Health", {{"value", "5"}, {"team", "blue"}}}});
  edits.append(w.at("/orc"), w.field("Health", "value", "-7"));
  edits.append(w.at("/orc"), Reparent{.parent = w.at("/bard")});
  edits.append(w.at("/orc"), w.field("Health", "team", "green"));
  w.push(edits, session);
  w.ticks(1);
}

void write_waiting(const std::string& path) {
  Writing w(path, "first", options());
  w.create("", "orc", {{"Life", {{"points", "30"}, {"team", "red"}}}});
  w.create("", "elf", {{"Quiet", {}}});
  const Entity orc = w.at("/orc"), elf = w.at("/elf");
  {
    BatchBuilder hit;
    for (const char* amount : {"3", "-4"}) w.put(hit, orc, "Hit", {{"amount", amount}});
    w.timed(1'000'000'000, hit);
  }
  {
    BatchBuilder set;
    w.rows(set, elf, Set{}, {{"Life", {{"points", "9"}, {"team", "blue"}}}, {"Burden", {{"weight", "2"}}}});
    w.timed(2'000'000'000, set);
  }
  {
    BatchBuilder field;
    field.append(orc, w.field("Life", "points", "21"));
    w.timed(3'000'000'000, field);
  }
  w.ticks(1);
  BatchBuilder posts;
  const std::array both{orc, elf};
  const std::vector<const TypeDescriptor*> life{&w.type("Life")};
  const RowSet rows(*w.r.types().find(TypeTraits<Set>::id), life);
  const Bytes shared = w.value("Life", {{"points", "50"}, {"marks", "loud"}});
  std::memcpy(posts.append_rows_shared(rows, both) + rows.offset(life[0]->id), shared.data(), shared.size());
  w.put_table(posts, orc, "Say", {{"text", "who goes there?"}});
  const Bytes hit = w.value("Hit", {{"amount", "6"}});
  std::memcpy(posts.append_world(PayloadShape::of(w.type("Hit"))), hit.data(), hit.size());
  std::memcpy(posts.append_subtree(PayloadShape::of(w.type("Hit")), orc, subtree_self), hit.data(), hit.size());
  w.post(posts);
  w.world.save();
}

/// A level with a history and past states, and a run with a history of its own.
void write_format3(const std::string& path) {
  WorldOptions keeping = options(Durability::each_flush);
  keeping.past_bytes = 1 << 20;
  Writing w(path, "now", keeping);
  const Sender ann{.session = session, .user = 3};
  const auto edit = [&](const std::string& health) {
    BatchBuilder batch;
    w.rows(batch, w.at("/orc"), Set{}, {{"Health", {{"value", health}}}});
    REQUIRE(w.r.host().push_batch(batch.bytes(), ann).refused == 0);
  };
  w.create("", "orc", {{"Health", {{"value", "30"}, {"team", "red"}}}});
  w.create("", "elf", {{"Quiet", {}}});
  w.world.save();
  w.ticks(2);
  edit("20");
  w.ticks(2);
  w.world.save();
  edit("10");
  BatchBuilder end;
  end.append(w.at("/elf"), Destroy{});
  REQUIRE(w.r.host().push_batch(end.bytes(), ann).refused == 0);
  edit("5");
  (void)w.world.history().apply(HistoryAct::undo, ann, Conflicts::skip, false);
  w.ticks(1);
  REQUIRE(w.world.play());
  edit("99");
  w.ticks(3);
  edit("98");
  w.ticks(1);
  w.world.save();  // another build does not make the journal's inputs again
}

}  // namespace

void write_golden_worlds(const std::string& folder) {
  write_format2(folder + "/format2.world");
  write_journal(folder + "/journal.world");
  write_first(folder + "/first.world");
  write_second(folder + "/second.world");
  write_waiting(folder + "/waiting.world");
  write_format3(folder + "/format3.world");
}

Handlers know(EntityRegistry& registry, const std::string& schema) {
  const std::string bytes = test::read_file(std::string(MUSTER_GOLDEN_BUILT) + "/" + schema + ".bfbs");
  const auto added = registry.types().add_schema(std::as_bytes(std::span(bytes)));
  if (!added) throw SetupError(added.error().text());
  return {};
}

}  // namespace muster::golden
