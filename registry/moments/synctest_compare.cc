// Names the value and the handler of a difference.
//
// - Every byte is compared by EntityRegistry::hash(). Columns are compared one by one only if the
//   hashes differ.
// - Calls are compared in the order in which they were made. Once the state differs, later calls
//   differ as a consequence, so only the first one counts. Calls from workers have no such order;
//   those of a pass are compared as a sum over rows for each handler.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "messages/value_text.h"
#include "registry/moments/synctest.h"
#include "registry/moments/synctest_impl.h"
#include "system/mutex.h"

namespace muster {

std::string SyncDifference::text() const {
  std::string text = first_sequence == last_sequence
                         ? "input " + std::to_string(first_sequence)
                         : "inputs " + std::to_string(first_sequence) + " to " + std::to_string(last_sequence);
  text += " gave two results: ";
  if (entity || !path.empty())
    text += component + (field.empty() ? "" : "." + field) + " of " + path + " is " + first + " the first time and " +
            second + " the second time" +
            (values > 1 ? ", and " + std::to_string(values - 1) + " more values differ" : "");
  else
    text += part + " differ";
  if (!handler.empty()) return text + ". The first call that differs is one of handler " + handler + " of " + message;
  if (suspects.empty()) return text + ". No handler was found";
  text += ". It did not come again; ";
  for (std::size_t i = 0; i < suspects.size(); ++i) text += (i ? ", " : "") + suspects[i];
  return text + (suspects.size() == 1 ? " is the only handler" : " are the handlers") + " that could have made it";
}

// --- calls ---

/// Records what each call wrote and posted.
class Synctest::Impl::Log final : public CallProbe {
 public:
  std::vector<Call> calls;

  bool rows(RunRows own, RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
            std::uint32_t end, const std::uint16_t* columns) override {
    const BatchWriter& posts = context.outbox.arena_;
    const BatchWriter::Written before = posts.written();
    const bool consumed = own(context, handler, message, chunk, begin, end, columns);
    Call call{.handler = &handler,
              .message = message,
              .depth = chunk.depth,
              .archetype = chunk.archetype ? chunk.archetype->number : 0,
              .begin = 0,
              .end = 0};
    if (columns) {
      const std::uint64_t first = row_in_group(chunk);
      call.begin = first + begin;
      call.end = first + end;
      call.wrote = written_by(handler, chunk, begin, end, columns);
    }
    call.wrote += consumed;
    note_posts(call, before, posts.written());
    add(call);
    return consumed;
  }
  ItemCounts items(RunItems own, RunContext& context, const Handler& handler, const ItemRun& run) override {
    const BatchWriter& posts = context.outbox.arena_;
    const BatchWriter::Written before = posts.written();
    const ItemCounts counts = own(context, handler, run);
    Call call{.handler = &handler, .message = run.first, .depth = 0, .archetype = 0, .begin = 0, .end = 0};
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const Row row = context.storage.find(detail::target_of(run.first + std::size_t{i} * run.bytes));
      const std::uint16_t* const columns = row ? handler.columns(*row.chunk->archetype) : nullptr;
      if (columns) call.wrote += written_by(handler, *row.chunk, row.row, row.row + 1, columns);
    }
    note_posts(call, before, posts.written());
    add(call);
    return counts;
  }

 private:
  static std::uint64_t row_in_group(const Chunk& chunk) noexcept {
    if (chunk.place == 0) return 0;
    return chunk_capacity(*chunk.archetype, 0) + std::uint64_t{chunk.place - 1} * chunk_capacity(*chunk.archetype, 1);
  }
  /// Returns a sum over rows, so that the order and the division into calls do not matter.
  static std::uint64_t written_by(const Handler& handler, const Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                                  const std::uint16_t* columns) {
    std::uint64_t sum = 0;
    const std::uint64_t first = row_in_group(chunk);
    std::size_t column = 0;
    for (const Term& term : handler.terms) {
      if (term.source != Source::self || !term.value) continue;
      const std::uint16_t slot = columns[column++];
      if (term.access != Access::write || slot == no_column || slot >= chunk.archetype->pod_slots) continue;
      const std::size_t size = chunk.archetype->slot_bytes[slot];
      for (std::uint32_t row = begin; row < end; ++row)
        sum += XXH3_64bits_withSeed(chunk.slots()[slot].data + row * size, size, (first + row) * 64 + column);
    }
    return sum;
  }
  static void note_posts(Call& call, const BatchWriter::Written& before, const BatchWriter::Written& after) {
    call.knows_posts = before.memory_end == after.memory_end;
    if (call.knows_posts && after.at != before.at)
      call.posted = XXH3_64bits(before.at, static_cast<std::size_t>(after.at - before.at));
  }
  void add(Call& call) {
    call.by_worker = turn_here() != nullptr;
    if (!call.by_worker) return calls.push_back(call);
    const MutexLock lock(mutex_);
    calls.push_back(call);
  }
  Mutex mutex_;
};

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
  if (found.part.empty()) found.part = "the hierarchy, the templates or the state of a manager";
  return values;
}

namespace {

std::string handler_text(const Handler& handler) {
  return handler.name.empty() ? "number " + std::to_string(handler.ordinal) + " (unnamed)" : '"' + handler.name + '"';
}

bool writes_type(const Handler& handler, TypeId type) {
  return std::ranges::any_of(handler.terms, [&](const Term& term) {
    return term.type == type && term.access == Access::write && term.source == Source::self && term.value;
  });
}

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

const Handler* Synctest::Impl::first_differing(const Log& one, const Log& other) {
  for (std::size_t i = 0; i < std::max(one.calls.size(), other.calls.size()); ++i) {
    if (i >= one.calls.size() || i >= other.calls.size()) return (i >= one.calls.size() ? other : one).calls[i].handler;
    const Call &a = one.calls[i], &b = other.calls[i];
    // One of them was not called, for example because of its on_begin.
    if (a.handler->ordinal != b.handler->ordinal) return a.handler->options.on_begin ? a.handler : b.handler;
    const bool posts_differ = a.knows_posts && b.knows_posts && a.posted != b.posted;
    if (a.wrote != b.wrote || posts_differ || a.begin != b.begin || a.end != b.end) return a.handler;
  }
  return nullptr;
}

const Handler* Synctest::Impl::first_sum(const Log& serial, const Log& spread) {
  const auto sums = [](const Log& log) {
    std::map<std::uint64_t, std::uint64_t> all;
    for (const Call& call : log.calls) all[call.handler->ordinal] += call.wrote;
    return all;
  };
  const auto one = sums(serial), other = sums(spread);
  for (const Call& call : serial.calls) {
    const auto at = other.find(call.handler->ordinal);
    if (at == other.end() || at->second != one.at(call.handler->ordinal)) return call.handler;
  }
  return nullptr;
}

void Synctest::Impl::name(const Handler* named, const Log& log, const std::vector<Value>& values,
                          SyncDifference& found) {
  const Value* shown = values.empty() ? nullptr : &values.front();
  if (named) {
    found.handler = handler_text(*named);
    if (const TypeDescriptor* const type = registry_.types().find(named->message)) found.message = type->name;
    for (const Value& value : values)
      if (value.type && writes_type(*named, value.type->id)) {
        shown = &value;
        break;
      }
  } else {
    // Suspects write the value that differs; if none does, those that post.
    std::vector<const Handler*> suspects;
    for (const bool posts : {false, true})
      for (const Call& call : log.calls) {
        if (!suspects.empty() && posts && !suspects.front()->pushes) break;
        const bool may = posts ? call.handler->pushes || call.handler->spawns
                               : shown && shown->type && writes_type(*call.handler, shown->type->id);
        if (may && std::ranges::find(suspects, call.handler) == suspects.end()) suspects.push_back(call.handler);
      }
    for (const Handler* suspect : suspects) found.suspects.push_back(handler_text(*suspect));
  }
  if (shown) describe(*shown, found);
}

std::string Synctest::Impl::find_handler(const std::vector<Value>& values, SyncDifference& found) {
  Log one, other;
  again(false, &one);
  if (std::string why = go_back(); !why.empty()) return why;
  again(false, &other);
  if (std::string why = go_back(); !why.empty()) return why;
  const Handler* named = first_differing(one, other);
  if (!named && registry_.impl_->parallel) {
    // The result may depend on the thread.
    Log workers;
    again(true, &workers);
    if (std::string why = go_back(); !why.empty()) return why;
    named = first_sum(one, workers);
  }
  name(named, one, values, found);
  return {};
}

// --- twins ---

class TwinTest::Impl {
 public:
  Impl(EntityRegistry& first, EntityRegistry& second) : first_(first, {}), second_(second, {}) {}
  ~Impl() { stop(); }

  void begin() {
    stop();
    first_.begin();
    second_.begin();
    begun_ = true;
  }
  std::optional<SyncDifference> end() {
    if (!stop()) return std::nullopt;
    Twin &a = first_, &b = second_;
    if (a.registry.hash() == b.registry.hash()) return std::nullopt;
    SyncDifference found;
    found.first_sequence = a.sequence + 1;
    found.last_sequence = a.registry.sequence();
    const auto one = a.parts.result_since(a.version), other = b.parts.result_since(b.version);
    const auto values = a.parts.compare(one, other, b.parts, found);
    // The calls of workers have no order.
    const auto spread = [](const Synctest::Impl::Log& log) {
      return std::ranges::any_of(log.calls, [](const auto& call) { return call.by_worker; });
    };
    const Handler* const named = spread(*a.log)   ? Synctest::Impl::first_sum(*b.log, *a.log)
                                 : spread(*b.log) ? Synctest::Impl::first_sum(*a.log, *b.log)
                                                  : Synctest::Impl::first_differing(*a.log, *b.log);
    a.parts.name(named, *a.log, values, found);
    found.goes_on_with_first = true;
    return found;
  }

 private:
  struct Twin {
    Twin(EntityRegistry& of, Synctest::Options options) : registry(of), parts(of, std::move(options)) {}
    void begin() {
      log = std::make_unique<Synctest::Impl::Log>();
      version = registry.host().begin_version();
      sequence = registry.sequence();
      parts.probe(log.get());
    }
    EntityRegistry& registry;
    Synctest::Impl parts;
    std::unique_ptr<Synctest::Impl::Log> log;
    std::uint64_t version = 0, sequence = 0;
  };
  /// Returns true if calls were recorded.
  bool stop() {
    if (!std::exchange(begun_, false)) return false;
    first_.parts.probe(nullptr);
    second_.parts.probe(nullptr);
    return true;
  }

  Twin first_, second_;
  bool begun_ = false;
};

TwinTest::TwinTest(EntityRegistry& first, EntityRegistry& second) : impl_(std::make_unique<Impl>(first, second)) {}
TwinTest::~TwinTest() = default;
void TwinTest::begin() { impl_->begin(); }
std::optional<SyncDifference> TwinTest::end() { return impl_->end(); }

}  // namespace muster
