// What the naive model calls a message and a type: structs of their own, no bytes of batches.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "registry/apply/receipt.h"
#include "schema/descriptor.h"
#include "schema/muster.h"

namespace naive {

using muster::Entity;
using muster::FieldId;
using muster::Receipt;
using muster::Refusal;
using muster::RefusalCode;
using muster::Text;
using muster::TypeId;
using Bytes = std::string;

template <class T>
Bytes bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T as(const Bytes& bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}
template <class T>
inline constexpr TypeId id_of = muster::TypeTraits<T>::id;

/// What the model must be told of a type; the test's own list, not the type table's.
struct KnownType {
  std::string name;
  bool component = false, tag = false;
  bool runtime = false;     ///< a tag to everybody but its handlers
  bool enableable = false;  ///< its row stays where it is when it goes
  bool builtin = false;     ///< a message that the registry acts on itself
  std::size_t size = 0;
  struct Spot {
    std::size_t offset, bytes;
  };
  std::map<FieldId, Spot> fields;
  std::function<bool(const Bytes&)> good;  ///< empty: every value is
};
using Types = std::map<TypeId, KnownType>;

using RowValues = std::map<TypeId, Bytes>;

struct TemplateSpec;

struct Message {
  enum class To { one, span, world, line, later };
  To to = To::one;
  TypeId type = 0;
  std::vector<Entity> targets = {};  ///< one, line: exactly one
  std::uint64_t parts = 0;           ///< line: a mask of SubtreeParts
  Bytes payload = {};                ///< the message struct, or the FlatBuffer
  bool is_table = false;
  bool has_rows = false;
  RowValues rows = {};
  std::uint64_t due_ns = 0, timer = 0;  ///< later
  std::vector<Message> inner = {};      ///< later
  std::shared_ptr<const TemplateSpec> defines = {};
};

/// Messages that are one input: see above.
using Messages = std::vector<Message>;
/// Whether the second may follow the first in one.
bool same_run(const Message& first, const Message& second);

// --- making messages ---

template <class M>
Message one(Entity target, const M& message) {
  return {.to = Message::To::one, .type = id_of<M>, .targets = {target}, .payload = bytes_of(message)};
}
template <class M>
Message span(std::span<const Entity> targets, const M& message) {
  return {.to = Message::To::span,
          .type = id_of<M>,
          .targets = {targets.begin(), targets.end()},
          .payload = bytes_of(message)};
}
template <class M>
Message world(const M& message) {
  return {.to = Message::To::world, .type = id_of<M>, .payload = bytes_of(message)};
}
template <class M>
Message line(Entity target, std::uint64_t parts, const M& message) {
  return {.to = Message::To::line, .type = id_of<M>, .targets = {target}, .parts = parts, .payload = bytes_of(message)};
}
inline Message later(std::uint64_t due_ns, std::uint64_t timer, Message inner) {
  Message made{.to = Message::To::later, .type = inner.type, .due_ns = due_ns, .timer = timer};
  made.inner.push_back(std::move(inner));
  return made;
}

}  // namespace naive
