// Decides what a step of a random program does, from one number and what the model says of the world.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/model/steps/actions.h"
#include "tests/model/trial_types.h"

namespace naive {

/// Decides with one generator. Arguments of a function are evaluated in whatever order the compiler likes (those in braces
/// are not): what draws numbers gets a name first.
class Decider {
 public:
  Decider(std::uint64_t seed, const Situation& situation)
      : random_(seed), s_(situation), model_(situation.model), living_(situation.model.row_order()) {}

  Action decide(Do what);

 private:
  Entity alive() { return living_.empty() ? Entity{} : living_[random_.below(living_.size())]; }
  /// Mostly somebody alive, sometimes everything else an id can be.
  Entity somebody();
  Entity child_of(Entity parent);
  std::uint64_t timer() { return model_.next_timer - std::min(model_.next_timer, random_.below(6)); }
  void subscribe(Action& a);
  std::string handler_name();

  // --- components: decide_values.cc
  /// Calls f.operator()<T>() for each component that this program may draw.
  template <class F>
  void each_drawn(F&& f) {
    each_component(f);
    if (s_.enableable) each_enableable(f);
  }
  template <class T>
  T value();
  std::int32_t int32(std::uint32_t end) { return static_cast<std::int32_t>(random_.small(end)); }
  template <class... Ts>
  RowValues rows();
  Bytes value_of(TypeId component);
  /// A set that participant.cc can give to the typed functions.
  RowValues typed_rows();
  RowValues any_rows();
  TypeId any_component();
  TypeId component_of(Entity e);

  // --- messages: decide_values.cc
  TypeId message_type();
  Bytes payload(TypeId type);
  Bytes say();
  Message to_one(TypeId type);
  Message to_world();
  std::vector<Entity> several();
  Message to_somebody(TypeId type);
  Text some_text();
  muster::NameClash clash() { return random_.percent(50) ? muster::NameClash::refuse : muster::NameClash::suffix; }

  // --- batches, as an editor or a client sends them: decide_batches.cc
  Messages foreign();
  std::vector<Messages> several_batches();
  /// Many messages at once, most of them to nobody, so that queues need memory of other sizes.
  void flood(Action& a);
  Message foreign(std::uint64_t kind);
  Message create_message(std::uint64_t kind);
  Message say_message();
  Entity id_for_create();
  std::vector<Entity> ids_for_create(std::size_t count);
  muster::SetField set_field(Entity e, TypeId component);
  muster::SetFieldIf set_field_if(Entity e, TypeId component);

  // --- templates: decide_templates.cc
  void define(Action& a);
  void spawn(Action& a);
  TemplateSpec template_tree();
  TemplateSpec template_of(Entity e);
  void spoil(TemplateSpec& spec);
  void grow(TemplateSpec& spec, TemplateNode& node, unsigned& left);
  void refer(TemplateNode& node, unsigned keys);
  template <class T>
  void add_part(TemplateNode& node);
  Message spawn_message();
  Message merge_message();
  Message define_message();

  Random random_;
  const Situation& s_;
  const Model& model_;
  std::vector<Entity> living_;
};

}  // namespace naive
