// Finds the changes in a registry for watches, chunk by chunk, by comparing column versions rather
// than values. Links and interned texts are copied, but only if they are watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "server/mirror/look.h"

namespace muster {

/// Must be used only on the world thread.
class Looks {
 public:
  explicit Looks(EntityRegistry& registry) : registry_(registry) {}
  /// Must not be destroyed while a Look is in use.
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// Includes the values of a component, starting with the next Look, which contains all of the
  /// component's values. Calls are reference-counted. An unknown type is accepted but has no
  /// values.
  void want(TypeId component);
  void drop(TypeId component);
  /// Includes the links between siblings, parents, and children, starting with the next Look. Calls
  /// are reference-counted. Entities, their places, and their parents are always included.
  void want_links();
  void drop_links();
  /// Includes interned texts, starting with the next Look. Calls are reference-counted.
  void want_texts();
  void drop_texts();

  /// Returns a Look with the changes since the previous Look. Until the Look is done, the registry
  /// preserves each of its columns before changing that column.
  std::shared_ptr<Look> take();
  /// Returns a Look that contains only the changes to interned texts.
  TextNews take_texts();
  /// Releases the Looks that are done. Returns true if no Look is still in use.
  bool is_free();
  /// Must be called when the last watch has closed. The next Look then contains everything, like
  /// the first one.
  void forget();

 private:
  struct Wanted {
    std::uint32_t users = 0;
    bool is_new = true;      // not yet included in a look
    std::uint32_t size = 0;  // size in the previous Look; unknown until an entity has the component
  };
  struct Column {
    TypeId type;
    std::uint16_t slot;
    bool is_new;
  };
  void find_columns(const Archetype& archetype);
  void look_at(Look& look, std::uint64_t since);
  void look_at(Look& look, const Chunk& chunk, std::uint64_t since, bool any_new);
  void look_at_links(Look& look, std::uint64_t since);
  std::shared_ptr<const SeenKind> kind_of(const Archetype& archetype);
  /// Forgets numbers and positions if the registry's state has been replaced.
  void notice_swap();
  std::uint32_t add(Look& look, const Chunk& chunk, std::uint32_t slot, std::uint32_t id, std::size_t size);

  EntityRegistry& registry_;
  std::map<TypeId, Wanted> wanted_;
  bool wanted_changed_ = false;
  std::uint32_t link_users_ = 0, text_users_ = 0;
  bool links_new_ = false;           // not yet included in a look
  std::vector<bool> links_told_;     // by number: the page was included in a look
  std::uint64_t looked_ = 0;         // storage version at the time of the previous Look
  std::vector<std::uint64_t> seen_;  // uids by chunk number; 0 if not yet included in a Look
  std::vector<Column> columns_;      // columns of the archetype being processed
  std::unordered_map<std::uint32_t, std::shared_ptr<const SeenKind>> kinds_;  // by archetype
  // The numbers of kinds, by their components. After the registry's state has been replaced, an
  // archetype may have another number.
  std::map<std::vector<TypeId>, std::uint32_t> kind_numbers_;
  /// Returns the uid under which watches know a chunk. Another state of the registry may have
  /// another chunk with the same uid.
  std::uint64_t uid_of(const Chunk& chunk) const noexcept { return chunk.uid ^ (swaps_ << 40); }
  std::uint64_t swaps_ = 0;                // swaps() at the time of the previous Look
  std::vector<std::uint64_t> texts_told_;  // reported texts
  std::uint64_t text_drops_ = 0;
  bool texts_anew_ = false;
  std::vector<std::shared_ptr<Look>> read_;  // Looks that are not done yet
};

}  // namespace muster
