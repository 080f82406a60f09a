// What must not grow faster than what it is about: each work at two sizes or more, per item. The report puts every size
// beside the smallest, so a ratio of 1 is linear; what is sorted, or searched in a tree, stays below 2.
#include <flatbuffers/reflection.h>
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "bench/growth/grows.h"
#include "messages/type_table.h"
#include "registry/delivery/executor.h"
#include "registry/profile.h"
#include "registry/state/state.h"
#include "registry/templates/template_tree.h"
#include "server/world/world.h"

using namespace muster;
using namespace bench;

namespace {

// --- handlers of one message ---

void take(const Hit&, Mass&) {}
void read(const Hit&, const Mass&) {}

std::vector<Subscription> subscribe(EntityRegistry& registry, std::uint32_t count, bool in_line) {
  std::vector<Subscription> all;
  all.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    HandlerOptions options{.priority = static_cast<int>(i * 7 % 5)};
    if (in_line && i > 0) options = {.after = {"handler " + std::to_string(i - 1)}};
    all.push_back(registry.subscribe<read>("handler " + std::to_string(i), options));
  }
  return all;
}
template <bool in_line>
void begin_handlers(Measure& measure, std::uint32_t count) {
  std::unique_ptr<EntityRegistry> registry;
  std::vector<Subscription> all;
  measure.run(
      count,
      [&] {
        all.clear();
        registry = std::make_unique<EntityRegistry>();
      },
      [&] { all = subscribe(*registry, count, in_line); });
}
template <bool in_line>
void end_handlers(Measure& measure, std::uint32_t count) {
  std::unique_ptr<EntityRegistry> registry;
  std::vector<Subscription> all;
  measure.run(
      count,
      [&] {
        registry = std::make_unique<EntityRegistry>();
        all = subscribe(*registry, count, in_line);
      },
      [&] { all.clear(); });
}
const Grows subscribe_rows("subscribe", {100, 1000}, begin_handlers<false>);
const Grows unsubscribe_rows("unsubscribe", {100, 1000}, end_handlers<false>);
const Grows subscribe_line_rows("subscribe_in_line", {100, 1000}, begin_handlers<true>);

// --- a pass of handlers that all wait for each other ---

/// Says that it has two workers and does all jobs itself: what is measured is the cutting and waiting.
class OneThread final : public Executor {
 public:
  std::uint32_t workers() const noexcept override { return 2; }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    for (std::uint32_t i = 0; i < count; ++i) job(context, i);
  }
};

void conflicting_pass(Measure& measure, std::uint32_t count) {
  OneThread executor;
  EntityRegistry registry({.executor = &executor, .pass_serial_below_ns = 0});
  registry.create_many(4, Mass{1, 2});
  std::vector<Subscription> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(registry.subscribe<take>("handler " + std::to_string(i)));
  registry.push(Hit{});
  measure.run(count, [&] { registry.push(Hit{}); });
  if (registry.profile().pass_counters().spread == 0) std::abort();
}
const Grows conflicting_rows("conflicting_pass", {100, 1000}, conflicting_pass);

// --- templates ---

void set_by_path(Measure& measure, std::uint32_t count) {
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < count; ++i) paths.push_back("node " + std::to_string(i));
  std::unique_ptr<TemplateTree> tree;
  measure.run(
      count, [&] { tree = std::make_unique<TemplateTree>("wide"); },
      [&] {
        for (const std::string& path : paths) tree->set(path, Mass{1, 2});
      });
}
void read_template(Measure& measure, std::uint32_t count) {
  TemplateTree tree("wide");
  for (std::uint32_t i = 0; i < count; ++i) tree.set(std::to_string(i % 10) + "/" + std::to_string(i), Mass{1, 2});
  const std::vector<std::byte> encoded = encode(*tree.compile());
  measure.run(count, [&] { benchmark::DoNotOptimize(TemplateTree::read(DefineTemplateView::from(encoded))); });
}
void merge_templates(Measure& measure, std::uint32_t count) {
  TemplateTree over("wide");
  for (std::uint32_t i = 0; i < count; ++i) over.set(std::to_string(i % 10) + "/" + std::to_string(i), Mass{1, 2});
  std::unique_ptr<TemplateTree> tree;
  measure.run(count, [&] { tree = std::make_unique<TemplateTree>("base"); }, [&] { tree->merge(tree->root(), over); });
}
const Grows set_rows("template_set", {1000, 10'000}, set_by_path);
const Grows read_rows("template_read", {1000, 10'000}, read_template);
const Grows merge_rows("template_merge", {1000, 10'000}, merge_templates);

// --- types ---

/// A schema of so many structs.
std::vector<std::byte> forge(std::uint32_t types) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<reflection::Object>> objects;
  for (std::uint32_t i = 0; i < types; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, 6 - number.size(), '0');  // in the order of their names
    std::vector<flatbuffers::Offset<reflection::Field>> fields{
        reflection::CreateFieldDirect(b, "x", reflection::CreateType(b, reflection::Int), 0, 0),
        reflection::CreateFieldDirect(b, "y", reflection::CreateType(b, reflection::Bool), 1, 4)};
    objects.push_back(reflection::CreateObjectDirect(b, ("big.Type" + number).c_str(), &fields, true, 4, 8));
  }
  std::vector<flatbuffers::Offset<reflection::Enum>> enums;
  b.Finish(reflection::CreateSchemaDirect(b, &objects, &enums), reflection::SchemaIdentifier());
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}
void add_schema(Measure& measure, std::uint32_t types) {
  const std::vector<std::byte> schema = forge(types);
  std::unique_ptr<TypeTable> table;
  measure.run(
      types, [&] { table = std::make_unique<TypeTable>(); },
      [&] {
        if (!table->add_schema(schema)) std::abort();
      });
}
void add_schemas(Measure& measure, std::uint32_t count) {
  std::vector<std::vector<std::byte>> schemas;
  for (std::uint32_t i = 0; i < count; ++i) {
    flatbuffers::FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<reflection::Field>> fields{
        reflection::CreateFieldDirect(b, "x", reflection::CreateType(b, reflection::Int), 0, 0)};
    std::vector<flatbuffers::Offset<reflection::Object>> objects{
        reflection::CreateObjectDirect(b, ("big.Type" + std::to_string(i)).c_str(), &fields, true, 4, 4)};
    std::vector<flatbuffers::Offset<reflection::Enum>> enums;
    b.Finish(reflection::CreateSchemaDirect(b, &objects, &enums), reflection::SchemaIdentifier());
    const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
    schemas.emplace_back(bytes.begin(), bytes.end());
  }
  std::unique_ptr<TypeTable> table;
  measure.run(
      count, [&] { table = std::make_unique<TypeTable>(); },
      [&] {
        for (const std::vector<std::byte>& schema : schemas)
          if (!table->add_schema(schema)) std::abort();
      });
}
const Grows schema_rows("add_schema", {3000, 30'000}, add_schema);
const Grows schemas_rows("add_schemas", {100, 1000}, add_schemas);

// --- depth ---

void make_deep(EntityRegistry& registry, std::uint32_t depth) {
  Entity at;
  for (std::uint32_t i = 0; i < depth; ++i) at = registry.create_under(at, {}, Spot{1, 2});
}
void deep_create(Measure& measure, std::uint32_t depth) {
  std::unique_ptr<EntityRegistry> registry;
  measure.run(depth, [&] { registry = std::make_unique<EntityRegistry>(); }, [&] { make_deep(*registry, depth); });
}
void deep_path(Measure& measure, std::uint32_t depth) {
  EntityRegistry registry;
  Entity at;
  for (std::uint32_t i = 0; i < depth; ++i) at = registry.create_under(at, "name " + std::to_string(i));
  measure.run(depth, [&] { benchmark::DoNotOptimize(registry.path(at)); });
}
void deep_spawn(Measure& measure, std::uint32_t depth) {
  TemplateTree tree("deep");
  tree.set("", Spot{1, 2});
  TemplateTree::Node* at = &tree.root();
  for (std::uint32_t i = 1; i < depth; ++i) at = &tree.add_child(*at, {});
  std::unique_ptr<EntityRegistry> registry;
  measure.run(
      depth,
      [&] {
        registry = std::make_unique<EntityRegistry>();
        if (registry->define_template(tree).refused) std::abort();
      },
      [&] { registry->spawn("deep").or_stop(); });
}
/// Rows in a map, as a file would have them by key.
class Rows final : public StateSink, public StateSource {
 public:
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    rows_[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (auto at = rows_.lower_bound({section, 0, 0}); at != rows_.end() && at->first.section == section; ++at)
      take(at->first, at->second);
  }

 private:
  std::map<StateKey, std::vector<std::byte>> rows_;
};
void deep_load(Measure& measure, std::uint32_t depth) {
  // What is given back stays with the program: otherwise what is measured is whether malloc gave it back to the system, which it does
  // at some sizes and not at others.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  EntityRegistry saved;
  make_deep(saved, depth);
  Rows rows;
  saved.save(rows);
  std::unique_ptr<EntityRegistry> loaded;
  measure.run(
      depth,
      [&] {
        loaded = std::make_unique<EntityRegistry>();
        loaded->add_type<Spot>();
      },
      [&] {
        if (!loaded->load(rows)) std::abort();
      });
}
const Grows deep_create_rows("deep_create", {4000, 40'000}, deep_create);
const Grows deep_load_rows("deep_load", {4000, 40'000}, deep_load);
const Grows deep_spawn_rows("deep_spawn", {4000, 16'000}, deep_spawn);
const Grows deep_path_rows("deep_path", {4000, 40'000}, deep_path);

// --- saving after one change ---

/// Has every row, and is asked for it.
class Keeper final : public StateSink {
 public:
  bool has(const StateKey&, std::uint64_t version) override {
    newest_ = std::max(newest_, version);
    return true;
  }
  void row(const StateKey&, std::uint64_t, std::span<const std::byte> bytes) override { newest_ += bytes.size(); }
  std::uint64_t newest() const noexcept { return newest_; }

 private:
  std::uint64_t newest_ = 0;
};
void save_unchanged(Measure& measure, std::uint32_t entities) {
  EntityRegistry registry;
  registry.create_many(entities, Position{1, 2}, Velocity{1, 2}, Mass{1, 2});
  Keeper keeper;
  measure.run(entities, [&] { registry.save(keeper); });
  if (keeper.newest() == 0) std::abort();
}
const Grows unchanged_rows("save_unchanged", {100'000, 1'000'000}, save_unchanged);

void save_one_change(Measure& measure, std::uint32_t entities) {
  if (std::getenv("BENCH_INSTRUCTIONS")) return measure.skip();  // SQLite's files are elsewhere each time
  const auto folder = std::filesystem::temp_directory_path() / ("muster-bench-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  {
    muster::World world((folder / "growth.muster").string(), {},
                        {.durability = muster::Durability::checkpoint, .autosave = {}});
    const std::vector<Entity> all = world.registry().create_many(entities, Position{1, 2}, Velocity{1, 2}, Mass{1, 2});
    world.save();
    std::uint32_t next = 0;
    measure.run(
        entities, [&] { world.registry().set(all[next++ * 7919 % entities], Mass{1, 2}); }, [&] { world.save(); });
  }
  std::filesystem::remove_all(folder);
}
const Grows save_rows("save_one_change", {100'000, 1'000'000}, save_one_change);

}  // namespace
