#include "server/session/session.h"

#include <cstring>

#include "registry/entity_registry.h"

namespace muster {
bool must_be_sent(const Session& to, const EntityRegistry& registry, Text text) {
  // A text that is mentioned and was never told is unknown to the world too.
  return text && !to.texts_sent.contains(text.hash) && !registry.text(text).empty();
}

void send_text(Session& to, const EntityRegistry& registry, Text text) {
  to.texts_sent.insert(text.hash);
  answer(to, 0, InternText{.text = std::string(registry.text(text))});
}

void send_texts(Session& to, const EntityRegistry& registry, const TypeDescriptor& type, const std::byte* value) {
  for (const std::uint32_t offset : type.text_offsets) {
    Text text;
    std::memcpy(&text, value + offset, sizeof text);
    if (must_be_sent(to, registry, text)) send_text(to, registry, text);
  }
}

void send_texts(Session& to, const EntityRegistry& registry, const TypeTable& types, BatchView batch) {
  if (batch.kind() == BatchKind::timed) return send_texts(to, registry, types, batch.inner());
  if (batch.kind() == BatchKind::table) return;
  const TypeDescriptor* message = types.find(batch.type());
  if (!message) return;
  const std::uint32_t payloads = batch.kind() == BatchKind::shared ? 1 : batch.count();
  if (!message->text_offsets.empty())
    for (std::uint32_t i = 0; i < payloads; ++i) send_texts(to, registry, *message, batch.payload(i));
  for (const RowSetEntry& entry : batch.row_set()) {
    const TypeDescriptor* component = types.find(entry.type);
    if (!component || component->text_offsets.empty()) continue;
    for (std::uint32_t i = 0; i < payloads; ++i) send_texts(to, registry, *component, batch.payload(i) + entry.offset);
  }
}

session::Fault fault_of(session::FaultCode code, const char* reason, std::string text) {
  session::Fault fault;
  fault.code = code;
  fault.reason = reason;
  fault.text = std::move(text);
  return fault;
}

}  // namespace muster
