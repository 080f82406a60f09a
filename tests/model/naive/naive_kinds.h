// Which messages the registry acts on itself, as the naive model is told.
#pragma once

#include <set>

#include "tests/model/naive/naive_messages.h"

namespace naive {

inline constexpr TypeId name_type = id_of<muster::Name>;
inline constexpr TypeId child_of_type = id_of<muster::ChildOf>;

/// What brings or changes whole trees: all ids of one are one message's.
inline bool is_tree(TypeId type) { return type == id_of<muster::Spawn> || type == id_of<muster::MergeTemplate>; }

/// Messages that change entities, done by the registry itself.
inline bool is_structural(TypeId type) {
  static const std::set<TypeId> all{id_of<muster::ComponentChanged>,
                                    id_of<muster::Create>,
                                    id_of<muster::Destroy>,
                                    id_of<muster::Set>,
                                    id_of<muster::Remove>,
                                    id_of<muster::SetField>,
                                    id_of<muster::SetFieldIf>,
                                    id_of<muster::Reparent>,
                                    id_of<muster::Rename>};
  return all.contains(type) || is_tree(type);
}

/// Messages that the registry itself takes where they are sent to the world.
inline bool is_worldly(TypeId type) {
  static const std::set<TypeId> all{
      id_of<muster::InternText>,    id_of<muster::Grant>,          id_of<muster::ReturnGrant>,
      id_of<muster::CancelTimer>,   id_of<muster::Advance>,        id_of<muster::DefineTemplate>,
      id_of<muster::EnableHandler>, id_of<muster::HandlerRequest>, id_of<muster::DropCarried>};
  return all.contains(type);
}

inline Refusal refuse(RefusalCode code, Entity e, TypeId type = 0, FieldId field = 0) { return {code, e, type, field}; }

inline void note(const Refusal& refusal, Receipt& receipt) {
  if (receipt.refused++ == 0) receipt.refusal = refusal;
}

inline Text text_of(std::string_view text) { return text.empty() ? Text{} : Text{muster::hash64(text)}; }

}  // namespace naive
