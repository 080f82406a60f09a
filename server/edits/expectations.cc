#include "server/edits/expectations.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "messages/value_text.h"
#include "server/edits/refusal_text.h"
#include "server/session/session.h"
#include "server/session/shown_text.h"

namespace muster {
namespace {

class Expecting {
 public:
  Expecting(const EntityRegistry& registry, const ServerLimits& limits, SeenNow* sight, Steps& steps)
      : registry_(registry), limits_(limits), sight_(sight), steps_(steps) {}

  std::optional<session::Fault> judge(const session::Expectation& expected) {
    steps_.spend(1);
    steps_.spend_bytes(expected.value.size() + expected.name.size());
    const Entity e = expected.entity;
    if (!sees(e)) return unknown({RefusalCode::dead_entity, e}, shown_id(e) + " is not alive");
    switch (expected.what) {
      case session::Expect::value:
      case session::Expect::present:
      case session::Expect::absent: return component(expected);
      case session::Expect::parent: {
        const Entity parent = registry_.parent(e);
        if (parent == expected.parent) return {};
        return mismatch("parent_mismatch", e, TypeTraits<ChildOf>::id, "parent", bytes_of(parent),
                        shown(e) + " is " + place(parent) + ", not " + place(expected.parent));
      }
      case session::Expect::name: {
        const std::string_view name = registry_.name(e);
        if (name == expected.name) return {};
        // Not with the field "text", whose bytes would be the hash of the name.
        return mismatch("name_mismatch", e, TypeTraits<Name>::id, {}, {name.begin(), name.end()},
                        shown(e) + " has " + named(name) + ", not " + named(expected.name));
      }
      case session::Expect::descendants: return descendants(e, expected.count);
    }
    return {};
  }

 private:
  std::optional<session::Fault> refused(const Refusal& refusal) const {
    return refusal_fault(registry_, limits_, {.refused = 1, .refusal = refusal}, {});
  }
  /// Returns a fault with this text, because the usual one would describe what is hidden.
  std::optional<session::Fault> unknown(const Refusal& refusal, std::string text) const {
    session::Fault fault = refusal_fault(registry_, limits_, {.refused = 1, .refusal = {refusal.code}}, {});
    fault.entity = refusal.entity;
    fault.type = refusal.type;
    fault.text = std::move(text);
    return fault;
  }
  static std::optional<session::Fault> mismatch(const char* reason, Entity e, TypeId type, std::string field,
                                                std::vector<std::uint8_t> value, std::string text) {
    session::Fault fault = fault_of(session::FaultCode::refused, reason, std::move(text));
    fault.entity = e;
    fault.type = type;
    fault.field = std::move(field);
    fault.value = std::move(value);
    return fault;
  }
  template <class T>
  static std::vector<std::uint8_t> bytes_of(const T& value) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(&value);
    return {at, at + sizeof value};
  }
  bool sees(Entity e) const { return sight_ ? sight_->sees(e) : registry_.alive(e); }
  std::string shown(Entity e) const {
    if (!sees(e)) return shown_id(e);
    return shown_id(e) + " (" + shown_path(registry_, e, limits_.path_bytes_max, steps_) + ")";
  }
  std::string place(Entity parent) const { return parent ? "below " + shown(parent) : "a root"; }
  std::string named(std::string_view name) const {
    return name.empty() ? "no name" : "the name \"" + printable(shown_name(name, limits_.path_bytes_max)) + "\"";
  }

  std::optional<session::Fault> component(const session::Expectation& expected) {
    const Entity e = expected.entity;
    if (sight_ && !sight_->sees(expected.component))
      return unknown({RefusalCode::unknown_component, e, expected.component},
                     "type " + std::to_string(expected.component) + " is not a component of this world");
    const TypeDescriptor* const type = registry_.types().find(expected.component);
    if (!type || type->role != TypeRole::component)
      return refused({RefusalCode::unknown_component, e, expected.component});
    const std::byte* const value = registry_.find(e, expected.component);
    if (expected.what == session::Expect::absent) {
      if (!value) return {};
      auto fault = refused({RefusalCode::component_there, e, type->id});
      return with_value(std::move(fault), value, type->size);
    }
    if (!value) return refused({RefusalCode::missing_component, e, type->id});
    if (expected.what == session::Expect::present) return {};
    std::uint32_t offset = 0, bytes = type->size;
    if (expected.field != 0) {
      const FieldPlace* const place = registry_.types().place(*type, expected.field);
      if (!place) return refused({RefusalCode::unknown_field, e, type->id, expected.field});
      offset = place->offset;
      bytes = place->size;
    }
    if (expected.value.size() != bytes) {
      auto fault = refused({RefusalCode::wrong_size, e, type->id, expected.field});
      fault->text = "an expected value of " + type->name + (fault->field.empty() ? "" : "." + fault->field) + " has " +
                    std::to_string(expected.value.size()) + " bytes; it needs " + std::to_string(bytes);
      return fault;
    }
    if (bytes == 0 || std::memcmp(value + offset, expected.value.data(), bytes) == 0) return {};
    auto fault = refused({RefusalCode::value_mismatch, e, type->id, expected.field});
    return with_value(std::move(fault), value + offset, bytes);
  }
  static std::optional<session::Fault> with_value(std::optional<session::Fault> fault, const std::byte* value,
                                                  std::uint32_t bytes) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(value);
    fault->value.assign(at, at + bytes);
    return fault;
  }

  std::optional<session::Fault> descendants(Entity top, std::uint32_t expected) {
    // An edit may not reach more entities, so a larger number needs no exact answer.
    const std::uint64_t most = std::max<std::uint64_t>(expected, limits_.edit_steps_max);
    std::uint32_t count = 0;
    for (Entity at = top; at && count <= most;) {
      Entity next = registry_.first_child(at);
      while (!next && at != top) {
        next = registry_.next_sibling(at);
        if (!next) at = registry_.parent(at);
      }
      at = next;
      if (at && (!sight_ || sight_->sees(at))) ++count;
    }
    steps_.spend(count / 4);
    if (count == expected) return {};
    return mismatch("descendants_mismatch", top, 0, {}, bytes_of(count),
                    std::string(count > most ? "more than " : "") +
                        std::to_string(std::min<std::uint64_t>(count, most)) +
                        (count == 1 ? " entity is" : " entities are") + " below " + shown(top) + ", not " +
                        std::to_string(expected));
  }

  const EntityRegistry& registry_;
  const ServerLimits& limits_;
  SeenNow* const sight_;
  Steps& steps_;
};

}  // namespace

std::optional<session::Fault> unmet_expectation(const EntityRegistry& registry, const ServerLimits& limits,
                                                const std::vector<session::Expectation>& expected, SeenNow* sight,
                                                Steps& steps) {
  Expecting expecting(registry, limits, sight, steps);
  for (const session::Expectation& each : expected)
    if (auto fault = expecting.judge(each)) return fault;
  return {};
}

}  // namespace muster
