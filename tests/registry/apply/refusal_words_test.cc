// What a refusal says: for each way in which a message of the registry's own cannot be done the code, and which entity, type, field
// and node it is about. An editor shows it to whoever made the edit, and a client decides by it.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/apply/template.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"
#include "tests/registry/many.h"

namespace refusal_words_test {

using namespace muster;
using game::Armor, game::Health, game::Member, game::Position;

namespace {

constexpr TypeId nobodys_type = 12345;
constexpr Entity nobodys_id{900, 1};

/// A town with a tower that has a bell, a hut beside it, and who is gone.
struct World {
  EntityRegistry registry;
  Entity town = registry.create("town", Health{}), tower = registry.create_under(town, "tower");
  Entity bell = registry.create_under(tower, "bell"), hut = registry.create("hut", Armor{});
  Entity gone = registry.create("gone");
  World() { registry.destroy(gone); }

  std::vector<Entity> granted(std::uint32_t count) {
    const Entity first = registry.host().grant(count, 7);
    std::vector<Entity> ids;
    for (std::uint32_t i = 0; i < count; ++i) ids.push_back({first.index + i, 1});
    return ids;
  }
  /// As a session sends it.
  Receipt foreign(BatchBuilder& builder) { return registry.host().push_batch(builder.bytes(), 7); }
};

/// The one message was refused, for this reason, for so many targets, and nothing else happened.
void is(const char* what, const Receipt& receipt, const Refusal& expected, std::uint32_t targets = 1) {
  INFO(what);
  CHECK(receipt.refused == targets);
  CHECK(receipt.handled + receipt.unhandled + receipt.dead == 0);
  CHECK(std::string(name(receipt.refusal.code)) == name(expected.code));
  CHECK(receipt.refusal.entity == expected.entity);
  CHECK(receipt.refusal.type == expected.type);
  CHECK(receipt.refusal.field == expected.field);
  CHECK(receipt.refusal.node == expected.node);
}

/// A Create or Set with one component of any type.
template <class M>
Receipt with_component(World& world, Entity e, const M& message, PayloadShape component) {
  const RowSet rows(PayloadShape::of<M>(), std::span(&component, 1));
  BatchBuilder builder;
  std::memcpy(builder.append_rows(rows, e), &message, sizeof message);
  return world.foreign(builder);
}
constexpr PayloadShape name_shape{TypeTraits<Name>::id, 8, 8}, child_shape{TypeTraits<ChildOf>::id, 8, 8};

SetField field(TypeId component, const char* path, std::uint32_t bytes) {
  return {.component = component, .field = hash32(path), .bytes = bytes};
}

}  // namespace

TEST_CASE("every reason for a refusal has its name") {
  using enum RefusalCode;
  const std::pair<RefusalCode, const char*> names[] = {
      {none, "none"},
      {dead_entity, "dead_entity"},
      {id_not_granted, "id_not_granted"},
      {unknown_component, "unknown_component"},
      {missing_component, "missing_component"},
      {unknown_field, "unknown_field"},
      {name_taken, "name_taken"},
      {bad_name, "bad_name"},
      {cycle, "cycle"},
      {value_mismatch, "value_mismatch"},
      {text_collision, "text_collision"},
      {bad_value, "bad_value"},
      {unknown_template, "unknown_template"},
      {wrong_size, "wrong_size"},
      {component_there, "component_there"},
      {kept_by_registry, "kept_by_registry"},
      {before_is_no_child, "before_is_no_child"},
      {wrong_targets, "wrong_targets"},
      {other_layout, "other_layout"},
      {bad_template, "bad_template"},
      {timer_chosen, "timer_chosen"},
      {no_edit_log, "no_edit_log"},
      {not_in_step, "not_in_step"},
  };
  for (std::size_t i = 0; i < std::size(names); ++i) {
    CHECK(static_cast<std::size_t>(names[i].first) == i);
    CHECK(std::string(name(names[i].first)) == names[i].second);
  }
  CHECK(std::string(name(static_cast<RefusalCode>(std::size(names)))) == "unknown");
}

TEST_CASE("a refused Create says for whom and why, and its id may be used still") {
  World world;
  EntityRegistry& registry = world.registry;
  is("an id that nobody granted", registry.push(nobodys_id, Create{}), {RefusalCode::id_not_granted, nobodys_id});
  is("an id that is in use", registry.push(world.town, Create{}), {RefusalCode::id_not_granted, world.town});
  is("an id that was used", registry.push(world.gone, Create{}), {RefusalCode::id_not_granted, world.gone});
  constexpr TypeId type = TypeTraits<Create>::id;
  const auto refused = [&](const char* what, const Create& message, RefusalCode code, const char* part) {
    const Entity e = world.granted(1)[0];
    is(what, registry.push(e, message), {code, e, type, hash32(part)});
    CHECK(registry.push(e, Create{}).handled == 1);
  };
  using enum RefusalCode;
  refused("under the dead", {.parent = world.gone}, dead_entity, "parent");
  refused("before another's child", {.parent = world.town, .before = world.bell}, before_is_no_child, "before");
  refused("before the dead", {.parent = world.town, .before = world.gone}, before_is_no_child, "before");
  refused("before a root", {.before = world.hut}, before_is_no_child, "before");
  refused("a text that nobody knows", {.name = Text{77}}, bad_name, "name");
  refused("a root's name", {.name = text_of("town")}, name_taken, "name");
  refused("a sibling's name", {.parent = world.town, .name = text_of("tower")}, name_taken, "name");
  for (const PayloadShape shape : {name_shape, child_shape}) {
    const Entity e = world.granted(1)[0];
    is("a component of the registry's own", with_component(world, e, Create{}, shape),
       {kept_by_registry, e, shape.type});
  }
  for (const TypeId unknown : {nobodys_type, TypeTraits<game::Damage>::id}) {
    registry.add_type<game::Damage>();
    const Entity e = world.granted(1)[0];
    is("what is no component", with_component(world, e, Create{}, {unknown, 4, 4}), {unknown_component, e, unknown});
  }
}

TEST_CASE("a refused Set or Remove says which component it is about") {
  World world;
  using enum RefusalCode;
  const auto both = [&](Entity e, SetMode mode) {
    BatchBuilder builder;
    builder.append_rows(e, Set{.mode = mode}, Health{}, Armor{});
    return world.foreign(builder);
  };
  constexpr TypeId health = TypeTraits<Health>::id, armor = TypeTraits<Armor>::id;
  is("town has no armor", both(world.town, SetMode::replace), {missing_component, world.town, armor});
  is("town has health", both(world.town, SetMode::add), {component_there, world.town, health});
  is("hut has no health", both(world.hut, SetMode::replace), {missing_component, world.hut, health});
  is("hut has armor", both(world.hut, SetMode::add), {component_there, world.hut, armor});
  for (const PayloadShape shape : {name_shape, child_shape})
    is("what the registry keeps", with_component(world, world.town, Set{}, shape),
       {kept_by_registry, world.town, shape.type});
  is("what nobody knows", with_component(world, world.town, Set{}, {nobodys_type, 4, 4}),
     {unknown_component, world.town, nobodys_type});

  const auto remove = [&](TypeId type) { return world.registry.push(world.town, Remove{.component = type}); };
  is("the link to the parent", remove(child_shape.type), {kept_by_registry, world.town, child_shape.type});
  is("what it lacks", remove(armor), {missing_component, world.town, armor});
  is("what nobody knows", remove(nobodys_type), {unknown_component, world.town, nobodys_type});
}

TEST_CASE("a refused SetField says which field it is about, and 64 bytes are not too many") {
  World world;
  EntityRegistry& registry = world.registry;
  using enum RefusalCode;
  const Entity town = world.town;
  registry.set(town, game::Frozen{}, Member{}, Position{.at = {1, 2, 3}}, many::Wide{});
  const auto refused = [&](const char* what, const SetField& set, RefusalCode code, FieldId part) {
    is(what, registry.push(town, set), {code, town, set.component, part});
    // Compare-and-set is refused for the same reasons before it compares.
    is(what, registry.push(town, SetFieldIf{.set = set}), {code, town, set.component, part});
  };
  constexpr TypeId health = TypeTraits<Health>::id;
  refused("what nobody knows", field(nobodys_type, "value", 4), unknown_component, 0);
  refused("the name", field(name_shape.type, "text", 8), kept_by_registry, hash32("text"));
  refused("the parent", field(child_shape.type, "parent", 8), kept_by_registry, hash32("parent"));
  refused("what it lacks", field(TypeTraits<Armor>::id, "factor", 4), missing_component, 0);
  refused("a tag", field(TypeTraits<game::Frozen>::id, "reserved", 1), missing_component, 0);
  refused("no field of it", field(health, "valu", 4), unknown_field, hash32("valu"));
  refused("three bytes of four", field(health, "value", 3), wrong_size, hash32("value"));
  refused("five bytes of four", field(health, "value", 5), wrong_size, hash32("value"));
  refused("no bytes", field(health, "value", 0), wrong_size, hash32("value"));
  constexpr TypeId wide = TypeTraits<many::Wide>::id;
  refused("more than a message holds", field(wide, "more", 72), wrong_size, hash32("more"));

  SetField team = field(TypeTraits<Member>::id, "team", 1);
  team.value[0] = 9;
  is("no value of its enum", registry.push(town, team), {bad_value, town, team.component, hash32("team")});

  SetField whole = field(wide, "words", 64);
  for (std::size_t i = 0; i < whole.value.size(); ++i) whole.value[i] = static_cast<std::uint8_t>(i + 1);
  CHECK(registry.push(town, whole).handled == 1);
  CHECK(std::memcmp(&registry.get<many::Wide>(town).words, whole.value.data(), 64) == 0);

  // Each byte of what is expected counts, also the last.
  SetFieldIf next{.set = whole, .expected = whole.value};
  next.set.value[0] = 99;
  for (const std::size_t byte : {0u, 3u, 4u, 31u, 63u}) {
    SetFieldIf other = next;
    other.expected[byte] ^= 1;
    is("another byte", registry.push(town, other), {value_mismatch, town, wide, hash32("words")});
    CHECK(std::memcmp(&registry.get<many::Wide>(town).words, whole.value.data(), 64) == 0);
  }
  CHECK(registry.push(town, next).handled == 1);
  CHECK(std::memcmp(&registry.get<many::Wide>(town).words, next.set.value.data(), 64) == 0);
}

TEST_CASE("a refused Reparent or Rename says what stands in its way") {
  World world;
  EntityRegistry& registry = world.registry;
  using enum RefusalCode;
  const auto moved = [&](const char* what, Entity e, Entity parent, Entity before, RefusalCode code, const char* part) {
    is(what, registry.reparent(e, parent, before), {code, e, TypeTraits<Reparent>::id, hash32(part)});
  };
  moved("under the dead", world.hut, world.gone, {}, dead_entity, "parent");
  moved("under nobody", world.hut, nobodys_id, {}, dead_entity, "parent");
  moved("under itself", world.town, world.town, {}, cycle, "parent");
  moved("under its own", world.town, world.bell, {}, cycle, "parent");
  moved("before itself", world.bell, world.tower, world.bell, before_is_no_child, "before");
  moved("before the dead", world.hut, world.town, world.gone, before_is_no_child, "before");
  moved("before another's", world.hut, world.town, world.bell, before_is_no_child, "before");
  moved("before a root", world.tower, {}, world.hut, before_is_no_child, "before");
  const Entity other = registry.create_under(world.hut, "tower");
  moved("beside its name", other, world.town, {}, name_taken, "parent");
  const Entity stranger = registry.create_under(world.hut, "town");
  moved("beside a root's name", stranger, {}, {}, name_taken, "parent");

  const auto renamed = [&](const char* what, Entity e, Text to, RefusalCode code) {
    is(what, registry.push(e, Rename{.name = to}), {code, e, TypeTraits<Rename>::id, hash32("name")});
  };
  renamed("a text that nobody knows", world.hut, Text{77}, bad_name);
  renamed("a root's name", world.hut, text_of("town"), name_taken);
  renamed("a sibling's name", registry.create_under(world.town, "shed"), text_of("tower"), name_taken);
}

TEST_CASE("a message that goes to the wrong ones says which message it was, and to whom") {
  World world;
  EntityRegistry& registry = world.registry;
  using enum RefusalCode;
  is("Destroy to the world", registry.push(Destroy{}), {wrong_targets, {}, TypeTraits<Destroy>::id});
  is("Rename to a line", registry.push_subtree(world.town, subtree_self, Rename{}),
     {wrong_targets, world.town, TypeTraits<Rename>::id});
  BatchBuilder inner;
  inner.append(world.town, game::Damage{});
  registry.add_type<game::Damage>();
  BatchBuilder timed;
  timed.append_timed(1'000, 5, inner.front());
  is("a stranger's own number of a timer", world.foreign(timed), {timer_chosen, {}, TypeTraits<game::Damage>::id});
}

TEST_CASE("a refused Spawn says which of its ids or which part of it is wrong, and all its ids may be used still") {
  World world;
  EntityRegistry& registry = world.registry;
  using enum RefusalCode;
  TemplateTree pair("pair");
  pair.set("", Health{}).set("left", Armor{});
  registry.define_template(pair);
  constexpr TypeId type = TypeTraits<Spawn>::id;
  const auto spawn = [&](std::span<const Entity> ids, muster::Spawn how, const auto&... root) {
    if (!how.what) how.what = text_of("pair");
    BatchBuilder builder;
    append_spawn(builder, ids, how, root...);
    return world.foreign(builder);
  };
  const auto refused = [&](const char* what, const muster::Spawn& how, RefusalCode code, const char* part,
                           std::uint32_t ids_wanted = 2) {
    const std::vector<Entity> ids = world.granted(ids_wanted);
    is(what, spawn(ids, how), {code, ids[0], type, part ? hash32(part) : 0}, ids_wanted);
    for (const Entity e : ids) CHECK(registry.host().storage().in_state(e, IdState::granted));
  };
  refused("no such template", {.what = text_of("trio")}, unknown_template, "what");
  refused("an id too few", {}, wrong_targets, nullptr, 3);
  refused("under the dead", {.parent = world.gone}, dead_entity, "parent");
  refused("before another's", {.parent = world.town, .before = world.bell}, before_is_no_child, "before");
  refused("before the dead", {.parent = world.town, .before = world.gone}, before_is_no_child, "before");
  refused("before a root", {.before = world.hut}, before_is_no_child, "before");
  refused("a text that nobody knows", {.name = Text{77}}, bad_name, "name");
  refused("a root's name", {.name = text_of("town"), .clash = NameClash::refuse}, name_taken, "name");
  refused("one name for two", {.name = text_of("bell"), .clash = NameClash::refuse}, name_taken, "name", 4);

  std::vector<Entity> ids = world.granted(4);
  const Entity strange[] = {ids[0], nobodys_id};
  is("an id that nobody granted", spawn(strange, {}), {id_not_granted, nobodys_id, type}, 2);
  const Entity used[] = {ids[0], world.town};
  is("an id that is in use", spawn(used, {}), {id_not_granted, world.town, type}, 2);
  const Entity twice[] = {ids[0], ids[2], ids[1], ids[2]};
  is("an id twice", spawn(twice, {}), {id_not_granted, ids[2], type}, 4);
  is("a name as a component", spawn(std::span(ids).first(2), {}, Name{}), {kept_by_registry, ids[0], name_shape.type},
     2);
  CHECK(spawn(ids, {}).handled == 4);
}

TEST_CASE("a refused MergeTemplate says which of its ids is wrong") {
  World world;
  EntityRegistry& registry = world.registry;
  using enum RefusalCode;
  TemplateTree roof("roof");
  roof.set("tower", Armor{}).set("flag", Health{});  // the town has a tower, and no flag
  registry.define_template(roof);
  constexpr TypeId type = TypeTraits<MergeTemplate>::id;
  const auto merge = [&](std::span<const Entity> ids, const char* what = "roof") {
    BatchBuilder builder;
    builder.append_shared(ids, MergeTemplate{.what = text_of(what)});
    return world.foreign(builder);
  };
  const std::vector<Entity> fresh = world.granted(2);
  const auto refused = [&](const char* what, std::initializer_list<Entity> ids, const Refusal& why) {
    is(what, merge(std::vector<Entity>(ids)), why, static_cast<std::uint32_t>(ids.size()));
    for (const Entity e : fresh) CHECK(registry.host().storage().in_state(e, IdState::granted));
  };
  is("no such template", merge(std::vector{world.town, world.tower, fresh[0]}, "wall"),
     {unknown_template, world.town, type, hash32("what")}, 3);
  refused("an id too few", {world.town, world.tower}, {wrong_targets, world.town, type});
  refused("nobody at the top", {world.gone, world.tower, fresh[0]}, {dead_entity, world.gone, type});
  refused("an id twice", {world.town, fresh[1], fresh[1]}, {wrong_targets, fresh[1], type});
  refused("another than the child there", {world.town, fresh[1], fresh[0]}, {name_taken, fresh[1], type});
  refused("an id that nobody granted", {world.town, world.tower, nobodys_id}, {id_not_granted, nobodys_id, type});
  CHECK(merge(std::vector{world.town, world.tower, fresh[0]}).handled == 3);
}

TEST_CASE("a refused DefineTemplate says which value of which node, and which part of it") {
  World world;
  EntityRegistry& registry = world.registry;
  registry.add_type<game::Damage>();
  registry.add_type<game::Frozen>();
  registry.add_type<game::Vec3>();
  using enum RefusalCode;
  const auto value = []<class T>(const T& of) {
    TemplateValue made{.type = TypeTraits<T>::id, .fingerprint = TypeTraits<T>::fingerprint};
    const auto bytes = std::as_bytes(std::span(&of, 1));
    for (const std::byte byte : bytes) made.value.push_back(std::to_integer<std::uint8_t>(byte));
    return made;
  };
  const auto refused = [&](const char* what, auto change, const Refusal& why) {
    DefineTemplate defined{.name = "pair", .nodes = {}, .texts = {}};
    defined.nodes.resize(2);
    defined.nodes[1].components = {value(Member{})};
    change(defined.nodes[1]);
    is(what, registry.push(defined), why);
    CHECK(registry.host().template_count() == 0);
  };
  constexpr TypeId member = TypeTraits<Member>::id, damage = TypeTraits<game::Damage>::id;
  using Node = TemplateNode;
  const auto part = [](const char* text) { return hash32(text); };
  refused("the same component twice", [&](Node& n) { n.components.push_back(value(Member{})); },
          {bad_template, {}, member, part("components"), 1});
  refused("what nobody knows", [&](Node& n) { n.components[0].type = nobodys_type; },
          {unknown_component, {}, nobodys_type, 0, 1});
  refused("a message as a component", [&](Node& n) { n.components = {value(game::Damage{})}; },
          {unknown_component, {}, damage, 0, 1});
  refused("a component as a message", [&](Node& n) { n.messages = {value(Member{})}; },
          {bad_template, {}, member, part("type"), 1});
  refused("a part of others as a message", [&](Node& n) { n.messages = {value(game::Vec3{})}; },
          {bad_template, {}, TypeTraits<game::Vec3>::id, part("type"), 1});
  refused("a name", [&](Node& n) { n.components = {value(Name{})}; }, {kept_by_registry, {}, name_shape.type, 0, 1});
  refused("a message of the registry's own", [&](Node& n) { n.messages = {value(Destroy{})}; },
          {kept_by_registry, {}, TypeTraits<Destroy>::id, 0, 1});
  refused("another layout", [&](Node& n) { ++n.components[0].fingerprint; }, {other_layout, {}, member, 0, 1});
  refused("a byte too few", [&](Node& n) { n.components[0].value.pop_back(); }, {bad_value, {}, member, 0, 1});
  refused("no value of its enum", [&](Node& n) { n.components[0].value[0] = 9; }, {bad_value, {}, member, 0, 1});
  constexpr auto size = static_cast<std::uint32_t>(sizeof(Member));
  for (const TemplateSpan span : {TemplateSpan{.offset = size + 1, .bytes = 0},
                                  {.offset = size, .bytes = 1},
                                  {.offset = 1, .bytes = size},
                                  {.offset = 4, .bytes = ~0u}})
    refused("gives what is behind the value", [&](Node& n) { n.components[0].given = {span}; },
            {bad_template, {}, member, part("given"), 1});
  constexpr auto squad = static_cast<std::uint32_t>(offsetof(Member, squad));
  for (const TemplateReference reference : {TemplateReference{.offset = squad, .node = 2},
                                            {.offset = squad, .node = ~0u},
                                            {.offset = 0, .node = 0},
                                            {.offset = squad + 4, .node = 0}})
    refused("refers to no node, or from no field", [&](Node& n) { n.components[0].references = {reference}; },
            {bad_template, {}, member, part("references"), 1});
  refused("a tag refers",
          [&](Node& n) {
            n.components = {value(game::Frozen{})};
            n.components[0].references = {{.offset = 0, .node = 0}};
          },
          {bad_template, {}, TypeTraits<game::Frozen>::id, part("references"), 1});
  is("no name", registry.push(DefineTemplate{}),
     {bad_name, {}, TypeTraits<DefineTemplate>::id, part("name"), Refusal::no_node});
}

}  // namespace refusal_words_test
