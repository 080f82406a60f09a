// What the handlers of the random programs share.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "tests/model/handlers/handlers.h"
#include "tests/model/naive/naive_model.h"
#include "tests/model/trial_types.h"

namespace naive {

using muster::Added;
using muster::Changed;
using muster::EntityRegistry;
using muster::HandlerOptions;
using muster::Lookup;
using muster::Other;
using muster::Parent;
using muster::ParentWith;
using muster::Presence;
using muster::Removed;
using muster::SelfOrParent;
using muster::Source;
using muster::Subscription;
using muster::UpTo;
using muster::Verdict;
using muster::With;
using muster::Without;
using muster::WithoutParent;
using muster::WithoutSelfOrParent;

inline constexpr TypeId mana = muster::hash32("foreign.Mana");
inline constexpr TypeId charge = muster::hash32("foreign.Charge");
/// In messages of trial.fbs, of the entity that Other reads from.
inline constexpr std::size_t other_at = 8;

template <class T>
Term self() {
  return {.type = id_of<T>};
}
template <class T>
Term optional() {
  return {.type = id_of<T>, .presence = Presence::optional};
}
template <class T>
Term with() {
  return {.type = id_of<T>, .value = false};
}
template <class T>
Term without() {
  return {.type = id_of<T>, .presence = Presence::excluded, .value = false};
}
template <class T>
Term up(Source source, Presence presence = Presence::required, TypeId anchor = 0) {
  return {.type = id_of<T>, .source = source, .presence = presence, .anchor = anchor};
}

inline void alone(const char* handler, const Bytes& message, Entity e, std::uint64_t seen = 0) {
  if (active_recorder->quiet) return;
  active_recorder->log.push_back({.handler = handler, .message = message, .self = e, .seen = seen, .alone = true});
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
}

inline void count(trial::Tally& tally, std::uint32_t value) {
  ++tally.calls;
  tally.sum = tally.sum * 31 + value;
}

inline std::uint64_t bits(float value) {
  std::uint32_t out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

template <class T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
inline Bytes to_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline muster::Term term(const Term& t, muster::Access access = muster::Access::read) {
  return {.type = t.type,
          .access = access,
          .presence = t.presence,
          .source = t.source,
          .value = t.value,
          .anchor = t.anchor};
}

}  // namespace naive
