// The contents of a history: steps, their parts, and how they are saved as bytes. docs/undo.md
// defines the terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/builtin.h"
#include "schema/descriptor.h"

namespace muster::history {

enum class PartKind : std::uint8_t { field, added, removed, created, destroyed, moved, renamed, defined };
constexpr std::uint8_t part_kinds = 8;

/// The position of an entity among its siblings.
struct Place {
  Entity parent, next, previous;
  friend bool operator==(const Place&, const Place&) = default;
};

/// A component type as it was when its bytes were stored.
struct Layout {
  TypeId type = 0;
  std::uint32_t bytes = 0;  ///< size of a stored value; 0 for tags and runtime components
  std::uint64_t fingerprint = 0;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// A destroyed subtree.
struct Snapshot {
  struct Shape {
    std::vector<Layout> components;  ///< ascending by type, without muster.Name and muster.ChildOf
    std::uint32_t bytes = 0;         ///< size of all values of a row
  };
  struct Row {
    Entity entity = {};
    std::uint32_t parent = 0;  ///< number of the parent's row, which is less than that of this row
    std::uint32_t shape = 0;
    Text name = {};
    std::uint64_t at = 0;  ///< offset in `values`
  };
  std::vector<Shape> shapes;
  std::vector<Row> rows;  ///< in pre-order: the root first, siblings in order
  std::vector<std::byte> values;
  std::vector<std::string> texts;  ///< names, and contents of `text` fields

  /// Returns the root's name, or an empty string if it has none. There must be rows.
  std::string_view root_name() const noexcept;
};

/// The data that managers held for the entities of a destroyed subtree.
struct HeldData {
  std::vector<std::byte> messages;  ///< batches of messages that restore the data
  std::vector<Layout> types;        ///< of these messages
  std::vector<std::string> lost;    ///< names of the managers that could not save it, ascending
};

/// The members of a Part that few parts have.
struct Details {
  /// moved: before and after the edit; destroyed: the first one, before the edit.
  Place before, after;
  /// The ancestors of `before.parent` at the time of the edit, the nearest one first.
  static constexpr std::size_t ancestors_max = 32;
  std::vector<Entity> ancestors;
  Snapshot snapshot;               ///< destroyed
  HeldData held;                   ///< destroyed
  std::string name;                ///< defined: the template's name
  std::vector<std::string> texts;  ///< contents of the `text` fields in `before`
};

struct Part {
  PartKind kind = PartKind::field;
  TypeId component = 0;           ///< field, added, removed
  Entity entity = {};             ///< nil if `kind` is defined
  std::uint32_t offset = 0;       ///< field: offset of the property in the component
  std::uint32_t bytes = 0;        ///< removed: size of the component's stored value
  std::uint64_t fingerprint = 0;  ///< of the component's layout
  std::uint64_t sequence = 0;     ///< of the newest input that edited the place
  /// field: the property's bytes; removed: `before` is the component's value; renamed: the names;
  /// defined: the DefineTemplate tables, empty if there was no template.
  std::string before = {}, after = {};
  std::unique_ptr<Details> details = {};

  /// True if later edits of the same step have restored the value from before it.
  bool idle() const noexcept;
  std::uint64_t memory() const noexcept;
};

/// An input as its session sent it.
struct SentInput {
  std::uint64_t sequence = 0;
  std::vector<std::byte> bytes;  ///< batches, aligned to 16 bytes
};

struct Step {
  std::uint64_t number = 0;  ///< sequence of the step's first input
  std::uint64_t sequence = 0;
  std::uint64_t user = 0, session = 0, gesture = 0;
  bool redo = false;   ///< which of the user's stacks it is on
  bool saved = false;  ///< true if its bytes come from a file, so its values may be damaged
  std::string label;
  std::vector<Part> parts;
  /// Of a step to undo that was made in a run: its inputs, and the texts that they mention. A step
  /// without parts is a KeepEdits.
  std::vector<SentInput> inputs;
  std::vector<std::string> texts;
  /// Entities in `inputs` that the level did not have.
  std::vector<Entity> strangers;
  /// Entities that were kept: ids in the run and in the level.
  std::vector<std::pair<Entity, Entity>> kept_as;
  std::string what;                                   ///< describes the step as it was in the run
  std::vector<std::pair<Entity, std::string>> names;  ///< paths of its entities in the run
  /// Result of measure() when it was put on a stack.
  std::uint64_t memory = 0;

  std::uint32_t active_parts() const noexcept;
  std::uint64_t measure() const noexcept;
  /// Returns the number by which a step of a run is known, which stays if it is undone and redone.
  std::uint64_t run_number() const noexcept { return inputs.empty() ? number : inputs.front().sequence; }
};

inline std::string_view view_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Calls f(offset, bytes) for each property of a component, in the order of their offsets.
template <class F>
void each_property(const TypeDescriptor& type, F f) {
  for (const FieldDescriptor& field : type.fields)
    for (std::uint32_t i = 0; i < (field.is_array ? field.count : 1); ++i)
      f(field.offset + i * field.size, field.is_array ? field.size : field.size * field.count);
}
/// Returns a property's path, such as "position" or "slots[2]".
std::string property_name(const TypeDescriptor& type, std::uint32_t offset);

// --- saving ---

std::vector<std::byte> encode(const Step& step);
/// Reads a saved step. The error is a sentence. Values are not compared with their types, because
/// these may not be known yet.
std::expected<Step, std::string> decode(std::uint64_t number, std::span<const std::byte> bytes);

}  // namespace muster::history
