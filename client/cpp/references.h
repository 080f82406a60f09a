// Resolves references in written values through a client: entities by path or name, and interned
// texts.
#pragma once

#include "client/cpp/client.h"
#include "messages/value_text.h"

namespace muster {

/// Finds the entities and texts that a text refers to. The client must outlive this object. A
/// connection error is returned as an unknown reference with the client's sentence.
class ClientReferences final : public ValueReferences {
 public:
  explicit ClientReferences(Client& client) : client_(client) {}
  ValueResult<Entity> find_entity(std::string_view text) override;
  ValueResult<Text> intern(std::string_view text) override;
  std::string text(Text text) override;

 private:
  Client& client_;
};

}  // namespace muster
