// Lets a game supply its own conversions for values that were saved with older layouts. This is
// needed if the rules in docs/schema.md ("Worlds that were saved with an older schema") are not
// sufficient, for example if a field was split in two or its unit was changed.
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

/// A saved value. Fields are identified by dotted paths in the older layout, such as "position.x"
/// or "slots[2]". Reading a missing field returns zero. Valid only during the call.
class OldValue {
 public:
  using Find = std::function<const TypeDescriptor*(TypeId)>;
  /// `find` returns the saved layouts of structs that are nested in the type.
  OldValue(const TypeDescriptor& type, std::span<const std::byte> bytes, const Find& find)
      : type_(type), bytes_(bytes), find_(find) {}

  const TypeDescriptor& type() const noexcept { return type_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  bool has(std::string_view path) const;
  /// Returns the value of a number, bool, or enum.
  double number(std::string_view path) const;
  /// Like number(), but for fields that are not floating-point. For an interned text, returns its
  /// hash.
  std::int64_t integer(std::string_view path) const;
  Entity entity(std::string_view path) const;
  /// Returns the saved name of an enum's value, or an empty view if the value had no name.
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

/// `now` is the value in the current layout, as far as the rules were able to convert it.
using Conversion = void (*)(const OldValue& then, void* now);
/// Conversions, keyed by the current type.
using Conversions = std::map<TypeId, Conversion>;

/// Must be called before EntityRegistry::load(). If several conversions are added for a type, the
/// most recently added one is used.
void add_conversion(EntityRegistry& registry, TypeId type, Conversion conversion);
/// Returns the conversions of a registry. The registry must outlive the result.
const Conversions& conversions(const EntityRegistry& registry);

/// Adds a conversion for values of C that were saved with another layout. C must be a component, or
/// a message that is a struct. `convert` is called for each such value in rows, templates, pending
/// messages, and journal edits, after the rules have converted the fields that they can. A field
/// that the rules cannot convert then has its default value, which is not treated as an error.
/// `convert` must not depend on anything except the value. This function must be called when
/// handlers are installed, before a state is loaded.
///   void door_of_older(const muster::OldValue& then, game::Door& now);
///   muster::add_conversion<game::Door, door_of_older>(registry);
template <GeneratedType C, void (*convert)(const OldValue&, C&)>
void add_conversion(EntityRegistry& registry) {
  registry.add_type<C>();
  add_conversion(registry, TypeTraits<C>::id,
                 [](const OldValue& then, void* now) { convert(then, *static_cast<C*>(now)); });
}

}  // namespace muster
