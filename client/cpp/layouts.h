// The types that a program was compiled with, beside those of the world it is connected to. Bytes of a
// type that the two lay out in different ways are neither sent nor handed out.
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

/// Binary schemas (.bfbs), each once or several times.
using CompiledSchemas = std::span<const std::span<const std::uint8_t>* const>;

#ifdef __ELF__
// Headers that schemac writes leave their schemas in this section of a program or shared library, if they have types of a game.
extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name
[[gnu::weak, gnu::visibility("hidden")]] extern const std::span<const std::uint8_t>* const __start_muster_schemas[];
// NOLINTNEXTLINE(bugprone-reserved-identifier)
[[gnu::weak, gnu::visibility("hidden")]] extern const std::span<const std::uint8_t>* const __stop_muster_schemas[];
}
#endif

namespace detail {
/// Of the program or shared library that the call stands in.
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
  /// Reads what the program was compiled with. What is no schema is passed over.
  explicit Layouts(CompiledSchemas compiled);

  /// To be called when the world's types grew: looks at those that were not there before.
  void compare(const TypeTable& world);
  /// The world has a type of this program with another layout.
  bool any_differ() const noexcept { return !faults_.empty(); }
  /// A sentence that names the type and the first field that differs; null if nothing does, or if the
  /// world or the program does not know the type.
  const std::string* fault(TypeId type) const noexcept;
  /// That of the first type of a verified batch that has one: its message, the components of its rows
  /// or Values, or what a timed one holds.
  const std::string* fault(BatchView batch) const noexcept;
  /// Why a batch of this program is not to be sent: it has a type with another layout, or one that
  /// the world does not know. Empty if neither, and for what is no batch.
  std::string fault_of_sent(std::span<const std::byte> batch, const TypeTable& world) const;

 private:
  std::deque<Schema> schemas_;
  std::unordered_map<TypeId, const TypeDescriptor*> compiled_;
  std::unordered_map<TypeId, const TypeDescriptor*> unmet_;  // that the world did not know yet
  std::unordered_map<TypeId, std::string> faults_;
};

}  // namespace muster
