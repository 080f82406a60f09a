// What a game says itself about values of an older layout, where the rules of docs/schema.md ("Worlds that were saved with an older
// schema") cannot know: a field that became two, another unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>

#include "registry/entity_registry.h"
#include "schema/descriptor.h"

namespace muster {

/// A value as it was saved. Fields are named by dotted paths of the older layout, "position.x", "slots[2]"; of one that it has not got
/// the answer is zero. Valid during the call.
class OldValue {
 public:
  using Find = std::function<const TypeDescriptor*(TypeId)>;
  /// `find` gives the structs nested in the type, by the layouts of then.
  OldValue(const TypeDescriptor& type, std::span<const std::byte> bytes, const Find& find)
      : type_(type), bytes_(bytes), find_(find) {}

  const TypeDescriptor& type() const noexcept { return type_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  bool has(std::string_view path) const;
  /// A number, bool, or an enum's number.
  double number(std::string_view path) const;
  /// The same where it is no float; of a text its hash.
  std::int64_t integer(std::string_view path) const;
  Entity entity(std::string_view path) const;
  /// The name that an enum's value had; empty where it had none.
  std::string_view name(std::string_view path) const;

 private:
  struct Place {
    const FieldDescriptor* field = nullptr;
    const std::byte* at = nullptr;
  };
  Place place(std::string_view path) const;

  const TypeDescriptor& type_;
  std::span<const std::byte> bytes_;
  const Find& find_;
};

/// `now`: the value of the newer layout, which has what the rules could make of it.
using Conversion = void (*)(const OldValue& then, void* now);
/// By the type as it is known now.
using Conversions = std::map<TypeId, Conversion>;

/// Before EntityRegistry::load(); the last one of a type counts.
void add_conversion(EntityRegistry& registry, TypeId type, Conversion conversion);
/// Those of a registry, which outlives them.
const Conversions& conversions(const EntityRegistry& registry);

/// Says what becomes of values of C that were saved with another layout: `convert` is called for each of them (in rows, templates, messages
/// that wait, edits of a journal) after the rules made of it what they could. A field that these cannot convert has its default then,
/// and refuses nothing. C is a component or a message that is a struct. `convert` must depend on nothing but the value. To be called
/// where handlers are installed, before state is loaded.
///   void door_of_older(const muster::OldValue& then, game::Door& now);
///   muster::add_conversion<game::Door, door_of_older>(registry);
template <GeneratedType C, void (*convert)(const OldValue&, C&)>
void add_conversion(EntityRegistry& registry) {
  registry.add_type<C>();
  add_conversion(registry, TypeTraits<C>::id,
                 [](const OldValue& then, void* now) { convert(then, *static_cast<C*>(now)); });
}

}  // namespace muster
