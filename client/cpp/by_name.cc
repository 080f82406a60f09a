// Defines the member functions of Client that identify types, fields, and entities by name.
#include "client/cpp/client_impl.h"
#include "client/cpp/references.h"
#include "messages/row_set.h"

namespace muster {
namespace {

std::unexpected<ClientError> mistaken(const ValueError& error) { return muster::mistaken(error.text); }

}  // namespace

Result<std::string> Client::fetch_text(Text text) {
  if (!text) return std::string();
  if (const std::string_view known = this->text(text); !known.empty()) return std::string(known);
  auto answer = ask(session::GetText{.hash = text.hash});
  if (!answer) return std::unexpected(answer.error());
  std::string bytes = std::move(answer->text);
  impl_->texts.insert_or_assign(text.hash, bytes);
  return bytes;
}

Result<Entity> Client::entity(std::string_view text) {
  Entity id;
  if (parse_id(text.starts_with('#') ? text.substr(1) : text, id)) return id;
  const auto found = ask(session::Resolve{.path = std::string(text), .limit = 20});
  if (!found) return std::unexpected(found.error());
  if (found->entities.empty()) return muster::mistaken("no entity is named '" + std::string(text) + "'");
  if (found->entities.size() == 1) return found->entities[0];
  std::string several = "'" + std::string(text) + "' matches several entities:";
  for (std::size_t i = 0; i < found->entities.size(); ++i)
    several += "\n  " + id_text(found->entities[i]) + "  " + printable(found->paths[i]);
  if (found->more) several += "\n  ...";
  return muster::mistaken(several);
}

Result<Acknowledged> Client::push(std::string_view message, Entity target, const FieldTexts& fields) {
  const auto type = find_message(types(), message);
  if (!type) return mistaken(type.error());
  ClientReferences references(*this);
  BatchBuilder builder;
  if ((*type)->is_table) {
    const auto table = parse_table(types(), **type, fields, references);
    if (!table) return mistaken(table.error());
    builder.append_table((*type)->id, target, *table);
  } else {
    const auto value = parse_struct(types(), **type, fields, references);
    if (!value) return mistaken(value.error());
    const PayloadShape shape = PayloadShape::of(**type);
    std::byte* payload = target ? builder.append(shape, target) : builder.append_world(shape);
    std::memcpy(payload, value->data(), value->size());
  }
  return push_named(builder.bytes());
}

Result<Acknowledged> Client::set(Entity e, std::string_view component, const FieldTexts& fields) {
  const auto type = find_component(types(), component);
  if (!type) return mistaken(type.error());
  const auto shown = show(e);
  if (!shown) return std::unexpected(shown.error());
  std::span<const std::byte> from;
  for (const ShownEntity::Component& held : shown->components)
    if (held.type == *type) from = held.value;
  ClientReferences references(*this);
  const auto value = parse_struct(types(), **type, fields, references, from);
  if (!value) return mistaken(value.error());
  const PayloadShape shape = PayloadShape::of(**type);
  const RowSet rows(PayloadShape::of<Set>(), std::span(&shape, 1));
  BatchBuilder builder;
  std::byte* payload = builder.append_rows(rows, e);
  const Set set{};
  std::memcpy(payload, &set, sizeof set);
  std::memcpy(payload + rows.offset(shape.type), value->data(), value->size());
  return push_named(builder.bytes());
}

Result<Acknowledged> Client::set_field(Entity e, std::string_view path, std::string_view value) {
  const auto field = find_field(types(), path);
  if (!field) return mistaken(field.error());
  SetField message{};
  const std::uint32_t bytes = field->place.size;
  if (bytes > sizeof message.value)
    return muster::mistaken(std::string(path) + " has " + std::to_string(bytes) + " bytes; at most " +
                            std::to_string(sizeof message.value) + " can be set at once: name a part of it");
  std::vector<std::byte> whole = field->component->default_bytes;
  ClientReferences references(*this);
  if (auto parsed = parse_place(types(), *field->component, field->place, field->path, value, whole, references);
      !parsed)
    return mistaken(parsed.error());
  message.component = field->component->id;
  message.field = hash32(field->path);
  message.bytes = bytes;
  std::memcpy(&message.value, whole.data() + field->place.offset, bytes);
  return push(e, message);
}

Result<Acknowledged> Client::remove(Entity e, std::string_view component) {
  const auto type = find_component(types(), component);
  if (!type) return mistaken(type.error());
  Remove message;
  message.component = (*type)->id;
  return push(e, message);
}

}  // namespace muster
