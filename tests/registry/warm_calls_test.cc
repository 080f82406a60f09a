// Lists the calls that ask for no memory once they are warm, and why the others ask for it.
// tests/checks/calls.py compares the list with the declarations, so that no call is forgotten.
#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/apply/manager.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "registry/state/state.h"
#include "registry/templates/template_tree.h"
#include "tests/lineage/allocations.h"
#include "tests/registry/counted_bytes.h"
#include "tests/registry/game.h"

namespace warm_calls_test {

struct Sound {
  float volume = 1;
};

}  // namespace warm_calls_test

template <>
struct muster::RuntimeTraits<warm_calls_test::Sound> {
  static constexpr const char* name = "warm_calls_test.Sound";
};

namespace warm_calls_test {

using namespace muster;
using game::Armor, game::Damage, game::Health, game::Order, game::Position, game::Say;

namespace {

struct Owner final : Manager {};
struct NoSink final : StateSink {
  bool has(const StateKey&, std::uint64_t) override { return true; }
  void row(const StateKey&, std::uint64_t, std::span<const std::byte>) override {}
};
struct NoSource final : StateSource {
  void rows(StateSection, const std::function<void(const StateKey&, std::span<const std::byte>)>&) override {}
};
struct Preserver final : ColumnPreserver {
  void before_write(const Chunk&, std::uint32_t) override {}
  void before_recycle(const Chunk&) override {}
};
struct Object {
  void on(const Damage&, Health&) {}
  void on_const(const Damage&, Health&) const {}
};
void take(const Damage&, Health&) {}

/// A registry with a sink and entities, and a handler that makes calls of its Outbox and Spawner.
struct World {
  game::CountedBytes sink, other_sink;
  Owner owner;
  NoSink no_sink;
  NoSource no_source;
  Preserver preserver;
  Object object;
  const Object const_object;
  EntityRegistry r;
  const EntityRegistry& read = r;
  std::function<void(Outbox&, Spawner&)> in_handler;
  std::string said;
  const Say say{.text = "a text that is longer than a string holds in itself", .volume = 2};
  const Order order{.team = game::Team::red, .teams = {game::Team::red, game::Team::blue}};
  std::vector<Entity> all;
  std::vector<std::byte> batch;
  Entity e, other, parent;
  Handlers handlers;
  World() {
    r.host().add_sink(sink);
    handlers.add(r.subscribe("hit", [](const Damage& hit, Health& health) { health.value -= hit.amount; }));
    handlers.add(r.subscribe("update", [](const Update&, Health& health) { health.value += 1; }));
    handlers.add(
        r.subscribe("heard", [this](const SayView& heard, Health&) { said.assign(heard.text().substr(0, 8)); }));
    handlers.add(r.subscribe("call", [this](const game::Spawn&, Outbox& out, Spawner& spawner) {
      if (in_handler) in_handler(out, spawner);
    }));
    TemplateTree hut("hut");
    hut.set("", Health{}).set("door", Armor{});
    r.define_template(hut);
    all = r.create_many(200, Health{}, Position{});
    parent = r.create("a parent with a name that no string holds in itself");
    e = r.create_under(parent, "first", Health{}, Position{});
    other = r.create("other", Health{}, Position{});
    r.intern("known");
    r.intern("a");
    r.intern("b");
    BatchBuilder builder;
    builder.append(e, Damage{});
    batch.assign(builder.bytes().begin(), builder.bytes().end());
  }
  ~World() { r.host().remove_sink(sink); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  using SayView = game::SayView;
};

struct Call {
  std::string_view what;
  std::string_view asks;  ///< why the call asks for memory; empty if it does not
  void (*make)(World& w);
  bool in_handler = false;
  void (*make_inside)(World& w, Outbox& out, Spawner& spawner) = nullptr;
};
constexpr std::string_view nothing;
constexpr std::string_view returns = "returns memory of its own";
constexpr std::string_view sets_up = "sets up what stays, and is called seldom";
constexpr std::string_view reads_all = "goes through the whole state";

Call inside(std::string_view what, std::string_view asks, void (*make)(World& w, Outbox& out, Spawner& spawner)) {
  return {what, asks, nullptr, true, make};
}

// clang-format off
const Call calls[] = {
    {"EntityRegistry::alive(Entity e) const", nothing, [](World& w) { (void)w.r.alive(w.e); }},
    {"EntityRegistry::find<ComponentType C>(Entity e) const", nothing, [](World& w) { (void)w.r.find<Health>(w.e); }},
    {"EntityRegistry::get<ComponentType C>(Entity e) const", nothing, [](World& w) { (void)w.r.get<Health>(w.e); }},
    {"EntityRegistry::has<ComponentType C>(Entity e) const", nothing, [](World& w) { (void)w.r.has<Health>(w.e); }},
    {"EntityRegistry::find(Entity e, TypeId component) const", nothing, [](World& w) { (void)w.r.find(w.e, TypeTraits<Health>::id); }},
    {"EntityRegistry::each<class... Cs, class F>(F&& f) const", nothing, [](World& w) { w.r.each<const Health>([](Entity, const Health&) {}); }},
    {"EntityRegistry::entity_count() const", nothing, [](World& w) { (void)w.r.entity_count(); }},
    {"EntityRegistry::parent(Entity e) const", nothing, [](World& w) { (void)w.r.parent(w.e); }},
    {"EntityRegistry::depth(Entity e) const", nothing, [](World& w) { (void)w.r.depth(w.e); }},
    {"EntityRegistry::first_child(Entity e) const", nothing, [](World& w) { (void)w.r.first_child(w.parent); }},
    {"EntityRegistry::next_sibling(Entity e) const", nothing, [](World& w) { (void)w.r.next_sibling(w.e); }},
    {"EntityRegistry::child_count(Entity e) const", nothing, [](World& w) { (void)w.r.child_count(w.parent); }},
    {"EntityRegistry::name(Entity e) const", nothing, [](World& w) { (void)w.r.name(w.e); }},
    {"EntityRegistry::path(Entity e) const", returns, [](World& w) { (void)w.r.path(w.e); }},
    {"EntityRegistry::find_child(Entity parent, std::string_view name) const", nothing, [](World& w) { (void)w.r.find_child(w.parent, "first"); }},
    {"EntityRegistry::find_path(std::string_view path) const", "puts a long name together", [](World& w) { (void)w.r.find_path("/a parent with a name that no string holds in itself/first"); }},
    {"EntityRegistry::push<MessageType M>(Entity target, const M& message)", nothing, [](World& w) { w.r.push(w.e, Damage{}); }},
    {"EntityRegistry::push<MessageType M>(std::span<const Entity> targets, const M& message)", nothing, [](World& w) { w.r.push(std::span<const Entity>(w.all), Damage{}); }},
    {"EntityRegistry::push<MessageType M>(const M& message)", nothing, [](World& w) { w.r.push(Update{}); }},
    {"EntityRegistry::push_subtree<MessageType M>(Entity target, std::uint64_t parts, const M& message)", nothing, [](World& w) { w.r.push_subtree(w.parent, 7, Damage{}); }},
    {"EntityRegistry::push<TableMessageType M>(Entity target, const M& message)", nothing, [](World& w) { w.r.push(w.e, w.say); w.r.push(w.e, w.order); }},
    {"EntityRegistry::push<TableMessageType M>(const M& message)", nothing, [](World& w) { w.r.push(w.say); }},
    {"EntityRegistry::post<MessageType M>(Entity target, const M& message)", nothing, [](World& w) { w.r.post(w.e, Damage{}); w.r.flush(); }},
    {"EntityRegistry::post<MessageType M>(std::span<const Entity> targets, const M& message)", nothing, [](World& w) { w.r.post(std::span<const Entity>(w.all), Damage{}); w.r.flush(); }},
    {"EntityRegistry::post<MessageType M>(const M& message)", nothing, [](World& w) { w.r.post(Update{}); w.r.flush(); }},
    {"EntityRegistry::post<TableMessageType M>(Entity target, const M& message)", nothing, [](World& w) { w.r.post(w.e, w.say); w.r.flush(); }},
    {"EntityRegistry::flush()", nothing, [](World& w) { w.r.flush(); }},
    {"EntityRegistry::post_at<MessageType M>(std::uint64_t due_ns, Entity target, const M& message)", nothing, [](World& w) { for (std::uint64_t i = 1; i < 20; ++i) w.r.post_at(w.r.now_ns() + i, w.e, Damage{}); w.r.flush(); w.r.advance(100); }},
    {"EntityRegistry::post_at<MessageType M>(std::uint64_t due_ns, const M& message)", nothing, [](World& w) { w.r.post_at(w.r.now_ns() + 1, Update{}); w.r.advance(1); }},
    {"EntityRegistry::cancel(TimerId timer)", nothing, [](World& w) { const TimerId timer = w.r.post_at(w.r.now_ns() + 1, w.e, Damage{}); w.r.cancel(timer); }},
    {"EntityRegistry::advance(std::uint64_t ns)", nothing, [](World& w) { w.r.advance(1); }},
    {"EntityRegistry::now_ns() const", nothing, [](World& w) { (void)w.r.now_ns(); }},
    {"EntityRegistry::create<ComponentType... Cs>(const Cs&... components)", nothing, [](World& w) { w.r.destroy(w.r.create(Health{}, Armor{})); }},
    {"EntityRegistry::create<ComponentType... Cs>(std::string_view name, const Cs&... components)", nothing, [](World& w) { w.r.destroy(w.r.create("known", Health{})); }},
    {"EntityRegistry::create_under<ComponentType... Cs>(Entity parent, std::string_view name, const Cs&... components)", nothing, [](World& w) { w.r.destroy(w.r.create_under(w.parent, "known", Health{})); }},
    {"EntityRegistry::create_many<ComponentType... Cs>(std::uint32_t count, const Cs&... components)", returns, [](World& w) { const auto made = w.r.create_many(10, Health{}); w.r.push(std::span<const Entity>(made), Destroy{}); }},
    {"EntityRegistry::destroy(Entity e)", nothing, [](World& w) { w.r.destroy(w.r.create_under(w.parent, {}, Health{})); }},
    {"EntityRegistry::set<ComponentType... Cs>(Entity e, const Cs&... components)", nothing, [](World& w) { w.r.set(w.e, Armor{}, Health{}); w.r.remove<Armor>(w.e); }},
    {"EntityRegistry::remove<ComponentType C>(Entity e)", nothing, [](World& w) { w.r.remove<Health>(w.e); w.r.set(w.e, Health{}); }},
    {"EntityRegistry::reparent(Entity e, Entity parent, Entity before)", nothing, [](World& w) { w.r.reparent(w.other, w.parent, w.e); w.r.reparent(w.other, {}); }},
    {"EntityRegistry::rename(Entity e, std::string_view name)", nothing, [](World& w) { w.r.rename(w.e, "a"); w.r.rename(w.e, "b"); }},
    {"EntityRegistry::spawn<ComponentType... Cs>(std::string_view what, const SpawnOptions& options, const Cs&... root)", nothing, [](World& w) { w.r.destroy(w.r.spawn("hut")); w.r.destroy(w.r.spawn("hut", {.parent = w.parent, .name = "known"}, Armor{})); }},
    {"EntityRegistry::apply_template(Entity top, std::string_view what, std::vector<Entity>* ids)", "matches the nodes of a tree", [](World& w) { w.r.apply_template(w.other, "hut"); }},
    {"EntityRegistry::define_template(const TemplateTree& tree)", sets_up, [](World& w) { w.r.define_template(TemplateTree("hut")); }},
    {"EntityRegistry::types()", nothing, [](World& w) { (void)w.r.types(); }},
    {"EntityRegistry::types() const", nothing, [](World& w) { (void)w.read.types(); }},
    {"EntityRegistry::add_type<GeneratedType T>()", nothing, [](World& w) { w.r.add_type<Health>(); }},
    {"EntityRegistry::add_runtime_type<RuntimeType T>(std::function<void(T&, Entity)> restore)", nothing, [](World& w) { w.r.add_runtime_type<Sound>(); }},
    {"EntityRegistry::intern(std::string_view text)", nothing, [](World& w) { w.r.intern("known"); }},
    {"EntityRegistry::text(Text text) const", nothing, [](World& w) { (void)w.r.text(text_of("known")); }},
    {"EntityRegistry::subscribe<class F>(std::string name, F handler, HandlerOptions options)", sets_up, [](World& w) { (void)w.r.subscribe("new", [](const Damage&, Health&) {}); }},
    {"EntityRegistry::subscribe<auto function>(std::string name, HandlerOptions options)", sets_up, [](World& w) { (void)w.r.subscribe<take>("new"); }},
    {"EntityRegistry::subscribe<class C, class R, class... A>(std::string name, C& object, R (C::*member)(A...), HandlerOptions options)", sets_up, [](World& w) { (void)w.r.subscribe("new", w.object, &Object::on); }},
    {"EntityRegistry::subscribe<class C, class R, class... A>(std::string name, const C& object, R (C::*member)(A...) const, HandlerOptions options)", sets_up, [](World& w) { (void)w.r.subscribe("new", w.const_object, &Object::on_const); }},
    {"EntityRegistry::subscribe(std::string name, DynamicShape shape, std::function<void(const DynamicCall&)> handler, HandlerOptions options)", sets_up, [](World& w) { (void)w.r.subscribe("new", DynamicShape{.message = TypeTraits<Damage>::id}, [](const DynamicCall&) {}); }},
    {"EntityRegistry::set_handler_enabled(std::string_view name, bool enabled)", sets_up, [](World& w) { w.r.set_handler_enabled("hit", false); w.r.set_handler_enabled("hit", true); }},
    {"EntityRegistry::hash() const", reads_all, [](World& w) { (void)w.r.hash(); }},
    {"EntityRegistry::save(StateSink& sink) const", nothing, [](World& w) { w.r.save(w.no_sink); }},
    {"EntityRegistry::load(StateSource& source)", reads_all, [](World& w) { (void)w.r.load(w.no_source); }},
    {"EntityRegistry::sequence() const", nothing, [](World& w) { (void)w.r.sequence(); }},
    {"EntityRegistry::version() const", nothing, [](World& w) { (void)w.r.version(); }},
    {"EntityRegistry::add_manager(std::string name, Manager& manager)", sets_up, [](World& w) { w.r.add_manager("owner", w.owner); w.r.remove_manager(w.owner); }},
    {"EntityRegistry::remove_manager(Manager& manager)", sets_up, [](World& w) { w.r.add_manager("owner", w.owner); w.r.remove_manager(w.owner); }},
    {"EntityRegistry::host()", nothing, [](World& w) { (void)w.r.host(); }},
    {"EntityRegistry::host() const", nothing, [](World& w) { (void)w.read.host(); }},
    {"EntityRegistry::profile()", nothing, [](World& w) { (void)w.r.profile(); }},
    {"EntityRegistry::profile() const", nothing, [](World& w) { (void)w.read.profile(); }},
    {"RegistryReader::is_new() const", nothing, [](World& w) { (void)w.read.host().is_new(); }},
    {"RegistryReader::bounds() const", nothing, [](World& w) { (void)w.read.host().bounds(); }},
    {"RegistryReader::carried_bytes() const", nothing, [](World& w) { (void)w.read.host().carried_bytes(); }},
    {"RegistryReader::carries() const", nothing, [](World& w) { (void)w.read.host().carries(); }},
    {"RegistryReader::swaps() const", nothing, [](World& w) { (void)w.read.host().swaps(); }},
    {"RegistryReader::counters() const", nothing, [](World& w) { (void)w.read.host().counters(); }},
    {"RegistryReader::timers() const", nothing, [](World& w) { (void)w.read.host().timers(); }},
    {"RegistryReader::next_timer() const", nothing, [](World& w) { (void)w.read.host().next_timer(); }},
    {"RegistryReader::memory_waiting() const", nothing, [](World& w) { (void)w.read.host().memory_waiting(); }},
    {"RegistryReader::at_work() const", nothing, [](World& w) { (void)w.read.host().at_work(); }},
    {"RegistryReader::storage() const", nothing, [](World& w) { (void)w.read.host().storage(); }},
    {"RegistryReader::hierarchy() const", nothing, [](World& w) { (void)w.read.host().hierarchy(); }},
    {"RegistryReader::components(Entity e) const", nothing, [](World& w) { (void)w.read.host().components(w.e); }},
    {"RegistryReader::texts() const", nothing, [](World& w) { (void)w.read.host().texts(); }},
    {"RegistryReader::is_host_text(Text text) const", nothing, [](World& w) { (void)w.read.host().is_host_text(text_of("known")); }},
    {"RegistryReader::handlers() const", nothing, [](World& w) { (void)w.read.host().handlers(); }},
    {"RegistryReader::log() const", nothing, [](World& w) { (void)w.read.host().log(); }},
    {"RegistryReader::waiting_managers() const", nothing, [](World& w) { (void)w.read.host().waiting_managers(); }},
    {"RegistryReader::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const", nothing, [](World& w) { w.read.host().describe(w.e, [](std::string_view, const Held&) {}); }},
    {"RegistryReader::has_managers() const", nothing, [](World& w) { (void)w.read.host().has_managers(); }},
    {"RegistryReader::save_held(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const", nothing, [](World& w) { BatchBuilder to; w.read.host().save_held(w.e, to, [](std::string_view) {}); }},
    {"RegistryReader::returned_ids() const", nothing, [](World& w) { (void)w.read.host().returned_ids(); }},
    {"RegistryReader::left_grants() const", returns, [](World& w) { (void)w.read.host().left_grants(); }},
    {"RegistryReader::find_template(std::string_view name) const", nothing, [](World& w) { (void)w.read.host().find_template("hut"); }},
    {"RegistryReader::template_definition(std::string_view name) const", nothing, [](World& w) { (void)w.read.host().template_definition("hut"); }},
    {"RegistryReader::template_batch(std::string_view name) const", nothing, [](World& w) { (void)w.read.host().template_batch("hut"); }},
    {"RegistryReader::template_names() const", returns, [](World& w) { (void)w.read.host().template_names(); }},
    {"RegistryReader::template_count() const", nothing, [](World& w) { (void)w.read.host().template_count(); }},
    {"RegistryReader::make_state() const", returns, [](World& w) { (void)w.read.host().make_state(); }},
    {"RegistryHost::push_batch(std::span<const std::byte> batches, const Sender& by)", nothing, [](World& w) { w.r.host().push_batch(w.batch, {.session = 1}); w.r.host().push_batch(w.batch); }},
    {"RegistryHost::post_batch(std::span<const std::byte> batches)", nothing, [](World& w) { w.r.host().post_batch(w.batch); w.r.flush(); }},
    {"RegistryHost::replay(const Envelope& recorded, std::span<const std::byte> batch, bool timed)", nothing, [](World& w) { w.r.host().replay({.sequence = w.r.sequence() + 1, .kind = InputKind::push}, w.batch); }},
    {"RegistryHost::set_counters(const RegistryCounters& recorded)", nothing, [](World& w) { w.r.host().set_counters({}); }},
    {"RegistryHost::inbox()", nothing, [](World& w) { (void)w.r.host().inbox(); }},
    {"RegistryHost::add_sink(InputSink& sink)", nothing, [](World& w) { w.r.host().add_sink(w.other_sink); w.r.push(w.e, Damage{}); w.r.host().remove_sink(w.other_sink); }},
    {"RegistryHost::remove_sink(InputSink& sink)", nothing, [](World& w) { w.r.host().add_sink(w.other_sink); w.r.host().remove_sink(w.other_sink); }},
    {"RegistryHost::set_pushed_sink(PushedSink* sink)", nothing, [](World& w) { w.r.host().set_pushed_sink(nullptr); }},
    {"RegistryHost::set_edit_log(EditLog* log)", nothing, [](World& w) { w.r.host().set_edit_log(nullptr); }},
    {"RegistryHost::grant(std::uint32_t count, std::uint64_t session)", "keeps a list of ranges", [](World& w) { const Entity first = w.r.host().grant(100, 1); w.r.host().return_grant(first, 100); }},
    {"RegistryHost::return_grant(Entity first, std::uint32_t count)", "keeps a list of ranges", [](World& w) { const Entity first = w.r.host().grant(100, 1); w.r.host().return_grant(first, 100); }},
    {"RegistryHost::drop_texts(std::span<const Text> texts)", reads_all, [](World& w) { const Text text = text_of("known"); w.r.host().drop_texts({&text, 1}); }},
    {"RegistryHost::set_executor(Executor* executor)", nothing, [](World& w) { w.r.host().set_executor(nullptr); }},
    {"RegistryHost::begin_part(std::uint32_t part)", nothing, [](World& w) { w.r.host().begin_part(1); }},
    {"RegistryHost::change_message(ChangeKind kind, TypeId component)", nothing, [](World& w) { (void)w.r.host().change_message(ChangeKind::added, TypeTraits<Health>::id); }},
    {"RegistryHost::remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose)", nothing, [](World& w) { w.r.host().remove_runtime_types([](const RuntimeOps&) { return false; }); }},
    {"RegistryHost::remove_runtime_type<RuntimeType T>()", nothing, [](World& w) { w.r.host().remove_runtime_type<Sound>(); }},
    {"RegistryHost::set_waiting_managers(ManagerStates states)", nothing, [](World& w) { w.r.host().set_waiting_managers({}); }},
    {"RegistryHost::expect_cut(const CascadeCut& cut)", nothing, [](World& w) { w.r.host().expect_cut({}); }},
    {"RegistryHost::begin_turn()", nothing, [](World& w) { w.r.host().begin_turn(); }},
    {"RegistryHost::set_bounds(const CascadeBounds& bounds)", nothing, [](World& w) { w.r.host().set_bounds(w.r.host().bounds()); }},
    {"RegistryHost::raise_sequence(std::uint64_t sequence)", nothing, [](World& w) { w.r.host().raise_sequence(0); }},
    {"RegistryHost::restore(StateSource& source)", "builds a state", [](World& w) { NoSource none; (void)w.r.host().restore(none); }},
    {"RegistryHost::swap_state(RegistryState& other)", "needs a state", [](World& w) { RegistryState state = w.r.host().make_state(); (void)w.r.host().swap_state(state); (void)w.r.host().swap_state(state); }},
    {"RegistryHost::begin_version()", nothing, [](World& w) { w.r.host().begin_version(); w.r.push(w.e, Damage{}); }},
    {"RegistryHost::add_preserver(ColumnPreserver& preserver)", nothing, [](World& w) { w.r.host().add_preserver(w.preserver); w.r.host().remove_preserver(w.preserver); }},
    {"RegistryHost::remove_preserver(ColumnPreserver& preserver)", nothing, [](World& w) { w.r.host().remove_preserver(w.preserver); }},
    {"RegistryFigures::observing() const", nothing, [](World& w) { (void)w.read.profile().observing(); }},
    {"RegistryFigures::handler_figures() const", returns, [](World& w) { w.r.profile().observe(true); w.r.push(w.e, Damage{}); (void)w.read.profile().handler_figures(); }},
    {"RegistryFigures::message_figures() const", returns, [](World& w) { w.r.profile().observe(true); w.r.push(w.e, Damage{}); (void)w.read.profile().message_figures(); }},
    {"RegistryFigures::pass_counters() const", nothing, [](World& w) { (void)w.read.profile().pass_counters(); }},
    {"RegistryProfile::observe(bool on)", sets_up, [](World& w) { w.r.profile().observe(true); }},
    {"RegistryProfile::set_trace(Trace* trace)", nothing, [](World& w) { w.r.profile().set_trace(nullptr); }},
    {"RegistryProfile::record_causes(bool on)", nothing, [](World& w) { w.r.profile().record_causes(true); w.r.push(w.e, Damage{}); w.r.profile().record_causes(false); }},
    inside("Outbox::post<MessageType M>(Entity target, const M& message)", nothing, [](World& w, Outbox& out, Spawner&) { out.post(w.e, Damage{}); }),
    inside("Outbox::post<MessageType M>(std::span<const Entity> targets, const M& message)", nothing, [](World& w, Outbox& out, Spawner&) { out.post(std::span<const Entity>(w.all), Damage{}); }),
    inside("Outbox::post<MessageType M>(const M& message)", nothing, [](World&, Outbox& out, Spawner&) { out.post(Update{}); }),
    inside("Outbox::post<TableMessageType M>(Entity target, const M& message)", nothing, [](World& w, Outbox& out, Spawner&) { out.post(w.e, w.say); }),
    inside("Outbox::post_subtree<MessageType M>(Entity target, std::uint64_t parts, const M& message)", nothing, [](World& w, Outbox& out, Spawner&) { out.post_subtree(w.parent, 7, Damage{}); }),
    inside("Outbox::post_after<MessageType M>(std::uint64_t delay_ns, Entity target, const M& message)", nothing, [](World& w, Outbox& out, Spawner&) { out.post_after(1, w.e, Damage{}); }),
    inside("Outbox::post_after<MessageType M>(std::uint64_t delay_ns, const M& message)", nothing, [](World&, Outbox& out, Spawner&) { out.post_after(1, Update{}); }),
    inside("Outbox::cancel(TimerId timer)", nothing, [](World& w, Outbox& out, Spawner&) { out.cancel(out.post_after(1, w.e, Damage{})); }),
    inside("Outbox::destroy(Entity target)", nothing, [](World&, Outbox& out, Spawner& spawner) { out.destroy(spawner.create(Health{})); }),
    inside("Outbox::set<ComponentType... Cs>(Entity target, const Cs&... components)", nothing, [](World& w, Outbox& out, Spawner&) { out.set(w.e, Armor{}); out.remove<Armor>(w.e); }),
    inside("Outbox::remove<ComponentType C>(Entity target)", nothing, [](World& w, Outbox& out, Spawner&) { out.set(w.e, Armor{}); out.remove<Armor>(w.e); }),
    inside("Outbox::reparent(Entity target, Entity parent, Entity before)", nothing, [](World& w, Outbox& out, Spawner&) { out.reparent(w.other, w.parent); out.reparent(w.other, {}); }),
    inside("Outbox::rename(Entity target, std::string_view name)", nothing, [](World& w, Outbox& out, Spawner&) { out.rename(w.e, "a"); out.rename(w.e, "b"); }),
    inside("Outbox::subscribe<class F>(std::string name, F handler, HandlerOptions options)", sets_up, [](World&, Outbox& out, Spawner&) { out.end(out.subscribe("new", [](const Damage&, Health&) {})); }),
    inside("Outbox::end(Subscription subscription)", sets_up, [](World&, Outbox& out, Spawner&) { out.end(out.subscribe("new", [](const Damage&, Health&) {})); }),
    inside("Outbox::set_handler_enabled(std::string_view name, bool enabled)", sets_up, [](World&, Outbox& out, Spawner&) { out.set_handler_enabled("hit", false); out.set_handler_enabled("hit", true); }),
    inside("Outbox::now_ns() const", nothing, [](World&, Outbox& out, Spawner&) { (void)out.now_ns(); }),
    inside("Spawner::create<ComponentType... Cs>(const Cs&... components)", nothing, [](World&, Outbox& out, Spawner& spawner) { out.destroy(spawner.create(Health{})); }),
    inside("Spawner::create_under<ComponentType... Cs>(Entity parent, std::string_view name, const Cs&... components)", nothing, [](World& w, Outbox& out, Spawner& spawner) { out.destroy(spawner.create_under(w.parent, "known", Health{})); }),
    inside("Spawner::spawn<ComponentType... Cs>(std::string_view what, const SpawnOptions& options, const Cs&... root)", nothing, [](World&, Outbox& out, Spawner& spawner) { out.destroy(spawner.spawn("hut")); }),
};
// clang-format on

}  // namespace

TEST_CASE("each call either asks for no memory once it is warm, or says why it does") {
  for (const Call& call : calls) {
    CAPTURE(call.what);
    World world;
    world.r.add_runtime_type<Sound>();
    if (call.in_handler)
      world.in_handler = [&](Outbox& out, Spawner& spawner) { call.make_inside(world, out, spawner); };
    const auto work = [&] {
      if (!call.in_handler) return call.make(world);
      world.r.push(world.e, game::Spawn{});
      world.r.advance(1);
    };
    // Destroyed ids wait until 1024 others do before they are used again, so the first of many need
    // memory.
    for (int i = 0; i < 3000 && (call.asks.empty() || i < 10); ++i) work();
    const std::uint64_t before = allocations();
    for (int i = 0; i < 8; ++i) work();
    const std::uint64_t asked = allocations() - before;
    if (call.asks.empty())
      CHECK(asked == 0);
    else
      CHECK(asked > 0);
  }
}

}  // namespace warm_calls_test
