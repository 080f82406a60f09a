// Every type a registry, a session or a tool knows, by id and by name. Filled from binary schemas only, so that types
// compiled in and types met at run time are the same thing to storage, wire, file and editor.
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

/// A place inside a type that a dotted path names: "position.x", "slots[2].count", or a whole nested struct.
struct FieldPlace {
  const FieldDescriptor* field = nullptr;  ///< of the innermost struct
  std::uint32_t offset = 0;                ///< from the start of the outermost struct
  std::uint32_t size = 0;                  ///< bytes: of one element, or of the whole array where no element was named
  std::uint32_t count = 1;
  std::string path;  ///< the dotted path itself
};

/// One thing that the bytes of a struct value must obey: padding that is zero, a bool that is 0 or 1, an enum's value.
struct ValueRule {
  enum class Kind : std::uint8_t { zero, boolean, enumerated, flags };
  Kind kind = Kind::zero;
  std::uint8_t size = 1;  ///< bytes of one enum value
  bool is_signed = false;
  std::uint32_t offset = 0;
  std::uint32_t count = 1;                      ///< padding: bytes; bool and enum: elements, side by side
  std::int64_t min = 0, max = 0;                ///< of the enum's values
  std::uint64_t mask = 0;                       ///< of flags: the known bits
  bool gaps = false;                            ///< not every value between min and max is one
  const EnumDescriptor* enumeration = nullptr;  ///< null for padding and bool
  std::string path;                             ///< "position.x"; of padding: of the field before it
};

/// Numbers of a struct value, side by side and of one kind, that somebody outside may send within bounds only.
struct ValueLimit {
  FieldKind kind = FieldKind::float32;
  bool reserved =
      false;  ///< they are zero; otherwise floats are finite, and all within the field's range if it has one
  std::uint32_t offset = 0;
  std::uint32_t count = 1;
  const FieldDescriptor* field = nullptr;  ///< of all of them; of floats without a range, of the first
};

/// Not thread-safe while a schema is added; otherwise const and free to share. Descriptors never move, and only
/// take_back() makes some go away.
class TypeTable {
 public:
  TypeTable();
  ~TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  /// Adds all types of a binary schema. Types known already with the same fingerprint are passed over (the first
  /// descriptor stays). Fails, adding nothing, where the bytes are no valid schema, where a known type has another
  /// layout, or where two names share a type id; the error names the type and the field.
  [[nodiscard]] std::expected<void, SchemaError> add_schema(std::span<const std::byte> bfbs);
  /// Adds the schema that T was generated from, unless its type is known already with T's layout.
  template <GeneratedType T>
  [[nodiscard]] std::expected<void, SchemaError> add() {
    if (const TypeDescriptor* known = find(TypeTraits<T>::id);
        known && known->fingerprint == TypeTraits<T>::fingerprint && known->name == TypeTraits<T>::name)
      return {};
    return add_schema(std::as_bytes(TypeTraits<T>::schema));
  }

  /// How much a table knows.
  struct Mark {
    std::size_t schemas, types;
  };
  Mark mark() const noexcept { return {schemas().size(), types().size()}; }
  /// Forgets the schemas and types that were added after mark() gave `mark`. Nothing may refer to them.
  void take_back(const Mark& mark);

  /// Null where unknown. One probe of a table without collisions.
  const TypeDescriptor* find(TypeId id) const noexcept;
  /// By full name ("game.Health"); null where unknown.
  const TypeDescriptor* find(std::string_view full_name) const noexcept;
  /// By full name, or by the last part of it where only one type ends so; otherwise null, and `candidates`, if given,
  /// receives those that fit.
  const TypeDescriptor* resolve(std::string_view name, std::vector<const TypeDescriptor*>* candidates = nullptr) const;
  /// The place a path names inside a struct type; the error names the part that does not fit and what would.
  [[nodiscard]] std::expected<FieldPlace, std::string> place(const TypeDescriptor& type, std::string_view path) const;
  /// The place whose path hashes to `field` (leaves, array elements, whole arrays and nested structs); null if none.
  const FieldPlace* place(const TypeDescriptor& type, FieldId field) const noexcept;

  /// What a value of this struct must obey beyond its size, nested structs included; empty for many types, and for tables.
  std::span<const ValueRule> rules(const TypeDescriptor& type) const noexcept;
  /// What a value of this struct from outside must obey besides, by offset; empty likewise.
  std::span<const ValueLimit> limits(const TypeDescriptor& type) const noexcept;

  /// All types in the order they were added.
  std::span<const TypeDescriptor* const> types() const noexcept;
  /// The binary schemas that brought at least one new type, in order: what a stranger needs to know all types.
  std::span<const std::vector<std::byte>> schemas() const noexcept;
  /// hash64 over (name, fingerprint) of all types, sorted by name: equal means both sides know the same layouts.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The first thing in which two layouts of one type differ; `where` is where the other one is: "in the added schema".
[[nodiscard]] SchemaError layout_difference(const TypeDescriptor& known, const TypeDescriptor& other,
                                            const std::string& where);

}  // namespace muster
