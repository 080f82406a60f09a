// The types of trial.fbs and foreign.fbs as the naive model is told of them: by hand, so that it does not learn its layouts
// from what it is to check.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "tests/model/foreign.h"
#include "tests/model/naive/naive_messages.h"
#include "tests/model/trial.h"
#include "tests/model/voice.h"

namespace naive {

/// Calls f.operator()<T>() for each component of trial.fbs and each runtime component, but those of each_enableable().
template <class F>
void each_component(F&& f) {
  f.template operator()<trial::Life>();
  f.template operator()<trial::Armor>();
  f.template operator()<trial::Place>();
  f.template operator()<trial::Link>();
  f.template operator()<trial::Flags>();
  f.template operator()<trial::Wide>();
  f.template operator()<trial::Tally>();
  f.template operator()<trial::Big>();
  f.template operator()<trial::Frozen>();
  f.template operator()<trial::Marked>();
  f.template operator()<muster::Has<Voice>>();
  f.template operator()<muster::Has<Spark>>();
}

/// The same for those that come and go without their rows moving.
template <class F>
void each_enableable(F&& f) {
  f.template operator()<trial::Shield>();
  f.template operator()<trial::Stunned>();
}

/// Calls f(message) with the message of trial.fbs (or Update) that has this type; false where there is none.
template <class F>
bool with_message(TypeId type, const Bytes& payload, F&& f) {
  bool found = false;
  const auto one = [&]<class M>() {
    if (type != id_of<M>) return;
    found = true;
    f(as<M>(payload));
  };
  one.template operator()<trial::Hit>();
  one.template operator()<trial::Poke>();
  one.template operator()<trial::Nudge>();
  one.template operator()<trial::Tick>();
  one.template operator()<trial::Beat>();
  one.template operator()<trial::Grow>();
  one.template operator()<trial::Kill>();
  one.template operator()<trial::Chain>();
  one.template operator()<trial::Alarm>();
  one.template operator()<trial::Turn>();
  one.template operator()<trial::Broad>();
  one.template operator()<trial::Enlist>();
  one.template operator()<trial::Raise>();
  one.template operator()<trial::Stock>();
  one.template operator()<trial::Orphan>();
  one.template operator()<muster::Update>();
  one.template operator()<muster::Destroy>();
  one.template operator()<muster::Remove>();
  one.template operator()<muster::SetField>();
  one.template operator()<muster::SetFieldIf>();
  one.template operator()<muster::Reparent>();
  one.template operator()<muster::Rename>();
  one.template operator()<muster::Create>();
  one.template operator()<muster::CancelTimer>();
  return found;
}

const Types& trial_types();
/// The paths of a component's fields, for making SetField messages.
const std::vector<std::pair<std::string, KnownType::Spot>>& field_paths(TypeId component);

}  // namespace naive
