#include "client/cpp/references.h"

namespace muster {

ValueResult<Entity> ClientReferences::find_entity(std::string_view text) {
  auto found = client_.entity(text);
  if (!found) return std::unexpected(ValueError{ValueError::Kind::unknown_reference, found.error().text});
  return *found;
}

ValueResult<Text> ClientReferences::intern(std::string_view text) {
  auto interned = client_.intern(text);
  if (!interned) return std::unexpected(ValueError{ValueError::Kind::unknown_reference, interned.error().text});
  return *interned;
}

std::string ClientReferences::text(Text text) {
  auto bytes = client_.fetch_text(text);
  return bytes ? *bytes : "#" + std::to_string(text.hash);
}

}  // namespace muster
