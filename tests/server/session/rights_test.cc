// Who may send which message about which component: a table of all messages, read off the schema, so that a new one is in it.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/session/judge.h"
#include "tests/server/live_world.h"
#include "tests/server/rights.h"
#include "tests/server/session/rights_types.h"

namespace rights_test {

using namespace muster;
using test::types;

namespace {

constexpr std::array roles{session::Role::view, session::Role::edit, session::Role::control, session::Role::admin};
constexpr std::array data{TypeTraits<rights::NoneData>::id, TypeTraits<rights::ViewData>::id,
                          TypeTraits<rights::EditData>::id, TypeTraits<rights::ControlData>::id,
                          TypeTraits<rights::AdminData>::id};
constexpr std::array orders{TypeTraits<rights::NoneOrder>::id, TypeTraits<rights::ViewOrder>::id,
                            TypeTraits<rights::EditOrder>::id, TypeTraits<rights::ControlOrder>::id,
                            TypeTraits<rights::AdminOrder>::id};

bool suffices(session::Role role, RemoteRight right) { return right != RemoteRight::none && role >= right; }
bool may(session::Role role, const TypeDescriptor& message, TypeId other) {
  return suffices(role, message.remote) && suffices(role, types().find(other)->remote);
}

/// Whether a field holds a type id, as its comment says: schema/muster.fbs has no other sign for it.
bool says_type_id(const FieldDescriptor& field) {
  return field.kind == FieldKind::uint32 &&
         (field.doc.find("type id") != std::string::npos || field.doc.find("Type id") != std::string::npos);
}

/// A field of a message that holds a type id, in nested structs and tables too.
struct Naming {
  std::string path;
  std::uint32_t offset = 0;  ///< of structs
};
void collect(const TypeDescriptor& type, const Naming& above, std::set<TypeId>& seen, std::vector<Naming>& out) {
  if (!seen.insert(type.id).second) return;
  for (const FieldDescriptor& field : type.fields) {
    const Naming here{above.path + (above.path.empty() ? "" : ".") + field.name, above.offset + field.offset};
    if (says_type_id(field)) out.push_back(here);
    if (field.type)
      if (const TypeDescriptor* inner = types().find(field.type)) collect(*inner, here, seen, out);
  }
  seen.erase(type.id);
}
std::vector<Naming> naming_fields(const TypeDescriptor& message) {
  std::vector<Naming> found;
  std::set<TypeId> seen;
  collect(message, {}, seen, found);
  return found;
}

bool is_session(const TypeDescriptor& type) { return type.name.starts_with("muster.session."); }
template <class F>
void each_message(TypeRole role, F f) {
  for (const TypeDescriptor* type : types().types())
    if (type->role == role && !is_session(*type)) f(*type);
}

/// What judge says of a batch, and of the same in a timed one.
void judged(BatchBuilder& batch, session::Role role, bool allowed, TypeId lacking, const TypeDescriptor& message) {
  BatchBuilder timed;
  timed.append_timed(1'000'000, 0, batch.front());
  for (BatchBuilder* each : {&batch, &timed}) {
    const auto found = judge(each->bytes(), types(), {role}, {});
    CHECK(found.has_value() == allowed);
    if (found) continue;
    CAPTURE(found.error().text);
    if (message.remote == RemoteRight::none) {
      CHECK(found.error().code == session::FaultCode::wrong_direction);
      continue;
    }
    CHECK(found.error().code == session::FaultCode::no_right);
    CHECK_FALSE(found.error().closes);
    CHECK(found.error().type == (suffices(role, message.remote) ? lacking : message.id));
  }
}

/// Three payloads of a message in a batch of this kind, the last changed by `change`.
template <class F>
void fill(BatchBuilder& batch, BatchKind kind, const TypeDescriptor& message, const RowSet* rows, F change) {
  const std::vector<Entity> targets{{1, 1}, {2, 1}, {3, 1}};
  const PayloadShape shape = rows ? rows->shape() : PayloadShape::of(message);
  for (int i = 0; i < (kind == BatchKind::shared ? 1 : 3); ++i) {
    std::byte* to = nullptr;
    switch (kind) {
      case BatchKind::each: to = rows ? batch.append_rows(*rows, targets[0]) : batch.append(shape, targets[0]); break;
      case BatchKind::shared:
        to = rows ? batch.append_rows_shared(*rows, targets) : batch.append_shared(shape, targets);
        break;
      case BatchKind::subtree: to = batch.append_subtree(shape, targets[0], subtree_self); break;
      default: to = batch.append_world(shape);
    }
    std::memcpy(to, message.default_bytes.data(), message.size);
    if (i == 2 || kind == BatchKind::shared) change(to);
  }
}

}  // namespace

TEST_CASE("rights: a row set needs the right of its message and of every component in it, whatever the message") {
  unsigned messages = 0;
  each_message(TypeRole::message, [&](const TypeDescriptor& message) {
    ++messages;
    for (const session::Role role : roles)
      for (const TypeId component : data)
        for (const BatchKind kind : {BatchKind::each, BatchKind::shared}) {
          CAPTURE(message.name, static_cast<int>(role), types().find(component)->name, static_cast<int>(kind));
          const std::array<const TypeDescriptor*, 2> two{types().find(TypeTraits<rights::ViewData>::id),
                                                         types().find(component)};
          const RowSet rows(message, std::span(two).subspan(component == two[0]->id ? 1 : 0));
          BatchBuilder batch;
          fill(batch, kind, message, &rows, [](std::byte*) {});
          judged(batch, role, may(role, message, component), component, message);
        }
  });
  CHECK(messages >= 20);
}

TEST_CASE("rights: a message that names a component in a field needs that component's right, in each payload") {
  std::set<std::string> named;
  each_message(TypeRole::message, [&](const TypeDescriptor& message) {
    for (const Naming& field : naming_fields(message)) {
      named.insert(message.name + "." + field.path);
      for (const session::Role role : roles)
        for (const TypeId component : data)
          for (const BatchKind kind : {BatchKind::each, BatchKind::shared, BatchKind::subtree, BatchKind::world}) {
            CAPTURE(message.name, field.path, static_cast<int>(role), types().find(component)->name,
                    static_cast<int>(kind));
            BatchBuilder batch;
            fill(batch, kind, message, nullptr,
                 [&](std::byte* payload) { std::memcpy(payload + field.offset, &component, sizeof component); });
            judged(batch, role, may(role, message, component), component, message);
          }
    }
  });
  // What there was when this was written; more is welcome, less means that the comments are no longer read.
  for (const char* known : {"muster.Remove.component", "muster.SetField.component", "muster.SetFieldIf.set.component",
                            "muster.ComponentChanged.component"}) {
    CAPTURE(known);
    CHECK(named.contains(known));
  }
}

TEST_CASE("rights: a template needs the right of every component and initial message in it") {
  std::set<std::string> named;
  each_message(TypeRole::table_message, [&](const TypeDescriptor& message) {
    for (const Naming& field : naming_fields(message)) named.insert(message.name + "." + field.path);
  });
  // Who adds a table that names types adds what judge() looks at, and a case here.
  CHECK(named == std::set<std::string>{"muster.DefineTemplate.nodes.components.type",
                                       "muster.DefineTemplate.nodes.messages.type"});
  const TypeDescriptor& message = *types().find(TypeTraits<DefineTemplate>::id);
  for (const session::Role role : roles)
    for (std::size_t right = 0; right < data.size(); ++right)
      for (const bool in_messages : {false, true}) {
        const TypeId type = in_messages ? orders[right] : data[right];
        CAPTURE(static_cast<int>(role), types().find(type)->name);
        TemplateValue value;
        value.type = type;
        value.fingerprint = types().find(type)->fingerprint;
        value.value.resize(4);
        DefineTemplate definition;
        definition.name = "hut";
        definition.nodes.resize(3);
        definition.nodes[1].name = "a";
        definition.nodes[2].name = "b";
        (in_messages ? definition.nodes[2].messages : definition.nodes[2].components).push_back(value);
        BatchBuilder batch;
        session::append(batch, DefineTemplate{.name = "nothing in it", .nodes = {}, .texts = {}});
        session::append(batch, definition);
        REQUIRE(batch.batches() == 1);
        judged(batch, role, may(role, message, type), type, message);
        const auto lacking = template_right_fault(definition, types(), {role});
        CHECK(lacking.has_value() == !suffices(role, types().find(type)->remote));
      }
}

TEST_CASE("rights: every field of a structure message that holds a type id is one that judge() knows by its name") {
  for (const TypeDescriptor* type : types().types()) {
    if (!type->name.starts_with("muster.") || is_session(*type)) continue;
    for (const FieldDescriptor& field : type->fields) {
      CAPTURE(type->name, field.name);
      const bool known = field.kind == FieldKind::uint32 && (field.name == "component" || field.name == "type");
      CHECK(known == says_type_id(field));
    }
  }
}

TEST_CASE(
    "rights: what a template file brings needs the rights of a definition, and defines nothing where one is missing") {
  testing::LiveWorld world;
  Client editor = world.client(testing::editor_token), admin = world.client();
  const std::string text = R"({templates: [{name: "free", components: {Health: {value: 30}}},
                                           {name: "heavy", children: [{name: "core", components: {Gravity: {}}}]}]})";
  const auto refused = editor.read_templates(text, "heavy.json");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text.find("arena.Gravity needs the right to control") != std::string::npos);
  CHECK(world.run([](EntityRegistry& r) { return r.host().template_names().size(); }) == 0);
  CHECK(admin.read_templates(text, "heavy.json").has_value());
  CHECK(world.run([](EntityRegistry& r) { return r.host().template_names().size(); }) == 2);
  const std::string score = R"({templates: [{name: "score", components: {Score: {}}}]})";
  const auto nobody = admin.read_templates(score, "score.json");
  REQUIRE_FALSE(nobody.has_value());
  CHECK(nobody.error().text.find("arena.Score is not written from outside") != std::string::npos);
  CHECK(editor.read_templates(R"({templates: [{name: "free", components: {Health: {value: 31}}}]})", "f.json"));
}

}  // namespace rights_test
