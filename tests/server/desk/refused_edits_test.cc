// What the world's refusals say: each code with its whole sentence, and with the parts that programs read.
#include <catch2/catch.hpp>
#include <string>

#include "server/edits/refusal_text.h"
#include "tests/server/arena.h"

using namespace muster;

TEST_CASE("each code of a refusal has its sentence, with the message, the field and the entity that it is about",
          "[refusals]") {
  EntityRegistry registry;
  registry.add_type<arena::Damage>();
  registry.add_type<DefineTemplate>();
  registry.add_type<TemplateNode>();
  const Entity town = registry.create("town");
  const Entity orc = registry.create_under(town, "orc", arena::Health{.value = 30});
  const Entity dead{900, 3};
  const TypeId health = TypeTraits<arena::Health>::id, damage = TypeTraits<arena::Damage>::id,
               create = TypeTraits<Create>::id, spawn = TypeTraits<Spawn>::id, name_of = TypeTraits<Name>::id,
               template_of = TypeTraits<DefineTemplate>::id;
  const FieldId value = hash32("value");
  const std::string shown = "#" + std::to_string(orc.index) + ":1 (/town/orc)";
  const std::string bad =
      " cannot have that value: a bool is 0 or 1, an enum has one of its values, padding is zero, and "
      "it has the size of its type";
  using Code = RefusalCode;
  struct Said {
    Refusal refusal;
    std::string text, field = {};
  };
  const auto node = [](Code code, TypeId type, const char* field, std::uint32_t number) {
    return Refusal{code, {}, type, *field ? hash32(field) : FieldId{0}, number};
  };
  const std::vector<Said> all = {
      {{Code::none, orc}, "refused"},
      {{Code::dead_entity, dead, damage}, "#900:3 is not alive"},
      {{Code::id_not_granted, dead, create}, "#900:3 was never granted, or is already used"},
      {{Code::unknown_component, orc, 5}, "type 5 is not a component of this world"},
      {{Code::unknown_component, orc, damage}, "arena.Damage is not a component of this world"},
      {{Code::missing_component, town, health}, "#" + std::to_string(town.index) + ":1 (/town) has no arena.Health"},
      {{Code::unknown_field, orc, health, 77}, "arena.Health has no field of id 77"},
      {{Code::name_taken, orc, name_of}, shown + " would get a name that is taken by a sibling"},
      {{Code::bad_name, orc, name_of}, shown + " would get a name whose text the world does not know"},
      {{Code::cycle, orc}, shown + " would become its own descendant"},
      {{Code::value_mismatch, orc, health, value},
       "arena.Health.value of " + shown + " is not what was expected",
       "value"},
      {{Code::value_mismatch, orc, health}, "arena.Health of " + shown + " is not what was expected"},
      {{Code::text_collision}, "another text has the same hash"},
      {{Code::bad_value, orc, health, value}, "arena.Health.value of " + shown + bad, "value"},
      {{Code::bad_value, {}, damage, hash32("amount")}, "arena.Damage.amount of the world" + bad, "amount"},
      {{Code::wrong_size, orc, health, value},
       "arena.Health.value of " + shown +
           " has 4 bytes, the message says another number or it is more than a SetField "
           "holds",
       "value"},
      {{Code::wrong_size, orc, health},
       "arena.Health of " + shown +
           " has another number of bytes, the message says another number or it is more than a "
           "SetField holds"},
      {{Code::component_there, orc, health}, shown + " has a arena.Health already"},
      {{Code::kept_by_registry, orc, name_of}, "muster.Name can be written only by Create, Rename and Reparent"},
      {{Code::kept_by_registry, orc, template_of},
       "muster.DefineTemplate is a message of the registry itself, which templates cannot send"},
      {{Code::before_is_no_child, orc}, "before is not a child of the parent that " + shown + " would get"},
      {{Code::wrong_targets, {}, spawn},
       "muster.Spawn has another number of targets than the template has nodes, or one of them twice"},
      {{Code::wrong_targets, {}, create},
       "muster.Create cannot be sent there: it says what becomes of entities that are named one by one"},
      {{Code::other_layout, {}, health}, "arena.Health has a different layout in this world"},
      {{Code::timer_chosen},
       "the world numbers timers itself: this one has its own number, or that of a waiting timer"},
      {{Code::no_edit_log, {}, TypeTraits<Step>::id},
       "this world keeps no history, so it could not take back a Step if a part of it were refused"},
      {{Code::not_in_step, {}, TypeTraits<CancelTimer>::id},
       "muster.CancelTimer cannot be part of a Step, because it cannot be taken back"},
      {{Code::unknown_template}, "the world has no template of that name"},
      {node(Code::name_taken, template_of, "", 3), "node 3 of the template: its name is taken by a sibling",
       "nodes[3]"},
      {node(Code::bad_value, health, "value", 2), "node 2 of the template: arena.Health" + bad, "nodes[2]"},
      {node(Code::other_layout, health, "", 1),
       "node 1 of the template: arena.Health has a different layout in this world", "nodes[1]"},
      {node(Code::bad_template, health, "parent", 1),
       "node 1 of the template: its parent is neither the preceding node nor above it: nodes are in pre-order, and the "
       "first has parent 0",
       "nodes[1]"},
      {node(Code::bad_template, health, "name", 0),
       "node 0 of the template: the first node has a name, but Spawn gives it one", "nodes[0]"},
      {node(Code::bad_template, health, "components", 1),
       "node 1 of the template: arena.Health is duplicated or out of order: components must ascend by type id",
       "nodes[1]"},
      {node(Code::bad_template, health, "type", 1), "node 1 of the template: arena.Health is not a message",
       "nodes[1]"},
      {node(Code::bad_template, health, "given", 1),
       "node 1 of the template: a given part of arena.Health lies outside its value", "nodes[1]"},
      {node(Code::bad_template, health, "references", 1),
       "node 1 of the template: a reference of arena.Health is not at a muster.Entity field, or names a node that does "
       "not exist",
       "nodes[1]"},
      {node(Code::bad_template, health, "", 1), "node 1 of the template: arena.Health is not allowed there",
       "nodes[1]"},
      {{Code::bad_name, {}, template_of, hash32("name")},
       "the world would get a name whose text the world does not know",
       "name"},
  };
  for (const Said& each : all) {
    CAPTURE(each.text);
    const Receipt receipt{
        .sequence = 12, .handled = 2, .unhandled = 3, .dead = 4, .refused = 1, .refusal = each.refusal};
    session::Fault fault = refusal_fault(registry, {}, receipt);
    CHECK(fault.code == session::FaultCode::refused);
    CHECK(fault.reason == name(each.refusal.code));
    CHECK(fault.text == each.text);
    CHECK(fault.field == each.field);
    CHECK(fault.entity == each.refusal.entity);
    CHECK(fault.type == each.refusal.type);
    CHECK(fault.sequence == 12);
    CHECK(fault.handled == 2);
    CHECK(fault.unhandled == 3);
    CHECK(fault.dead == 4);
    CHECK(fault.refused == 1);
    CHECK_FALSE(fault.closes);
    // What the field holds now, where there is one.
    const bool holds = each.refusal.entity == orc && each.refusal.type == health && each.refusal.field == value;
    const float now = 30;
    CHECK(fault.value.size() == (holds ? 4 : 0));
    if (holds) CHECK(std::memcmp(fault.value.data(), &now, sizeof now) == 0);
    Receipt several = receipt;
    several.refused = 2;
    CHECK(refusal_fault(registry, {}, several).text == each.text + "; 2 targets were refused; this is the first");
  }
}
