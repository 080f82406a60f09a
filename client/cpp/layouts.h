// Compares the types compiled into a program with the types of the connected world. If the layouts
// of a type differ, the client neither sends nor returns values of that type.
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
// If a schema contains types of a game, the header that schemac generates puts the binary schema
// into this section of the program or shared library.
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
  /// Reads the schemas that were compiled into the program. Skips invalid schemas.
  explicit Layouts(CompiledSchemas compiled);

  /// Compares the types that were added to `world` since the previous call. Must be called each
  /// time types have been added.
  void compare(const TypeTable& world);
  /// Returns true if any of this program's types has a different layout in the world.
  bool any_differ() const noexcept { return !faults_.empty(); }
  /// Returns a sentence that names the type and the first differing field. Returns null if the
  /// layouts are equal, or if the type is unknown to the world or the program.
  const std::string* fault(TypeId type) const noexcept;
  /// Returns the sentence for the first type in a verified batch whose layouts differ. The types of
  /// a batch are its message type, the types of the components in its rows or Values, and the types
  /// of the batch inside a timed batch. Returns null if no layouts differ.
  const std::string* fault(BatchView batch) const noexcept;
  /// Returns the reason why a batch from this program must not be sent: one of its types has a
  /// different layout in the world, or is unknown to the world. Returns an empty string if the
  /// batch may be sent, or if the bytes are not a batch.
  std::string fault_of_sent(std::span<const std::byte> batch, const TypeTable& world) const;

 private:
  std::deque<Schema> schemas_;
  std::unordered_map<TypeId, const TypeDescriptor*> compiled_;
  std::unordered_map<TypeId, const TypeDescriptor*> unmet_;  // this program's types that the world
                                                             // does not know yet
  std::unordered_map<TypeId, std::string> faults_;
};

}  // namespace muster
