// Names the value and the handler of a difference.
//
// - Every byte is compared by EntityRegistry::hash(). Columns are compared one by one only if the
//   hashes differ.
// - Calls are compared in the order in which they were made. Once the state differs, later calls
//   differ as a consequence, so only the first one counts. Calls from workers have no such order;
//   those of an input are compared as a sum over rows for each handler.
// - The inputs are done twice more with managers compared after each call, which may take long. If
//   these two are the same, the calls of the live inputs are compared with those of the first
//   repetition: a handler may have done something once.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "messages/value_text.h"
#include "registry/moments/synctest.h"
#include "registry/moments/synctest_impl.h"
#include "registry/moments/synctest_log.h"

namespace muster {

std::vector<Synctest::Impl::Value> Synctest::Impl::compare(const Result& first, const Result& second, Impl& of_second,
                                                           SyncDifference& found) {
  constexpr std::size_t values_max = 4096;
  std::vector<Value> values;
  std::set<Place> places;
  for (const Result* result : {&first, &second})
    for (const auto& [place, column] : result->columns) places.insert(place);
  texts_ = first.texts;
  texts_.insert(second.texts.begin(), second.texts.end());
  // A column that only one result changed is in the other one as it was before.
  const auto column_of = [&](const Result& result, const Place& place) {
    const auto at = result.columns.find(place);
    return at != result.columns.end() ? at->second : (&result == &first ? *this : of_second).column_at(place);
  };
  bool rows_differ = false;
  for (const Place& place : places) {
    const auto& [depth, archetype, number, type] = place;
    if (type == ids_type || type == TypeTraits<ChildOf>::id) continue;
    const StoredType* const stored = storage().component(type);
    const Column one = column_of(first, place), other = column_of(second, place);
    const Place ids(depth, archetype, number, ids_type);
    const Column one_ids = column_of(first, ids), other_ids = column_of(second, ids);
    if (one_ids.bytes != other_ids.bytes) rows_differ = true;
    const std::uint32_t count = std::min(one.count, other.count);
    for (std::uint32_t row = 0; row < count; ++row) {
      const std::size_t at = std::size_t{row} * one.size, id = std::size_t{row} * sizeof(Entity);
      if (std::memcmp(one_ids.bytes.data() + id, other_ids.bytes.data() + id, sizeof(Entity)) != 0) continue;
      if (std::memcmp(one.bytes.data() + at, other.bytes.data() + at, one.size) == 0) continue;
      ++found.values;
      if (values.size() == values_max) continue;
      Value value{.entity = {},
                  .type = stored,
                  .depth = depth,
                  .archetype = archetype,
                  .row = row,
                  .first = {one.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            one.bytes.begin() + static_cast<std::ptrdiff_t>(at + one.size)},
                  .second = {other.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             other.bytes.begin() + static_cast<std::ptrdiff_t>(at + one.size)}};
      std::memcpy(&value.entity, one_ids.bytes.data() + id, sizeof(Entity));
      values.push_back(std::move(value));
    }
  }
  for (const auto& [name, number] : first.parts) {
    const auto at = second.parts.find(name);
    if (at == second.parts.end() || at->second != number) found.part += (found.part.empty() ? "" : ", ") + name;
  }
  for (const auto& [name, number] : second.parts)
    if (!first.parts.contains(name)) found.part += (found.part.empty() ? "" : ", ") + name;
  if (rows_differ) found.part += (found.part.empty() ? "" : ", ") + std::string("the rows");
  if (found.part.empty()) found.part = "the hierarchy or the templates";
  return values;
}

namespace {

/// Shows entities by their ids and texts by their content.
class TextsOfSynctest final : public ValueReferences {
 public:
  /// `others` are texts that the registry does not have, by their hashes.
  TextsOfSynctest(const EntityRegistry& registry, const std::map<std::uint64_t, std::string>& others)
      : registry_(registry), others_(others) {}
  ValueResult<Entity> find_entity(std::string_view) override { return Entity{}; }
  ValueResult<Text> intern(std::string_view) override { return Text{}; }
  std::string text(Text text) override {
    const std::string_view known = registry_.text(text);
    if (!known.empty() || !text) return std::string(known);
    const auto other = others_.find(text.hash);
    return other != others_.end() ? other->second : "#" + std::to_string(text.hash);
  }

 private:
  const EntityRegistry& registry_;
  const std::map<std::uint64_t, std::string>& others_;
};

std::string hex_of_bytes(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace

void Synctest::Impl::describe(const Value& value, SyncDifference& found) {
  found.entity = value.entity;
  found.path = id_and_path(registry_, value.entity);
  const auto differs = std::ranges::mismatch(value.first, value.second);
  const auto offset = static_cast<std::uint32_t>(differs.in1 - value.first.begin());
  found.field.clear();
  found.first = hex_of_bytes(value.first);
  found.second = hex_of_bytes(value.second);
  if (!value.type || !value.type->descriptor) {
    found.component = "a column";
    return;
  }
  const TypeDescriptor& type = *value.type->descriptor;
  found.component = type.name;
  if (value.type->is_presence) {
    found.field = "enabled";
    return;
  }
  TextsOfSynctest texts(registry_, texts_);
  for (const Leaf& leaf : leaves(registry_.types(), type)) {
    if (offset < leaf.offset || offset >= leaf.offset + leaf.field->size) continue;
    found.field = leaf.path;
    const std::string first = leaf_text(leaf, value.first.data(), texts),
                      second = leaf_text(leaf, value.second.data(), texts);
    if (first == second) {
      const auto bytes = [&](const std::vector<std::byte>& of) {
        return " (" + hex_of_bytes(std::span(of).subspan(leaf.offset, leaf.field->size)) + ")";
      };
      found.first = first + bytes(value.first);
      found.second = second + bytes(value.second);
    } else {
      found.first = first;
      found.second = second;
    }
    return;
  }
  found.field = "padding at byte " + std::to_string(offset);
  found.first = hex_of_bytes(std::span(value.first).subspan(offset, 1));
  found.second = hex_of_bytes(std::span(value.second).subspan(offset, 1));
}

namespace {

std::vector<const Handler*> called_in(std::initializer_list<std::span<const HandlerCall>> logs) {
  std::set<const Handler*> called;
  for (const std::span<const HandlerCall> calls : logs)
    for (const HandlerCall& call : calls) called.insert(call.handler);
  return {called.begin(), called.end()};
}

}  // namespace

void Synctest::Impl::name(const std::optional<FirstCall>& first, const std::vector<const Handler*>& called,
                          const std::vector<Value>& values, SyncDifference& found) {
  const Value* shown = values.empty() ? nullptr : &values.front();
  if (first && first->found_it) {
    found.finder = handler_text(*first->handler);
  } else if (first) {
    const Handler* const named = first->handler;
    found.handler = handler_text(*named);
    if (const TypeDescriptor* const type = registry_.types().find(named->message)) found.message = type->name;
    for (const Value& value : values)
      if (value.type && writes_type(*named, value.type->id)) {
        shown = &value;
        break;
      }
    find_beside(*named, called, found);
  } else {
    find_suspects(called, shown && shown->type ? shown->type->id : 0, found);
  }
  if (shown) describe(*shown, found);
}

std::string Synctest::Impl::find_handler(const std::vector<Value>& values, SyncDifference& found) {
  Log one(registry_, 0, Log::Depth::thorough), other(registry_, 1, Log::Depth::thorough);
  again(false, &one);
  if (std::string why = go_back(); !why.empty()) return why;
  again(false, &other);
  if (std::string why = go_back(); !why.empty()) return why;
  std::optional<FirstCall> first = first_differing(one, other);
  if (!first && registry_.impl_->parallel) {
    // The result may depend on the thread.
    Log workers(registry_, 0, Log::Depth::thorough);
    again(true, &workers);
    if (std::string why = go_back(); !why.empty()) return why;
    first = first_differing(one, workers);
  }
  if (!first) first = first_differing(*repetition_, *live_);
  name(first, called_in({one.calls, other.calls, repetition_->calls, live_->calls}), values, found);
  return {};
}

std::optional<SyncDifference> Synctest::Impl::left_mode(const Log& log, std::uint64_t first, std::uint64_t last) const {
  if (!log.left_mode) return std::nullopt;
  SyncDifference found;
  found.first_sequence = first;
  found.last_sequence = last;
  found.handler = handler_text(*log.left_mode->handler);
  if (const TypeDescriptor* const type = registry_.types().find(log.left_mode->handler->message))
    found.message = type->name;
  found.part = "the floating-point modes";
  found.float_mode = log.left_mode->mode;
  return found;
}

// --- twins ---

class TwinTest::Impl {
 public:
  Impl(EntityRegistry& first, EntityRegistry& second, Synctest* of_first)
      : first_(first, of_first), second_(second, nullptr) {}
  ~Impl() { stop(); }

  void begin() {
    stop();
    first_.begin(0);
    second_.begin(1);
    begun_ = true;
  }
  std::optional<SyncDifference> end() {
    if (!stop()) return std::nullopt;
    Twin &a = first_, &b = second_;
    const std::uint64_t first = a.sequence + 1, last = a.registry.sequence();
    if (a.registry.hash() == b.registry.hash()) {
      auto left = a.parts.left_mode(*a.log, first, last);
      return left ? left : b.parts.left_mode(*b.log, first, last);
    }
    SyncDifference found;
    found.first_sequence = first;
    found.last_sequence = last;
    const auto one = a.parts.result_since(a.version), other = b.parts.result_since(b.version);
    const auto values = a.parts.compare(one, other, b.parts, found);
    const Synctest::Impl::Log* const repetition = a.synctest ? a.synctest->impl_->repetition_.get() : nullptr;
    const Synctest::Impl::Log& log = repetition ? *repetition : *a.log;
    a.parts.name(Synctest::Impl::first_differing(log, *b.log), called_in({log.calls}), values, found);
    found.goes_on_with_first = true;
    return found;
  }

 private:
  struct Twin {
    Twin(EntityRegistry& of, Synctest* its) : registry(of), synctest(its), parts(of, {}) {}
    void begin(std::uint32_t number) {
      CallProbe* const inner = probe_of_synctest();
      log = std::make_unique<Synctest::Impl::Log>(registry, number, Synctest::Impl::Log::Depth::brief, inner);
      if (!inner) log->fresh.prepare();
      version = registry.host().begin_version();
      sequence = registry.sequence();
      parts.handlers().set_probe(log.get());
    }
    void stop() { parts.handlers().set_probe(probe_of_synctest()); }
    CallProbe* probe_of_synctest() const {
      return synctest && synctest->has_begun() ? synctest->impl_->live_.get() : nullptr;
    }
    EntityRegistry& registry;
    Synctest* const synctest;
    Synctest::Impl parts;
    std::unique_ptr<Synctest::Impl::Log> log;
    std::uint64_t version = 0, sequence = 0;
  };
  /// Returns true if calls were recorded.
  bool stop() {
    if (!std::exchange(begun_, false)) return false;
    first_.stop();
    second_.stop();
    return true;
  }

  Twin first_, second_;
  bool begun_ = false;
};

TwinTest::TwinTest(EntityRegistry& first, EntityRegistry& second, Synctest* of_first)
    : impl_(std::make_unique<Impl>(first, second, of_first)) {}
TwinTest::~TwinTest() = default;
void TwinTest::begin() { impl_->begin(); }
std::optional<SyncDifference> TwinTest::end() { return impl_->end(); }

}  // namespace muster
