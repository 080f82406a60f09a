#include "tests/model/trial_types.h"

namespace naive {

namespace {

using Paths = std::vector<std::pair<std::string, KnownType::Spot>>;

const std::map<TypeId, Paths>& all_paths() {
  static const std::map<TypeId, Paths> paths = [] {
    std::map<TypeId, Paths> made;
    made[id_of<trial::Life>] = {{"value", {0, 4}}, {"most", {4, 4}}};
    made[id_of<trial::Armor>] = {{"factor", {0, 4}}};
    made[id_of<trial::Place>] = {{"at", {0, 12}},       {"at.x", {0, 4}},      {"at.y", {4, 4}},
                                 {"at.z", {8, 4}},      {"slots", {12, 8}},    {"slots[0]", {12, 2}},
                                 {"slots[1]", {14, 2}}, {"slots[2]", {16, 2}}, {"slots[3]", {18, 2}}};
    made[id_of<trial::Link>] = {{"to", {0, 8}}, {"weight", {8, 8}}};
    made[id_of<trial::Flags>] = {{"on", {0, 1}}, {"team", {1, 1}}, {"level", {4, 4}}};
    made[id_of<trial::Wide>] = {{"low", {0, 8}}, {"high", {8, 8}}};
    made[id_of<trial::Tally>] = {{"calls", {0, 4}}, {"sum", {4, 4}}};
    made[id_of<trial::Big>] = {{"bytes", {0, 80}}};
    for (std::size_t i = 0; i < 80; ++i)
      made[id_of<trial::Big>].push_back({"bytes[" + std::to_string(i) + "]", {i, 1}});
    made[id_of<trial::Shield>] = {{"strength", {0, 4}}, {"left", {4, 4}}, {"by", {8, 8}}};
    made[id_of<trial::Frozen>] = {{"reserved", {0, 1}}};
    made[muster::hash32("foreign.Mana")] = {{"value", {0, 4}}};
    return made;
  }();
  return paths;
}

}  // namespace

const Paths& field_paths(TypeId component) {
  static const Paths none;
  const auto at = all_paths().find(component);
  return at == all_paths().end() ? none : at->second;
}

const Types& trial_types() {
  static const Types types = [] {
    Types made;
    const auto component = [&](TypeId id, std::string name, std::size_t size, bool tag = false) -> KnownType& {
      KnownType& type = made[id];
      type.name = std::move(name);
      type.component = true;
      type.tag = tag;
      type.size = size;
      for (const auto& [path, spot] : field_paths(id)) type.fields[muster::hash32(path)] = spot;
      return type;
    };
    component(id_of<trial::Life>, "Life", 8);
    component(id_of<trial::Armor>, "Armor", 4);
    component(id_of<trial::Place>, "Place", 20);
    component(id_of<trial::Link>, "Link", 16);
    component(id_of<trial::Flags>, "Flags", 8).good = [](const Bytes& value) {
      const auto on = static_cast<unsigned char>(value[0]), team = static_cast<unsigned char>(value[1]);
      return on <= 1 && (team <= 1 || team == 4) && value[2] == 0 && value[3] == 0;
    };
    component(id_of<trial::Wide>, "Wide", 16);
    component(id_of<trial::Tally>, "Tally", 8);
    component(id_of<trial::Big>, "Big", 80);
    component(id_of<trial::Frozen>, "Frozen", 1, true);
    component(id_of<trial::Marked>, "Marked", 1, true);
    component(id_of<Voice>, "Voice", 1, true).runtime = true;
    component(id_of<Spark>, "Spark", 1, true).runtime = true;
    component(id_of<trial::Shield>, "Shield", 16).enableable = true;
    component(id_of<trial::Stunned>, "Stunned", 1, true).enableable = true;
    component(muster::hash32("foreign.Mana"), "foreign.Mana", 4);
    component(id_of<muster::Name>, "Name", 8);
    component(id_of<muster::ChildOf>, "ChildOf", 8);
    const auto message = [&](TypeId id, std::string name) -> KnownType& {
      made[id].name = std::move(name);
      return made[id];
    };
    message(id_of<trial::Hit>, "Hit");
    message(id_of<trial::Poke>, "Poke");
    message(id_of<trial::Nudge>, "Nudge");
    message(id_of<trial::Tick>, "Tick");
    message(id_of<trial::Beat>, "Beat");
    message(id_of<trial::Grow>, "Grow");
    message(id_of<trial::Kill>, "Kill");
    message(id_of<trial::Chain>, "Chain");
    message(id_of<trial::Alarm>, "Alarm");
    message(id_of<trial::Turn>, "Turn");
    message(id_of<trial::Broad>, "Broad");
    message(id_of<trial::Orphan>, "Orphan");
    message(id_of<trial::Enlist>, "Enlist");
    message(id_of<trial::Raise>, "Raise");
    message(id_of<trial::Stock>, "Stock");
    message(id_of<trial::Say>, "Say");
    message(muster::hash32("foreign.Charge"), "foreign.Charge");
    message(id_of<muster::Update>, "Update");
    message(id_of<muster::Activated>, "Activated");
    message(id_of<muster::Loaded>, "Loaded");
    message(id_of<muster::Deactivated>, "Deactivated");
    const auto builtin = [&](TypeId id, std::string name) { message(id, std::move(name)).builtin = true; };
    builtin(id_of<muster::Advance>, "Advance");
    builtin(id_of<muster::ComponentChanged>, "ComponentChanged");
    builtin(id_of<muster::Create>, "Create");
    builtin(id_of<muster::Destroy>, "Destroy");
    builtin(id_of<muster::Set>, "Set");
    builtin(id_of<muster::Remove>, "Remove");
    builtin(id_of<muster::SetField>, "SetField");
    builtin(id_of<muster::SetFieldIf>, "SetFieldIf");
    builtin(id_of<muster::Reparent>, "Reparent");
    builtin(id_of<muster::Rename>, "Rename");
    builtin(id_of<muster::InternText>, "InternText");
    builtin(id_of<muster::Grant>, "Grant");
    builtin(id_of<muster::ReturnGrant>, "ReturnGrant");
    builtin(id_of<muster::CancelTimer>, "CancelTimer");
    builtin(id_of<muster::Spawn>, "Spawn");
    builtin(id_of<muster::MergeTemplate>, "MergeTemplate");
    builtin(id_of<muster::DefineTemplate>, "DefineTemplate");
    builtin(id_of<muster::EnableHandler>, "EnableHandler");
    builtin(id_of<muster::DropCarried>, "DropCarried");
    builtin(id_of<muster::HandlerRequest>, "HandlerRequest");
    return made;
  }();
  return types;
}

}  // namespace naive
