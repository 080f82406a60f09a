// What a mean client finds out about a world before it begins.
#pragma once

#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "messages/type_table.h"
#include "registry/storage/text_table.h"
#include "schema/muster.h"
#include "tests/abuse/random.h"

namespace muster::abuse {

struct KnownTemplate {
  std::string name;
  std::uint32_t nodes = 1;
};

/// Shared by all clients of a run.
struct Knowledge {
  const TypeTable* types = nullptr;
  std::uint64_t clock_ns = 0;                            ///< of the world, as last heard
  std::vector<Entity> entities;                          ///< the game's; some may be gone
  std::vector<Entity> roots;                             ///< of those; nobody destroys them
  std::vector<const TypeDescriptor*> components;         ///< that somebody may write from outside
  std::vector<const TypeDescriptor*> changing;           ///< those of them that are set and removed on their own
  std::vector<const TypeDescriptor*> messages;           ///< the game's, that somebody may send
  std::vector<std::vector<const TypeDescriptor*>> sets;  ///< of components: what new entities begin with
  std::vector<KnownTemplate> templates;                  ///< defined by the game, and by clients
  std::vector<Text> texts;                               ///< known to the world, as far as nobody refused them
  std::uint64_t texts_made = 0;                          ///< so that each new text is new

  /// From the world's types.
  void learn(const TypeTable& table, Random& random);
  /// From its entities and templates. Throws std::runtime_error where the client is not answered.
  void learn_world(Client& client);
};

}  // namespace muster::abuse
