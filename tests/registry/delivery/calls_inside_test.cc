// Lists the calls that stop the program inside a handler, and those that do not.
// tests/checks/calls.py compares the list with the declarations, so that no call is forgotten.
#include <catch2/catch.hpp>

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
#include "tests/registry/counted_bytes.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

namespace calls_inside_test {

struct Sound {
  float volume = 1;
};

}  // namespace calls_inside_test

template <>
struct muster::RuntimeTraits<calls_inside_test::Sound> {
  static constexpr const char* name = "calls_inside_test.Sound";
};

namespace calls_inside_test {

using namespace muster;
using Catch::Contains;
using game::Damage, game::Health, game::Say;

namespace {

/// The objects that a call inside a handler uses.
struct Called {
  EntityRegistry& r;
  const EntityRegistry& read;
  Entity e;
  RegistryState& state;
};

struct Owner final : Manager {};
struct NoSink final : StateSink {
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

Owner owner;
NoSink no_sink;
NoSource no_source;
Preserver preserver;
Object object;
const Object const_object;
game::CountedBytes sink;

enum Inside { stops, may };

struct Call {
  std::string_view what;
  Inside inside;
  void (*make)(const Called&);
};

// clang-format off
const Call calls[] = {
    {"EntityRegistry::alive(Entity e) const", may, [](const Called& c) { (void)c.r.alive(c.e); }},
    {"EntityRegistry::find<ComponentType C>(Entity e) const", stops, [](const Called& c) { (void)c.r.find<Health>(c.e); }},
    {"EntityRegistry::get<ComponentType C>(Entity e) const", stops, [](const Called& c) { (void)c.r.get<Health>(c.e); }},
    {"EntityRegistry::has<ComponentType C>(Entity e) const", stops, [](const Called& c) { (void)c.r.has<Health>(c.e); }},
    {"EntityRegistry::find(Entity e, TypeId component) const", stops, [](const Called& c) { (void)c.r.find(c.e, TypeTraits<Health>::id); }},
    {"EntityRegistry::each<class... Cs, class F>(F&& f) const", stops, [](const Called& c) { c.r.each<>([](Entity) {}); }},
    {"EntityRegistry::entity_count() const", may, [](const Called& c) { (void)c.r.entity_count(); }},
    {"EntityRegistry::parent(Entity e) const", may, [](const Called& c) { (void)c.r.parent(c.e); }},
    {"EntityRegistry::depth(Entity e) const", may, [](const Called& c) { (void)c.r.depth(c.e); }},
    {"EntityRegistry::first_child(Entity e) const", may, [](const Called& c) { (void)c.r.first_child(c.e); }},
    {"EntityRegistry::next_sibling(Entity e) const", may, [](const Called& c) { (void)c.r.next_sibling(c.e); }},
    {"EntityRegistry::child_count(Entity e) const", may, [](const Called& c) { (void)c.r.child_count(c.e); }},
    {"EntityRegistry::name(Entity e) const", may, [](const Called& c) { (void)c.r.name(c.e); }},
    {"EntityRegistry::path(Entity e) const", may, [](const Called& c) { (void)c.r.path(c.e); }},
    {"EntityRegistry::find_child(Entity parent, std::string_view name) const", stops, [](const Called& c) { (void)c.r.find_child({}, "orc"); }},
    {"EntityRegistry::find_path(std::string_view path) const", stops, [](const Called& c) { (void)c.r.find_path("orc"); }},
    {"EntityRegistry::push<MessageType M>(Entity target, const M& message)", stops, [](const Called& c) { c.r.push(c.e, Damage{}); }},
    {"EntityRegistry::push<MessageType M>(std::span<const Entity> targets, const M& message)", stops, [](const Called& c) { c.r.push(std::span<const Entity>(), Damage{}); }},
    {"EntityRegistry::push<MessageType M>(const M& message)", stops, [](const Called& c) { c.r.push(Update{}); }},
    {"EntityRegistry::push_subtree<MessageType M>(Entity target, std::uint64_t parts, const M& message)", stops, [](const Called& c) { c.r.push_subtree(c.e, 1, Damage{}); }},
    {"EntityRegistry::push<TableMessageType M>(Entity target, const M& message)", stops, [](const Called& c) { c.r.push(c.e, Say{}); }},
    {"EntityRegistry::push<TableMessageType M>(const M& message)", stops, [](const Called& c) { c.r.push(Say{}); }},
    {"EntityRegistry::post<MessageType M>(Entity target, const M& message)", stops, [](const Called& c) { c.r.post(c.e, Damage{}); }},
    {"EntityRegistry::post<MessageType M>(std::span<const Entity> targets, const M& message)", stops, [](const Called& c) { c.r.post(std::span(&c.e, 1), Damage{}); }},
    {"EntityRegistry::post<MessageType M>(const M& message)", stops, [](const Called& c) { c.r.post(Update{}); }},
    {"EntityRegistry::post<TableMessageType M>(Entity target, const M& message)", stops, [](const Called& c) { c.r.post(c.e, Say{}); }},
    {"EntityRegistry::flush()", stops, [](const Called& c) { c.r.flush(); }},
    {"EntityRegistry::post_at<MessageType M>(std::uint64_t due_ns, Entity target, const M& message)", stops, [](const Called& c) { c.r.post_at(1, c.e, Damage{}); }},
    {"EntityRegistry::post_at<MessageType M>(std::uint64_t due_ns, const M& message)", stops, [](const Called& c) { c.r.post_at(1, Update{}); }},
    {"EntityRegistry::cancel(TimerId timer)", stops, [](const Called& c) { c.r.cancel(1); }},
    {"EntityRegistry::advance(std::uint64_t ns)", stops, [](const Called& c) { c.r.advance(1); }},
    {"EntityRegistry::now_ns() const", may, [](const Called& c) { (void)c.r.now_ns(); }},
    {"EntityRegistry::create<ComponentType... Cs>(const Cs&... components)", stops, [](const Called& c) { c.r.create(Health{}); }},
    {"EntityRegistry::create<ComponentType... Cs>(std::string_view name, const Cs&... components)", stops, [](const Called& c) { (void)c.r.create("orc", Health{}); }},
    {"EntityRegistry::create_under<ComponentType... Cs>(Entity parent, std::string_view name, const Cs&... components)", stops, [](const Called& c) { (void)c.r.create_under(c.e, "", Health{}); }},
    {"EntityRegistry::create_many<ComponentType... Cs>(std::uint32_t count, const Cs&... components)", stops, [](const Called& c) { c.r.create_many(2, Health{}); }},
    {"EntityRegistry::destroy(Entity e)", stops, [](const Called& c) { c.r.destroy(c.e); }},
    {"EntityRegistry::set<ComponentType... Cs>(Entity e, const Cs&... components)", stops, [](const Called& c) { c.r.set(c.e, Health{}); }},
    {"EntityRegistry::remove<ComponentType C>(Entity e)", stops, [](const Called& c) { c.r.remove<Health>(c.e); }},
    {"EntityRegistry::reparent(Entity e, Entity parent, Entity before)", stops, [](const Called& c) { c.r.reparent(c.e, {}); }},
    {"EntityRegistry::rename(Entity e, std::string_view name)", stops, [](const Called& c) { c.r.rename(c.e, "orc"); }},
    {"EntityRegistry::spawn<ComponentType... Cs>(std::string_view what, const SpawnOptions& options, const Cs&... root)", stops, [](const Called& c) { (void)c.r.spawn("hut"); }},
    {"EntityRegistry::apply_template(Entity top, std::string_view what, std::vector<Entity>* ids)", stops, [](const Called& c) { c.r.apply_template(c.e, "hut"); }},
    {"EntityRegistry::define_template(const TemplateTree& tree)", stops, [](const Called& c) { c.r.define_template(TemplateTree("hut")); }},
    {"EntityRegistry::types()", may, [](const Called& c) { (void)c.r.types(); }},
    {"EntityRegistry::types() const", may, [](const Called& c) { (void)c.read.types(); }},
    {"EntityRegistry::add_type<GeneratedType T>()", stops, [](const Called& c) { c.r.add_type<Health>(); }},
    {"EntityRegistry::add_runtime_type<RuntimeType T>(std::function<void(T&, Entity)> restore)", stops, [](const Called& c) { c.r.add_runtime_type<Sound>(); }},
    {"EntityRegistry::intern(std::string_view text)", stops, [](const Called& c) { c.r.intern("new"); }},
    {"EntityRegistry::text(Text text) const", may, [](const Called& c) { (void)c.r.text(text_of("orc")); }},
    {"EntityRegistry::subscribe<class F>(std::string name, F handler, HandlerOptions options)", stops, [](const Called& c) { (void)c.r.subscribe("new", [](const Damage&, Health&) {}); }},
    {"EntityRegistry::subscribe<auto function>(std::string name, HandlerOptions options)", stops, [](const Called& c) { (void)c.r.subscribe<take>("new"); }},
    {"EntityRegistry::subscribe<class C, class R, class... A>(std::string name, C& object, R (C::*member)(A...), HandlerOptions options)", stops, [](const Called& c) { (void)c.r.subscribe("new", object, &Object::on); }},
    {"EntityRegistry::subscribe<class C, class R, class... A>(std::string name, const C& object, R (C::*member)(A...) const, HandlerOptions options)", stops, [](const Called& c) { (void)c.r.subscribe("new", const_object, &Object::on_const); }},
    {"EntityRegistry::subscribe(std::string name, DynamicShape shape, std::function<void(const DynamicCall&)> handler, HandlerOptions options)", stops, [](const Called& c) { (void)c.r.subscribe("new", DynamicShape{.message = TypeTraits<Damage>::id}, [](const DynamicCall&) {}); }},
    {"EntityRegistry::set_handler_enabled(std::string_view name, bool enabled)", stops, [](const Called& c) { c.r.set_handler_enabled("orc", false); }},
    {"EntityRegistry::hash() const", stops, [](const Called& c) { (void)c.r.hash(); }},
    {"EntityRegistry::save(StateSink& sink) const", stops, [](const Called& c) { c.r.save(no_sink); }},
    {"EntityRegistry::load(StateSource& source)", stops, [](const Called& c) { (void)c.r.load(no_source); }},
    {"EntityRegistry::sequence() const", may, [](const Called& c) { (void)c.r.sequence(); }},
    {"EntityRegistry::version() const", may, [](const Called& c) { (void)c.r.version(); }},
    {"EntityRegistry::add_manager(std::string name, Manager& manager)", stops, [](const Called& c) { c.r.add_manager("owner", owner); }},
    {"EntityRegistry::remove_manager(Manager& manager)", stops, [](const Called& c) { c.r.remove_manager(owner); }},
    {"EntityRegistry::host()", may, [](const Called& c) { (void)c.r.host(); }},
    {"EntityRegistry::host() const", may, [](const Called& c) { (void)c.read.host(); }},
    {"EntityRegistry::profile()", may, [](const Called& c) { (void)c.r.profile(); }},
    {"EntityRegistry::profile() const", may, [](const Called& c) { (void)c.read.profile(); }},
    {"RegistryReader::is_new() const", may, [](const Called& c) { (void)c.read.host().is_new(); }},
    {"RegistryReader::counters() const", may, [](const Called& c) { (void)c.read.host().counters(); }},
    {"RegistryReader::timers() const", may, [](const Called& c) { (void)c.read.host().timers(); }},
    {"RegistryReader::next_timer() const", may, [](const Called& c) { (void)c.read.host().next_timer(); }},
    {"RegistryReader::memory_waiting() const", may, [](const Called& c) { (void)c.read.host().memory_waiting(); }},
    {"RegistryReader::at_work() const", may, [](const Called& c) { (void)c.read.host().at_work(); }},
    {"RegistryReader::storage() const", may, [](const Called& c) { (void)c.read.host().storage(); }},
    {"RegistryReader::hierarchy() const", may, [](const Called& c) { (void)c.read.host().hierarchy(); }},
    {"RegistryReader::components(Entity e) const", stops, [](const Called& c) { (void)c.read.host().components(c.e); }},
    {"RegistryReader::texts() const", may, [](const Called& c) { (void)c.read.host().texts(); }},
    {"RegistryReader::is_host_text(Text text) const", may, [](const Called& c) { (void)c.read.host().is_host_text({}); }},
    {"RegistryReader::handlers() const", may, [](const Called& c) { (void)c.read.host().handlers(); }},
    {"RegistryReader::log() const", may, [](const Called& c) { (void)c.read.host().log(); }},
    {"RegistryReader::waiting_managers() const", may, [](const Called& c) { (void)c.read.host().waiting_managers(); }},
    {"RegistryReader::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const", stops, [](const Called& c) { c.read.host().describe(c.e, [](std::string_view, const Held&) {}); }},
    {"RegistryReader::has_managers() const", may, [](const Called& c) { (void)c.read.host().has_managers(); }},
    {"RegistryReader::save_held(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const", may, [](const Called& c) { BatchBuilder to; c.read.host().save_held(c.e, to, [](std::string_view) {}); }},
    {"RegistryReader::returned_ids() const", may, [](const Called& c) { (void)c.read.host().returned_ids(); }},
    {"RegistryReader::left_grants() const", stops, [](const Called& c) { (void)c.read.host().left_grants(); }},
    {"RegistryReader::find_template(std::string_view name) const", may, [](const Called& c) { (void)c.read.host().find_template("hut"); }},
    {"RegistryReader::template_definition(std::string_view name) const", may, [](const Called& c) { (void)c.read.host().template_definition("hut"); }},
    {"RegistryReader::template_batch(std::string_view name) const", may, [](const Called& c) { (void)c.read.host().template_batch("hut"); }},
    {"RegistryReader::template_names() const", may, [](const Called& c) { (void)c.read.host().template_names(); }},
    {"RegistryReader::template_count() const", may, [](const Called& c) { (void)c.read.host().template_count(); }},
    {"RegistryReader::bounds() const", may, [](const Called& c) { (void)c.read.host().bounds(); }},
    {"RegistryReader::carried_bytes() const", may, [](const Called& c) { (void)c.read.host().carried_bytes(); }},
    {"RegistryReader::carries() const", may, [](const Called& c) { (void)c.read.host().carries(); }},
    {"RegistryReader::swaps() const", may, [](const Called& c) { (void)c.read.host().swaps(); }},
    {"RegistryReader::make_state() const", may, [](const Called& c) { (void)c.read.host().make_state(); }},
    {"RegistryHost::push_batch(std::span<const std::byte> batches, const Sender& by)", stops, [](const Called& c) { c.r.host().push_batch({}); }},
    {"RegistryHost::post_batch(std::span<const std::byte> batches)", stops, [](const Called& c) { c.r.host().post_batch({}); }},
    {"RegistryHost::replay(const Envelope& recorded, std::span<const std::byte> batch, bool timed)", stops, [](const Called& c) { c.r.host().replay({}, {}); }},
    {"RegistryHost::set_counters(const RegistryCounters& recorded)", stops, [](const Called& c) { c.r.host().set_counters({}); }},
    {"RegistryHost::inbox()", may, [](const Called& c) { (void)c.r.host().inbox(); }},
    {"RegistryHost::add_sink(InputSink& sink)", stops, [](const Called& c) { c.r.host().add_sink(sink); }},
    {"RegistryHost::remove_sink(InputSink& sink)", stops, [](const Called& c) { c.r.host().remove_sink(sink); }},
    {"RegistryHost::set_pushed_sink(PushedSink* sink)", stops, [](const Called& c) { c.r.host().set_pushed_sink(nullptr); }},
    {"RegistryHost::set_edit_log(EditLog* log)", stops, [](const Called& c) { c.r.host().set_edit_log(nullptr); }},
    {"RegistryHost::grant(std::uint32_t count, std::uint64_t session)", stops, [](const Called& c) { c.r.host().grant(1, 1); }},
    {"RegistryHost::return_grant(Entity first, std::uint32_t count)", stops, [](const Called& c) { c.r.host().return_grant({9, 1}, 1); }},
    {"RegistryHost::drop_texts(std::span<const Text> texts)", stops, [](const Called& c) { c.r.host().drop_texts({}); }},
    {"RegistryHost::set_executor(Executor* executor)", stops, [](const Called& c) { c.r.host().set_executor(nullptr); }},
    {"RegistryHost::begin_part(std::uint32_t part)", stops, [](const Called& c) { c.r.host().begin_part(1); }},
    {"RegistryHost::change_message(ChangeKind kind, TypeId component)", stops, [](const Called& c) { (void)c.r.host().change_message(ChangeKind::added, TypeTraits<Health>::id); }},
    {"RegistryHost::remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose)", stops, [](const Called& c) { c.r.host().remove_runtime_types([](const RuntimeOps&) { return true; }); }},
    {"RegistryHost::remove_runtime_type<RuntimeType T>()", stops, [](const Called& c) { c.r.host().remove_runtime_type<Sound>(); }},
    {"RegistryHost::set_waiting_managers(ManagerStates states)", stops, [](const Called& c) { c.r.host().set_waiting_managers({}); }},
    {"RegistryHost::expect_cut(const CascadeCut& cut)", stops, [](const Called& c) { c.r.host().expect_cut({}); }},
    {"RegistryHost::begin_turn()", stops, [](const Called& c) { c.r.host().begin_turn(); }},
    {"RegistryHost::set_bounds(const CascadeBounds& bounds)", stops, [](const Called& c) { c.r.host().set_bounds({}); }},
    {"RegistryHost::raise_sequence(std::uint64_t sequence)", stops, [](const Called& c) { c.r.host().raise_sequence(0); }},
    {"RegistryHost::restore(StateSource& source)", stops, [](const Called& c) { (void)c.r.host().restore(no_source); }},
    {"RegistryHost::swap_state(RegistryState& other)", stops, [](const Called& c) { (void)c.r.host().swap_state(c.state); }},
    {"RegistryHost::begin_version()", stops, [](const Called& c) { c.r.host().begin_version(); }},
    {"RegistryHost::add_preserver(ColumnPreserver& preserver)", stops, [](const Called& c) { c.r.host().add_preserver(preserver); }},
    {"RegistryHost::remove_preserver(ColumnPreserver& preserver)", stops, [](const Called& c) { c.r.host().remove_preserver(preserver); }},
    {"RegistryFigures::observing() const", may, [](const Called& c) { (void)c.read.profile().observing(); }},
    {"RegistryFigures::handler_figures() const", may, [](const Called& c) { (void)c.read.profile().handler_figures(); }},
    {"RegistryFigures::message_figures() const", may, [](const Called& c) { (void)c.read.profile().message_figures(); }},
    {"RegistryFigures::pass_counters() const", may, [](const Called& c) { (void)c.read.profile().pass_counters(); }},
    {"RegistryProfile::observe(bool on)", stops, [](const Called& c) { c.r.profile().observe(true); }},
    {"RegistryProfile::set_trace(Trace* trace)", stops, [](const Called& c) { c.r.profile().set_trace(nullptr); }},
    {"RegistryProfile::record_causes(bool on)", stops, [](const Called& c) { c.r.profile().record_causes(true); }},
};
// clang-format on

/// Returns the last words of a program in which a handler makes the call. `way` selects how the
/// handler is called.
std::string inside_a_handler(const Call& call, int way) {
  return test::last_words([&] {
    EntityRegistry registry;
    const Entity orc = registry.create("orc", Health{});
    RegistryState state = registry.host().make_state();
    const Called called{registry, registry, orc, state};
    const auto damage = registry.subscribe("game.meddler", [&](const Damage&, Health&) { call.make(called); });
    const auto update = registry.subscribe("game.meddler", [&](const Update&, Health&) { call.make(called); });
    if (way == 0) {
      registry.add_type<Damage>();
      registry.push(orc, Damage{});
    } else if (way == 1) {
      for (int i = 0; i < 3; ++i) registry.post(orc, Damage{});
      registry.flush();
    } else {
      registry.push(Update{});
    }
  });
}

}  // namespace

TEST_CASE("each call either stops the program inside a handler and names it, or may be made there") {
  for (const Call& call : calls)
    for (const int way : {0, 1, 2}) {
      CAPTURE(call.what, way);
      const std::string said = inside_a_handler(call, way);
      if (call.inside == stops)
        CHECK_THAT(said, Contains("the registry was used inside a handler (\"game.meddler\")"));
      else
        CHECK(said == "(it did not abort) 0: ");
    }
}

TEST_CASE("a sink may not change the registry, but may remove sinks and be told otherwise what handlers push") {
  struct Meddler final : InputSink {
    std::function<void(RegistryHost)> what;
    EntityRegistry* registry = nullptr;
    void on_input(const Envelope&, std::span<const std::byte>) override { what(registry->host()); }
  };
  const auto said = [](std::function<void(RegistryHost)> what) {
    return test::last_words([&] {
      EntityRegistry registry;
      Meddler meddler;
      meddler.what = std::move(what);
      meddler.registry = &registry;
      registry.host().add_sink(meddler);
      registry.push(Update{});
    });
  };
  const auto stopped = Contains("the registry was used inside a handler");
  CHECK_THAT(said([](RegistryHost host) { host.begin_version(); }), stopped);
  CHECK_THAT(said([](RegistryHost host) { host.add_sink(sink); }), stopped);
  CHECK_THAT(said([](RegistryHost host) { host.add_preserver(preserver); }), stopped);
  CHECK_THAT(said([](RegistryHost host) { host.remove_preserver(preserver); }), stopped);
  CHECK_THAT(said([](RegistryHost host) { host.set_edit_log(nullptr); }), stopped);
  CHECK(said([](RegistryHost host) { host.remove_sink(sink); }) == "(it did not abort) 0: ");
  CHECK(said([](RegistryHost host) { host.set_pushed_sink(nullptr); }) == "(it did not abort) 0: ");
}

}  // namespace calls_inside_test
