// Commands that change the world: set, push, add, remove, spawn, destroy, reparent, rename, save,
// reload.
#include <algorithm>
#include <cstring>
#include <map>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"
#include "client/cpp/expect.h"
#include "messages/row_set.h"
#include "schema/hash.h"

namespace muster::cli {
namespace {

/// Returns the Ack for a message. Fails if the target is dead, because the user named it
/// explicitly.
session::Ack acknowledged(Result<session::Ack> answer, const std::string& target) {
  const session::Ack ack = must(std::move(answer));
  if (ack.dead > 0) fail(Exit::refused, target + " is not alive");
  return ack;
}

/// Sends a message that sets a name. If a sibling already has the name, fails with an error to that
/// effect.
session::Ack named(Result<session::Ack> answer, const std::string& name, const std::string& advice) {
  if (!answer && answer.error().fault.reason == "name_taken")
    fail(Exit::refused, "the name \"" + printable(name) + "\" is taken by a sibling" + advice);
  return must(std::move(answer));
}

/// Prints one line that describes a change, or the change as JSON: {"sequence": ..., "id": ...,
/// members...}. If --durable is set, first waits until the change is durable.
template <class Members>
void report(RemoteWorld& world, const Common& common, const session::Ack& ack, Entity entity, const std::string& line,
            Members&& members) {
  world.wait_until_durable(common, ack.sequence);
  if (!common.json) return print_line(line);
  JsonWriter out;
  out.open_object().member("sequence", ack.sequence);
  if (entity) out.member("id", id_text(entity));
  members(out);
  print_line(out.close_object().text());
}
void report(RemoteWorld& world, const Common& common, const session::Ack& ack, Entity entity, const std::string& line) {
  report(world, common, ack, entity, line, [](JsonWriter&) {});
}

FieldTexts assignments(const std::vector<std::string>& texts) {
  FieldTexts made;
  for (const std::string& text : texts) made.push_back(must(parse_assignment(text)));
  return made;
}

/// Returns the current value of an entity's component.
std::vector<std::byte> value_of(RemoteWorld& world, const NamedEntity& entity, const TypeDescriptor& component) {
  const ShownEntity shown = must(world.client().show(entity.entity));
  for (const auto& each : shown.components)
    if (each.type->id == component.id) return each.value;
  std::vector<TypeId> has;
  for (const auto& each : shown.components) has.push_back(each.type->id);
  const std::string names = world.component_names(has);
  fail(Exit::refused,
       entity.text() + " has no " + component.name + (names.empty() ? "; it has no components" : "; it has " + names));
}

/// Builds a batch that contains one message with components. The batch is addressed either to a
/// single entity or to all targets at once (for example, to spawn a tree).
std::vector<std::byte> rows(const PayloadShape& message, std::span<const std::byte> message_bytes,
                            std::span<const Entity> targets, bool shared,
                            const std::map<TypeId, std::pair<const TypeDescriptor*, std::vector<std::byte>>>& values) {
  std::vector<PayloadShape> shapes;
  for (const auto& [id, value] : values) shapes.push_back(PayloadShape::of(*value.first));
  const RowSet set(message, shapes);
  BatchBuilder builder;
  std::byte* payload = shared ? builder.append_rows_shared(set, targets) : builder.append_rows(set, targets.front());
  std::memcpy(payload, message_bytes.data(), message_bytes.size());
  for (const auto& [id, value] : values)
    std::memcpy(payload + set.offset(id), value.second.data(), value.second.size());
  const auto bytes = builder.bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> set_batch(const NamedEntity& entity, const TypeDescriptor& component,
                                 const std::vector<std::byte>& value, SetMode mode) {
  Set message;
  message.mode = mode;
  return rows(PayloadShape::of<Set>(), std::as_bytes(std::span(&message, 1)),
              std::span<const Entity>(&entity.entity, 1), false, {{component.id, {&component, value}}});
}
/// Returns a batch with one message to an entity.
template <class M>
std::vector<std::byte> batch_of(Entity target, const M& message) {
  BatchBuilder builder;
  builder.append(target, message);
  const auto bytes = builder.bytes();
  return {bytes.begin(), bytes.end()};
}

std::string shown_place(RemoteWorld& world, const FieldName& field, const std::byte* value) {
  std::string text;
  for (const Leaf& leaf : leaves(world.types(), field.place, field.path))
    text += (text.empty() ? "" : ", ") + leaf_text(leaf, value, world);
  return text;
}

/// Unescapes a name taken from a path.
std::string unescaped(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '\\' && i + 1 < part.size()) ++i;
    name += part[i];
  }
  return name;
}

/// Returns the position of the last part of a path, which begins after the last slash. Ignores
/// escaped slashes, because they are part of a name. Returns npos if there is no slash.
std::size_t last_part_of(std::string_view path) {
  std::size_t begin = std::string_view::npos;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') begin = i + 1;
    if (path[i] == '\\') ++i;
  }
  return begin;
}

/// Throws the Failure for a name that contains an unescaped slash. The error lists the commands
/// that the user may have intended.
[[noreturn]] void fail_slash(const std::string& name, bool has_parent) {
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '/') escaped += '\\';
    escaped += name[i];
    if (name[i] == '\\' && i + 1 < name.size()) escaped += name[++i];
  }
  const std::string what = printable(name) + " is neither a name nor a whole path: ";
  if (has_parent)
    fail(Exit::usage,
         what + "name the parent with --under alone, or write " + printable(escaped) + " for one name with a slash");
  const std::string_view last = std::string_view(name).substr(last_part_of(name));
  const std::string parent = name.substr(0, name.size() - last.size() - 1);
  fail(Exit::usage, what + "`muster spawn /" + printable(name) + "` makes " + printable(last) + " below /" +
                        printable(parent) + ", `muster spawn '" + printable(escaped) + "'` a root of that name");
}

[[noreturn]] void fail_before_of_root() {
  fail(Exit::usage, "roots have no order, so --before needs a parent other than /");
}

/// Fails if clients are not allowed to send the message. If the client sent it anyway, the server
/// would end the session.
void require_sendable(const TypeDescriptor& type) {
  if (type.remote == RemoteRight::none)
    fail(Exit::refused,
         type.name + (type.role == TypeRole::component ? " is kept by the world and not written from outside"
                                                       : " may not be sent from outside"));
}

}  // namespace

void set(const Common& common, const SetOne& asked) {
  RemoteWorld world(connect(common.where));
  if (asked.dry) world.hold_texts();
  const FieldName field = must(find_field(world.types(), asked.field));
  require_sendable(*field.component);
  const NamedEntity entity = world.find(asked.entity);
  const TypeDescriptor& type = *field.component;
  const std::uint32_t bytes = field.place.size;
  const bool fits = bytes <= sizeof SetField::value;
  std::vector<std::byte> value = fits ? type.default_bytes : value_of(world, entity, type);
  std::vector<std::byte> expected = value;
  if (asked.expected) must(parse_place(world.types(), type, field.place, field.path, *asked.expected, expected, world));
  must(parse_place(world.types(), type, field.place, field.path, asked.value, value, world));

  std::vector<std::byte> batch;
  std::vector<session::Expectation> expectations;
  if (fits) {
    SetFieldIf message;
    message.set.component = type.id;
    message.set.field = hash32(field.path);
    message.set.bytes = bytes;
    std::memcpy(&message.set.value, value.data() + field.place.offset, bytes);
    std::memcpy(&message.expected, expected.data() + field.place.offset, bytes);
    batch = asked.expected ? batch_of(entity.entity, message) : batch_of(entity.entity, message.set);
  } else {
    batch = set_batch(entity, type, value, SetMode::replace);
    session::Expectation held{.entity = entity.entity, .component = type.id, .field = hash32(field.path)};
    const auto* const at = reinterpret_cast<const std::uint8_t*>(expected.data()) + field.place.offset;
    held.value.assign(at, at + bytes);
    if (asked.expected) expectations.push_back(std::move(held));
  }
  auto answer = send_edit(world, common, asked.dry, batch, expectations);
  if (!answer) return;
  if (!*answer && answer->error().fault.reason == "value_mismatch" && answer->error().fault.value.size() == bytes) {
    std::memcpy(expected.data() + field.place.offset, answer->error().fault.value.data(), bytes);
    fail(Exit::refused, entity.text() + "  " + type.name + '.' + field.path + " is " +
                            shown_place(world, field, expected.data()) + ", not " + *asked.expected);
  }
  const session::Ack ack = acknowledged(*std::move(answer), entity.text());
  const std::string now = shown_place(world, field, value.data());
  report(world, common, ack, entity.entity, entity.text() + "  " + type.name + '.' + field.path + " = " + now,
         [&](JsonWriter& out) { out.member("component", type.name).member("field", field.path).member("value", now); });
}

void push(const Common& common, const Push& asked) {
  RemoteWorld world(connect(common.where));
  const TypeDescriptor& type = *must(find_message(world.types(), asked.message));
  require_sendable(type);
  const bool everyone = asked.entity == "@world";
  if (everyone && asked.below) fail(Exit::usage, "--below needs an entity: @world is everyone already");
  const NamedEntity entity = everyone ? NamedEntity{} : world.find(asked.entity);
  const FieldTexts fields = assignments(asked.fields);
  const std::uint64_t parts = asked.below ? subtree_self | subtree_descendants : 0;
  BatchBuilder builder;
  if (type.is_table) {
    builder.append_table(type.id, entity.entity, must(parse_table(world.types(), type, fields, world)), parts);
  } else {
    const auto value = must(parse_struct(world.types(), type, fields, world));
    const PayloadShape shape = PayloadShape::of(type);
    std::byte* payload = everyone      ? builder.append_world(shape)
                         : asked.below ? builder.append_subtree(shape, entity.entity, parts)
                                       : builder.append(shape, entity.entity);
    std::memcpy(payload, value.data(), value.size());
  }
  const std::string target = everyone ? "@world" : entity.text();
  const session::Ack ack = acknowledged(world.client().push_batch(builder.bytes()), target);
  std::string line = target + "  " + type.name + "  handled by " + std::to_string(ack.handled);
  if (!everyone && !asked.below)
    line = target + "  " + type.name + (ack.handled > 0 ? "  handled" : "  no handler took it");
  if (ack.unhandled > 0 && (everyone || asked.below)) line += ", not by " + std::to_string(ack.unhandled);
  if (ack.cut_short) line += "; the messages that it caused reached a limit, and the rest follow with the next input";
  report(world, common, ack, entity.entity, line, [&](JsonWriter& out) {
    out.member("message", type.name).member("handled", ack.handled).member("unhandled", ack.unhandled);
    out.member("dead", ack.dead).member("cut_short", ack.cut_short != 0);
  });
}

void add(const Common& common, const std::string& name, const std::string& component,
         const std::vector<std::string>& fields, bool dry) {
  RemoteWorld world(connect(common.where));
  if (dry) world.hold_texts();
  const TypeDescriptor& type = *must(find_component(world.types(), component));
  require_sendable(type);
  const NamedEntity entity = world.find(name);
  const auto value = must(parse_struct(world.types(), type, assignments(fields), world));
  const ShownEntity before = must(world.client().show(entity.entity));
  if (std::ranges::find(before.about.components, type.id) != before.about.components.end())
    fail(Exit::refused, entity.text() + " has " + type.name + " already; change it with `muster set`");
  auto answer = send_edit(world, common, dry, set_batch(entity, type, value, SetMode::add));
  if (!answer) return;
  const session::Ack ack = acknowledged(*std::move(answer), entity.text());
  report(world, common, ack, entity.entity, entity.text() + "  added " + type.name,
         [&](JsonWriter& out) { out.member("component", type.name); });
}

void remove(const Common& common, const std::string& name, const std::string& component,
            const std::vector<std::string>& expected, bool dry) {
  RemoteWorld world(connect(common.where));
  if (dry) world.hold_texts();
  const TypeDescriptor& type = *must(find_component(world.types(), component));
  require_sendable(type);
  const NamedEntity entity = world.find(name);
  (void)value_of(world, entity, type);
  std::vector<session::Expectation> expectations;
  for (const std::string& each : expected) expectations.push_back(expected_field(world, entity, type, each));
  auto answer = send_edit(world, common, dry, batch_of(entity.entity, Remove{.component = type.id}), expectations);
  if (!answer) return;
  const session::Ack ack = acknowledged(*std::move(answer), entity.text());
  report(world, common, ack, entity.entity, entity.text() + "  removed " + type.name,
         [&](JsonWriter& out) { out.member("component", type.name); });
}

void spawn(const Common& common, const SpawnOne& asked) {
  RemoteWorld world(connect(common.where));
  if (asked.dry) world.hold_texts();
  std::string name = asked.name, under = asked.under;
  if (name.starts_with('/')) {
    if (!under.empty())
      fail(Exit::usage, "the path already says where the entity goes; omit --under or give a name only");
    const std::size_t last = last_part_of(name);
    under = last == 1 ? "/" : name.substr(0, last - 1);
    name = unescaped(name.substr(last));
  } else {
    if (last_part_of(name) != std::string::npos) fail_slash(name, !under.empty());
    name = unescaped(name);
  }
  const NamedEntity parent = under.empty() ? NamedEntity{{}, "/"} : world.find_or_root(under);

  // "Health.value=30" sets a field of the component Health. "Health" alone adds the component with
  // its defaults.
  std::map<TypeId, std::pair<const TypeDescriptor*, std::vector<std::byte>>> values;
  for (const std::string& text : asked.values) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      const TypeDescriptor& type = *must(find_component(world.types(), text));
      require_sendable(type);
      values.try_emplace(type.id, &type, type.default_bytes);
      continue;
    }
    const FieldName field = must(find_field(world.types(), text.substr(0, equals)));
    require_sendable(*field.component);
    auto& value =
        values.try_emplace(field.component->id, field.component, field.component->default_bytes).first->second;
    must(parse_place(world.types(), *field.component, field.place, field.path, text.substr(equals + 1), value.second,
                     world));
  }

  if (!parent.entity && !asked.before.empty()) fail_before_of_root();
  const Entity before = asked.before.empty() ? Entity{} : world.find(asked.before).entity;
  const Text called = must(world.intern(name));
  const NameClash clash = asked.suffix ? NameClash::suffix : NameClash::refuse;
  std::vector<Entity> ids;
  BatchBuilder builder;
  const auto append = [&](const auto& message, bool shared) {
    using M = std::remove_cvref_t<decltype(message)>;
    if (!values.empty()) {
      const auto batch = rows(PayloadShape::of<M>(), std::as_bytes(std::span(&message, 1)), ids, shared, values);
      builder.append_batch(BatchView(std::span<const std::byte>(batch)));
    } else if (shared) {
      builder.append_shared(std::span<const Entity>(ids), message);
    } else {
      builder.append(ids.front(), message);
    }
  };
  if (asked.what.empty()) {
    ids = world.grant(1);
    append(Create{.parent = parent.entity, .before = before, .name = called, .clash = clash}, false);
  } else {
    ids = world.grant(must(world.client().ask(session::GetTemplate{.name = asked.what})).nodes.size());
    append(Spawn{.what = Text{hash64(asked.what)},
                 .parent = parent.entity,
                 .before = before,
                 .name = called,
                 .clash = clash},
           true);
  }
  const Entity id = ids.front();
  auto answer = send_edit(world, common, asked.dry, builder.bytes());
  if (!answer) return;
  const session::Ack ack = named(*std::move(answer), name, asked.suffix ? "" : "; --suffix finds a free one");
  const std::string path = must(world.client().show(id)).about.path;
  report(world, common, ack, id, NamedEntity{id, path}.text(), [&](JsonWriter& out) { out.member("path", path); });
}

void destroy(const Common& common, const std::vector<std::string>& names, std::optional<std::uint32_t> expected,
             bool dry) {
  RemoteWorld world(connect(common.where));
  // Find all entities before destroying any of them.
  std::vector<NamedEntity> entities;
  for (const std::string& name : names) {
    NamedEntity found = world.find(name);
    if (std::ranges::find(entities, found.entity, &NamedEntity::entity) == entities.end())
      entities.push_back(std::move(found));
  }
  if (expected && entities.size() > 1) fail(Exit::usage, "--expect is possible for one entity at a time");
  std::vector<session::Expectation> expectations;
  if (expected) expectations.push_back(expect_descendants(entities.front().entity, *expected));
  if (dry) {
    BatchBuilder builder;
    for (const NamedEntity& entity : entities) builder.append(entity.entity, Destroy{});
    (void)send_edit(world, common, true, builder.bytes(), expectations);
    return;
  }
  for (const NamedEntity& entity : entities) {
    const auto ack = must(*send_edit(world, common, false, batch_of(entity.entity, Destroy{}), expectations));
    if (ack.dead > 0 && entities.size() == 1) fail(Exit::refused, entity.text() + " is not alive");
    if (ack.dead > 0) continue;  // already destroyed along with one of its ancestors
    report(world, common, ack, entity.entity, entity.text() + "  destroyed");
  }
}

void reparent(const Common& common, const Move& move) {
  RemoteWorld world(connect(common.where));
  const NamedEntity entity = world.find(move.entity);
  const NamedEntity parent = world.find_or_root(move.parent);
  if (!parent.entity && !move.before.empty()) fail_before_of_root();
  const Entity sibling = move.before.empty() ? Entity{} : world.find(move.before).entity;
  std::vector<session::Expectation> expectations;
  if (move.expected) expectations.push_back(expect_parent(entity.entity, world.find_or_root(*move.expected).entity));
  auto answer = send_edit(world, common, move.dry,
                          batch_of(entity.entity, Reparent{.parent = parent.entity, .before = sibling}), expectations);
  if (!answer) return;
  const session::Ack ack = acknowledged(*std::move(answer), entity.text());
  const std::string path = must(world.client().show(entity.entity)).about.path;
  report(world, common, ack, entity.entity, entity.text() + "  is now " + printable(path),
         [&](JsonWriter& out) { out.member("path", path); });
}

void rename(const Common& common, const std::string& name, const std::string& to,
            const std::optional<std::string>& expected, bool dry) {
  RemoteWorld world(connect(common.where));
  if (dry) world.hold_texts();
  const NamedEntity entity = world.find(name);
  std::vector<session::Expectation> expectations;
  if (expected) expectations.push_back(expect_name(entity.entity, *expected));
  const Text called = must(world.intern(to));
  auto answer = send_edit(world, common, dry, batch_of(entity.entity, Rename{.name = called}), expectations);
  if (!answer) return;
  const session::Ack ack = named(*std::move(answer), to, "");
  const std::string path = must(world.client().show(entity.entity)).about.path;
  report(world, common, ack, entity.entity, entity.text() + "  is now " + printable(path),
         [&](JsonWriter& out) { out.member("path", path); });
}

void reload(const Common& common, const std::string& plugin) {
  RemoteWorld world(connect(common.where));
  const session::Reloaded done = must(world.client().ask(session::Reload{.plugin = plugin}));
  const std::size_t count = done.plugins.size();
  if (done.builds.size() != count || done.builds_before.size() != count || done.changed.size() != count)
    fail(Exit::unreachable, "the server's answer is invalid");
  if (common.json) {
    JsonWriter out;
    out.open_object().member("sequence", done.sequence).key("plugins").open_array();
    for (std::size_t i = 0; i < count; ++i)
      out.open_object()
          .member("name", done.plugins[i])
          .member("build", done.builds[i])
          .member("before", done.builds_before[i])
          .member("changed", done.changed[i] != 0)
          .close_object();
    return print_line(out.close_array().close_object().text());
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = printable(done.plugins[i]) + "  " + printable(done.builds[i]);
    if (done.builds_before[i] != done.builds[i]) line += ", was " + printable(done.builds_before[i]);
    if (!done.changed[i]) line += "; the file is the same as before";
    print_line(line);
  }
}

void save(const Common& common) {
  RemoteWorld world(connect(common.where));
  session::Ack ack;
  ack.sequence = must(world.client().ask<session::Save>()).sequence;
  report(world, common, ack, {}, "saved, through sequence " + std::to_string(ack.sequence));
}

}  // namespace muster::cli
