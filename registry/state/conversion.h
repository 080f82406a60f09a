// Lets a game convert values of older layouts itself if the rules in docs/schema.md ("Worlds that
// were saved with an older schema") are not enough, for example if a field was split in two or
// changed its unit.
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

/// A saved value. Fields are named by dotted paths of the older layout, "position.x" or "slots[2]";
/// reading a missing field returns zero. Valid during the call.
class OldValue {
 public:
  using Find = std::function<const TypeDescriptor*(TypeId)>;
  /// `find` returns the saved layouts of structs nested in the type.
  OldValue(const TypeDescriptor& type, std::span<const std::byte> bytes, const Find& find)
      : type_(type), bytes_(bytes), find_(find) {}

  const TypeDescriptor& type() const noexcept { return type_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  bool has(std::string_view path) const;
  /// The value of a number, bool or enum.
  double number(std::string_view path) const;
  /// Like number(), for fields that are not floats. For a text, returns its hash.
  std::int64_t integer(std::string_view path) const;
  Entity entity(std::string_view path) const;
  /// The saved name of an enum's value; empty if it had none.
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

/// `now` is the value in the current layout, as far as the rules could convert it.
using Conversion = void (*)(const OldValue& then, void* now);
/// Keyed by the current type.
using Conversions = std::map<TypeId, Conversion>;

/// Must be called before EntityRegistry::load(). If a type gets several conversions, the last one
/// is used.
void add_conversion(EntityRegistry& registry, TypeId type, Conversion conversion);
/// Returns the conversions of a registry, which must outlive the result.
const Conversions& conversions(const EntityRegistry& registry);

/// Adds a conversion for values of C that were saved with another layout. `convert` is called for
/// each of them (in rows, templates, waiting messages and journal edits) after the rules have
/// converted the fields that they can. A field that they cannot convert then has its default and is
/// not an error. C must be a component, or a message that is a struct. `convert` must depend on
/// nothing but the value. Call this function when handlers are installed, before state is loaded.
///   void door_of_older(const muster::OldValue& then, game::Door& now);
///   muster::add_conversion<game::Door, door_of_older>(registry);
template <GeneratedType C, void (*convert)(const OldValue&, C&)>
void add_conversion(EntityRegistry& registry) {
  registry.add_type<C>();
  add_conversion(registry, TypeTraits<C>::id,
                 [](const OldValue& then, void* now) { convert(then, *static_cast<C*>(now)); });
}

}  // namespace muster
