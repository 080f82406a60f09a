// Uses a client to resolve the references in values that users write: entities by path or name, and
// interned texts.
#pragma once

#include "client/cpp/client.h"
#include "messages/value_text.h"

namespace muster {

/// Finds the entities and interned texts to which a string refers. The client must outlive this
/// object. A connection error is reported as an unknown reference, with the client's error message
/// as the text.
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
