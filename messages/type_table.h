// Defines the set of types that a registry, a session, or a tool knows, indexed by id and by name.
// All types come from binary schemas. Storage, protocol, files, and the editor therefore treat
// compiled types and types learned at run time in the same way.
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

/// A place inside a struct type, identified by a dotted path such as "position.x" or
/// "slots[2].count". A place may also be a whole nested struct.
struct FieldPlace {
  const FieldDescriptor* field = nullptr;  ///< the field, which belongs to the innermost struct
  std::uint32_t offset = 0;                ///< offset from the start of the outermost struct
  std::uint32_t size = 0;                  ///< size in bytes of one element or of a whole array
  std::uint32_t count = 1;
  std::string path;  ///< the dotted path itself
};

/// A rule for the bytes of a struct value: zero padding, a bool that is 0 or 1, or an enum's value.
struct ValueRule {
  enum class Kind : std::uint8_t { zero, boolean, enumerated, flags };
  Kind kind = Kind::zero;
  std::uint8_t size = 1;  ///< size of one enum value in bytes
  bool is_signed = false;
  std::uint32_t offset = 0;
  std::uint32_t count = 1;                      ///< number of padding bytes, or of consecutive
                                                ///< bools or enums
  std::int64_t min = 0, max = 0;                ///< smallest and largest value of the enum
  std::uint64_t mask = 0;                       ///< the bits that flags may have
  bool gaps = false;                            ///< true if some numbers between min and max are
                                                ///< not values of the enum
  const EnumDescriptor* enumeration = nullptr;  ///< null for padding and bool
  std::string path;                             ///< path of the field, such as "position.x", or of
                                                ///< the field that precedes the padding
};

/// A limit on values from outside: the bounds of consecutive numbers of one kind in a struct value.
struct ValueLimit {
  FieldKind kind = FieldKind::float32;
  bool reserved = false;  ///< true if the numbers must be zero; otherwise they must be finite and
                          ///< within the field's range
  std::uint32_t offset = 0;
  std::uint32_t count = 1;
  const FieldDescriptor* field = nullptr;  ///< the field; for consecutive floats without a range,
                                           ///< the field of the first float
};

/// The set of known types. Not thread-safe while a schema is added; at other times, any thread may
/// read it. Descriptors never move, and only take_back() removes them.
class TypeTable {
 public:
  TypeTable();
  ~TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  /// Adds all types of a binary schema. If a type is already known with the same fingerprint, the
  /// existing descriptor is kept. Fails and adds nothing if the schema is invalid, a known type has
  /// a different layout, or two names share a type id. The error names the type and field.
  [[nodiscard]] std::expected<void, SchemaError> add_schema(std::span<const std::byte> bfbs);
  /// Adds the schema of T unless T is already known with the same layout.
  template <GeneratedType T>
  [[nodiscard]] std::expected<void, SchemaError> add() {
    if (const TypeDescriptor* known = find(TypeTraits<T>::id);
        known && known->fingerprint == TypeTraits<T>::fingerprint && known->name == TypeTraits<T>::name)
      return {};
    return add_schema(std::as_bytes(TypeTraits<T>::schema));
  }

  /// The size of a type table when mark() was called.
  struct Mark {
    std::size_t schemas, types;
  };
  Mark mark() const noexcept { return {schemas().size(), types().size()}; }
  /// Removes the schemas and types that were added after the call to mark() that returned `mark`.
  /// No references to them may remain.
  void take_back(const Mark& mark);

  /// Returns the type with this id, or null if there is none. Usually takes one probe.
  const TypeDescriptor* find(TypeId id) const noexcept;
  /// Finds a type by its full name ("game.Health"). Returns null if there is none.
  const TypeDescriptor* find(std::string_view full_name) const noexcept;
  /// Finds a type by its full name, or by the last part of its name if only one type has it.
  /// Otherwise returns null, and adds the matching types to `candidates` if `candidates` is not
  /// null.
  const TypeDescriptor* resolve(std::string_view name, std::vector<const TypeDescriptor*>* candidates = nullptr) const;
  /// Finds the place with a given path inside a struct type. The error names the invalid part of
  /// the path and the valid alternatives.
  [[nodiscard]] std::expected<FieldPlace, std::string> place(const TypeDescriptor& type, std::string_view path) const;
  /// Finds the place whose path has the hash `field`. The place may be a leaf, an array element, a
  /// whole array, or a nested struct. Returns null if no place has this hash.
  const FieldPlace* place(const TypeDescriptor& type, FieldId field) const noexcept;

  /// Returns the rules for a struct's bytes, including the rules of nested structs. The result is
  /// empty for many types and for all tables.
  std::span<const ValueRule> rules(const TypeDescriptor& type) const noexcept;
  /// Returns the limits that apply to values of a struct that come from outside, ordered by offset.
  /// The result is empty for many types and for all tables.
  std::span<const ValueLimit> limits(const TypeDescriptor& type) const noexcept;

  /// Returns all types in the order in which they were added.
  std::span<const TypeDescriptor* const> types() const noexcept;
  /// Returns the binary schemas that added at least one type, in the order in which they were
  /// added. Together, these schemas describe all types to a client.
  std::span<const std::vector<std::byte>> schemas() const noexcept;
  /// Returns hash64 of the names and fingerprints of all types, sorted by name. Equal hashes mean
  /// equal layouts.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Describes the first difference between two layouts of one type. `where` describes the source of
/// the other layout, for example "in the added schema".
[[nodiscard]] SchemaError layout_difference(const TypeDescriptor& known, const TypeDescriptor& other,
                                            const std::string& where);

}  // namespace muster
