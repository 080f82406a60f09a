// Compares the types that a program was compiled with to those of the connected world. The client
// neither sends nor returns values whose type has different layouts in the two.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "messages/batch.h"
#include "messages/type_table.h"
#include "schema/load.h"

namespace muster {

/// Binary schemas (.bfbs), possibly with duplicates.
using CompiledSchemas = std::span<const std::span<const std::uint8_t>* const>;

#ifdef __ELF__
// Headers written by schemac put their schemas into this section of a program or shared library, if
// they have types of a game.
extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name
[[gnu::weak, gnu::visibility("hidden")]] extern const std::span<const std::uint8_t>* const __start_muster_schemas[];
// NOLINTNEXTLINE(bugprone-reserved-identifier)
[[gnu::weak, gnu::visibility("hidden")]] extern const std::span<const std::uint8_t>* const __stop_muster_schemas[];
}
#endif

namespace detail {
/// Returns the schemas of the program or shared library that contains the call.
[[maybe_unused]] static CompiledSchemas compiled_schemas() noexcept {
#ifdef __ELF__
  return {__start_muster_schemas, __stop_muster_schemas};
#else
  return {};
#endif
}
}  // namespace detail

/// Not thread-safe.
class Layouts {
 public:
  /// Reads the schemas that the program was compiled with, and skips invalid ones.
  explicit Layouts(CompiledSchemas compiled);

  /// Call when the world has learned types. Compares only the new ones.
  void compare(const TypeTable& world);
  /// True if a type of this program has a different layout in the world.
  bool any_differ() const noexcept { return !faults_.empty(); }
  /// Returns a sentence that names the type and the first field that differs. Returns null if
  /// nothing differs, or if the world or the program does not know the type.
  const std::string* fault(TypeId type) const noexcept;
  /// Returns the sentence for the first differing type in a verified batch: its message, the
  /// components of its rows or Values, or the batch inside a timed one. Null if there is none.
  const std::string* fault(BatchView batch) const noexcept;
  /// Returns the reason why a batch of this program must not be sent: a type has a different layout
  /// in the world, or is unknown to it. Empty if there is none, and for bytes that are not a batch.
  std::string fault_of_sent(std::span<const std::byte> batch, const TypeTable& world) const;

 private:
  std::deque<Schema> schemas_;
  std::unordered_map<TypeId, const TypeDescriptor*> compiled_;
  std::unordered_map<TypeId, const TypeDescriptor*> unmet_;  // by the world
  std::unordered_map<TypeId, std::string> faults_;
};

}  // namespace muster
