// Defines the run-time descriptions of types. schema/load.h creates all descriptors from binary
// schemas (.bfbs), both for compiled types and for types learned at run time. schemac generates
// constexpr TypeTraits from the descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/builtin.h"
#include "schema/hash.h"

namespace muster {

using TypeId = std::uint32_t;   ///< hash32 of a type's full name
using FieldId = std::uint32_t;  ///< hash32 of a path in its type ("slots[2].count")

enum class TypeRole : std::uint8_t { plain, component, message, table_message };

/// `entity` is a muster.Entity, and `text` is a ulong marked (text). Only tables have fields of the
/// last three kinds.
enum class FieldKind : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  entity,
  text,
  structure,
  string,
  vector,
  table,
};

/// The right that a client needs to send a message (attribute `remote`). Each right includes all
/// rights listed before it. If the right is `none`, no client may send the message.
enum class RemoteRight : std::uint8_t { none, view, edit, control, admin };
/// Determines which of a type's messages a journal records (attribute `journal`). See
/// docs/schema.md.
enum class JournalPolicy : std::uint8_t { always, latest, never };

struct EnumValue {
  std::string name;
  std::int64_t value = 0;
  std::string doc;
};

struct EnumDescriptor {
  std::string name;  ///< full name, "game.Team"
  FieldKind underlying = FieldKind::int32;
  bool bit_flags = false;  ///< values are masks (1 << n); any combination is valid
  std::vector<EnumValue> values;
  std::string doc;
  std::string file;  ///< the file that declares the enum: "//game.fbs", relative to flatc's input
};

/// Describes one field. In a struct, the field has `count` elements of `size` bytes at `offset`. In
/// a table, `slot` is the vtable slot (4 + 2 * id) and `offset` is 0; `element` describes the
/// elements of a vector.
struct FieldDescriptor {
  std::string name;
  FieldKind kind = FieldKind::int32;
  FieldKind element = FieldKind::int32;  ///< kind of a vector's elements (only in tables)
  std::uint32_t offset = 0;
  std::uint32_t size = 0;   ///< size of one element in bytes; 0 for strings, vectors and tables
  std::uint32_t count = 1;  ///< number of elements of a fixed-length array; otherwise 1
  bool is_array = false;
  std::uint16_t slot = 0;
  TypeId type = 0;                              ///< the nested type, if `kind` or `element` is
                                                ///< structure or table
  const EnumDescriptor* enumeration = nullptr;  ///< the enum of an integer field, or null; owned by
                                                ///< the Schema
  std::string default_text;                     ///< the default as written in the schema ("1, 0,
                                                ///< 0"); empty for zero
  std::string unit;                             ///< "m", "deg", ... or empty
  bool has_range = false;
  double range_min = 0, range_max = 0;
  bool color = false, asset = false;
  bool required = false;  ///< tables only: the field must be present
  bool optional = false;  ///< tables only: a scalar without default (`= null`)
  std::string was;        ///< the field's previous name, used to read old data
  std::string doc;
};

struct TypeDescriptor {
  TypeId id = 0;
  std::string name;               ///< full name with namespace, "game.Health"
  std::uint64_t fingerprint = 0;  ///< hash64 of the layout; types with equal fingerprints have the
                                  ///< same byte layout
  TypeRole role = TypeRole::plain;
  bool is_table = false;
  bool tag = false;                           ///< true for a component that has neither data nor a
                                              ///< column
  bool enableable = false;                    ///< true for a component that can be added and
                                              ///< removed without moving rows
  std::uint32_t size = 0;                     ///< size in bytes, including padding; 0 for tables
  std::uint32_t align = 1;                    ///< alignment, 1..16; 16 for tables
  std::vector<FieldDescriptor> fields;        ///< sorted by offset (structs) or slot (tables)
  std::vector<std::byte> default_bytes;       ///< the bytes of a default value; empty for tables
  std::vector<std::uint32_t> entity_offsets;  ///< offset of each muster.Entity, including those
                                              ///< inside nested structs
  std::vector<std::uint32_t> text_offsets;    ///< offset of each text, including those inside
                                              ///< nested structs
  RemoteRight remote = RemoteRight::edit;
  RemoteRight see = RemoteRight::view;  ///< the role that a user needs to see the component,
                                        ///< or the messages that others send (attribute
                                        ///< `see`); never `none`
  JournalPolicy journal = JournalPolicy::always;
  std::string was, doc;
  std::string file;  ///< the file that declares the type, as in EnumDescriptor
};

/// Returns the id of the column that records the rows in which an enableable component is present.
/// No type may have this id.
inline TypeId presence_id(const TypeDescriptor& component) { return hash32(component.name + ":enabled"); }

/// Describes a field as a compile-time constant. schemac writes an array of FieldEntry values into
/// each type's traits. In tables, `offset` is the vtable slot.
struct FieldEntry {
  std::string_view name;
  FieldKind kind;
  std::uint32_t offset, size, count;
  friend constexpr bool operator==(const FieldEntry&, const FieldEntry&) = default;
};

/// Specialized by generated headers for every generated type:
///   static constexpr TypeId id; std::string_view name; std::uint64_t fingerprint; TypeRole role;
///   static constexpr bool tag;                         a component without data
///   static constexpr bool enableable;                  present only for enableable components; true
///   static constexpr bool view;                        T reads a table in place (ChatView) rather than holding it (Chat)
///   static constexpr std::uint32_t size;               bytes; 0 for tables
///   static constexpr std::span<const FieldEntry> fields;
///   static constexpr std::span<const std::uint8_t> schema;   the type's .bfbs, shared by all types of a header
/// For tables, the traits also have `using Native` and `using View`, the two classes of a message.
/// Both classes have these traits.
template <class T>
struct TypeTraits;

template <class T>
concept GeneratedType = requires { TypeTraits<T>::id; };
/// A component type that can be added to an entity, and removed from it, without moving rows.
template <class T>
concept EnableableType = requires { requires TypeTraits<T>::enableable; };
template <class T>
concept ComponentType = GeneratedType<T> && TypeTraits<T>::role == TypeRole::component;
/// A message type that is a struct. Message types that are tables satisfy TableMessageType.
template <class T>
concept MessageType = GeneratedType<T> && TypeTraits<T>::role == TypeRole::message;
template <class T>
concept TableMessageType = GeneratedType<T> && TypeTraits<T>::role == TypeRole::table_message;

}  // namespace muster
