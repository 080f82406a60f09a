// Finds what changed in a registry, for whoever watches it: by column versions, chunk by chunk. Nothing is compared here, and nothing is
// copied but links between entities and texts, where somebody wants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "server/watches/look.h"

namespace muster {

/// Owner's thread only.
class Looks {
 public:
  explicit Looks(EntityRegistry& registry) : registry_(registry) {}
  /// Nobody may read a look any more.
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// From the next look on the values of this component come, first all of them; counted. Unknown types are accepted and never come.
  void want(TypeId component);
  void drop(TypeId component);
  /// From the next look on links between siblings, parents and children come; counted. Who lives, where, and under whom comes always.
  void want_links();
  void drop_links();
  /// From the next look on texts come; counted.
  void want_texts();
  void drop_texts();

  /// What changed since the last one. Until it is done the registry tells it before its columns change.
  std::shared_ptr<Look> take();
  /// Texts alone.
  TextNews take_texts();
  /// Whether all are done; those that are, are let go of.
  bool is_free();
  /// Nobody watches any more: the next look is the first.
  void forget();

 private:
  struct Wanted {
    std::uint32_t users = 0;
    bool is_new = true;      // no look has told it
    std::uint32_t size = 0;  // as it was told: before anybody has the component it is not known
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
  std::uint32_t add(Look& look, const Chunk& chunk, std::uint32_t slot, std::uint32_t id, std::size_t size);

  EntityRegistry& registry_;
  std::map<TypeId, Wanted> wanted_;
  bool wanted_changed_ = false;
  std::uint32_t link_users_ = 0, text_users_ = 0;
  bool links_new_ = false;           // no look has told them
  std::uint64_t looked_ = 0;         // storage version of the last look
  std::vector<std::uint64_t> seen_;  // uid, by chunk number; 0: no look has told it
  std::vector<Column> columns_;      // of an archetype, while it is looked at
  std::unordered_map<std::uint32_t, std::shared_ptr<const SeenKind>> kinds_;  // by number of the archetype
  std::vector<std::uint64_t> texts_told_;                                     // their hashes
  std::uint64_t text_drops_ = 0;
  bool texts_anew_ = false;
  std::vector<std::shared_ptr<Look>> read_;  // those that are not done
};

}  // namespace muster
