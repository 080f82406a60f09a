// The types that a registry, a session or a tool knows, by id and by name. They come only from
// binary schemas, so storage, wire, file and editor treat compiled types and types learned at run
// time alike.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/descriptor.h"
#include "schema/load.h"

namespace muster {

/// A place inside a type, named by a dotted path such as "position.x" or "slots[2].count". It may
/// also be a whole nested struct.
struct FieldPlace {
  const FieldDescriptor* field = nullptr;  ///< a field of the innermost struct
  std::uint32_t offset = 0;                ///< from the start of the outermost struct
  std::uint32_t size = 0;                  ///< bytes of one element or of a whole array
  std::uint32_t count = 1;
  std::string path;  ///< the dotted path itself
};

/// A rule for the bytes of a struct value: zero padding, a bool that is 0 or 1, or an enum's value.
struct ValueRule {
  enum class Kind : std::uint8_t { zero, boolean, enumerated, flags };
  Kind kind = Kind::zero;
  std::uint8_t size = 1;  ///< bytes of one enum value
  bool is_signed = false;
  std::uint32_t offset = 0;
  std::uint32_t count = 1;                      ///< bytes of padding, or consecutive bools or enums
  std::int64_t min = 0, max = 0;                ///< of the enum's values
  std::uint64_t mask = 0;                       ///< the known bits of flags
  bool gaps = false;                            ///< not all numbers between min and max are values
  const EnumDescriptor* enumeration = nullptr;  ///< null for padding and bool
  std::string path;                             ///< "position.x"; for padding, the field before it
};

/// A rule for values from outside: bounds on consecutive numbers of one kind in a struct value.
struct ValueLimit {
  FieldKind kind = FieldKind::float32;
  bool reserved = false;  ///< must be zero; otherwise finite and in the field's range
  std::uint32_t offset = 0;
  std::uint32_t count = 1;
  const FieldDescriptor* field = nullptr;  ///< of the first float, if they have no range
};

/// Not thread-safe while a schema is added; otherwise any thread may read it. Descriptors never
/// move, and only take_back() removes any.
class TypeTable {
 public:
  TypeTable();
  ~TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  /// Adds all types of a binary schema. A known type with the same fingerprint keeps its first
  /// descriptor. Fails and adds nothing if the schema is invalid, a known type has a different
  /// layout, or two names share a type id. The error names the type and field.
  [[nodiscard]] std::expected<void, SchemaError> add_schema(std::span<const std::byte> bfbs);
  /// Adds the schema of T unless T is already known with the same layout.
  template <GeneratedType T>
  [[nodiscard]] std::expected<void, SchemaError> add() {
    if (const TypeDescriptor* known = find(TypeTraits<T>::id);
        known && known->fingerprint == TypeTraits<T>::fingerprint && known->name == TypeTraits<T>::name)
      return {};
    return add_schema(std::as_bytes(TypeTraits<T>::schema));
  }

  /// The size of a table at some time.
  struct Mark {
    std::size_t schemas, types;
  };
  Mark mark() const noexcept { return {schemas().size(), types().size()}; }
  /// Removes the schemas and types that were added after mark() returned `mark`. Nothing may refer
  /// to them.
  void take_back(const Mark& mark);

  /// Returns null if the id is unknown. Usually one probe.
  const TypeDescriptor* find(TypeId id) const noexcept;
  /// Finds a type by its full name ("game.Health"). Returns null if the name is unknown.
  const TypeDescriptor* find(std::string_view full_name) const noexcept;
  /// Finds a type by its full name, or by its last part if only one type's name ends with it.
  /// Otherwise returns null, and adds the matching types to `candidates` if given.
  const TypeDescriptor* resolve(std::string_view name, std::vector<const TypeDescriptor*>* candidates = nullptr) const;
  /// Finds the place of a path inside a struct type. The error names the invalid part of the path
  /// and the valid alternatives.
  [[nodiscard]] std::expected<FieldPlace, std::string> place(const TypeDescriptor& type, std::string_view path) const;
  /// Finds the place whose path has the hash `field`: a leaf, an array element, a whole array or a
  /// nested struct. Returns null if there is none.
  const FieldPlace* place(const TypeDescriptor& type, FieldId field) const noexcept;

  /// Returns the rules for a struct's bytes, including those of nested structs. Empty for many
  /// types, and for all tables.
  std::span<const ValueRule> rules(const TypeDescriptor& type) const noexcept;
  /// Returns the limits on a struct's values from outside, ordered by offset. Empty for many types,
  /// and for all tables.
  std::span<const ValueLimit> limits(const TypeDescriptor& type) const noexcept;

  /// Returns all types in the order in which they were added.
  std::span<const TypeDescriptor* const> types() const noexcept;
  /// Returns the binary schemas that added at least one type, in order. Together they describe all
  /// types to a client.
  std::span<const std::vector<std::byte>> schemas() const noexcept;
  /// Returns hash64 of (name, fingerprint) of all types, sorted by name. Equal hashes mean equal
  /// layouts.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Describes the first difference between two layouts of one type. `where` says where the other
/// layout is from, for example "in the added schema".
[[nodiscard]] SchemaError layout_difference(const TypeDescriptor& known, const TypeDescriptor& other,
                                            const std::string& where);

}  // namespace muster
