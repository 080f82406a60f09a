#include <muster/host.h>
#include <muster/messages.h>
#include <muster/registry.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "examples/cookbook/cookbook.h"
#include "examples/cookbook/cookbook_types.h"
#include "messages/batch_builder.h"
#include "messages/value_text.h"
#include "registry/delivery/pushed_sink.h"

namespace cook {
namespace {

using muster::Entity;

void take_damage(const Damage& hit, Health& health, Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

// guide: a unit test
void a_blow_that_is_too_hard_kills() {
  muster::EntityRegistry registry;  // costs microseconds: one per test
  const auto tested = registry.subscribe<take_damage>("take_damage");
  const Entity orc = registry.create(Health{.value = 30});
  registry.push(orc, Damage{.amount = 10});
  require(registry.get<Health>(orc).value == 20);
  registry.push(orc, Damage{.amount = 20});
  require(!registry.alive(orc));
}
// guide: end

// guide: a script
/// What a binding of Lua or Python does: types by name at run time, values as bytes.
muster::Subscription subscribe_script(muster::EntityRegistry& registry) {
  const muster::TypeDescriptor* message = registry.types().find("cook.Damage");
  const muster::TypeDescriptor* health = registry.types().find("cook.Health");
  return registry.subscribe(
      "script.damage",
      muster::DynamicShape{.message = message->id, .terms = {{.type = health->id, .access = muster::Access::write}}},
      [](const muster::DynamicCall& call) {
        float amount, value;
        std::memcpy(&amount, call.message.data(), sizeof amount);
        std::memcpy(&value, call.values[0], sizeof value);
        value -= amount;
        std::memcpy(call.values[0], &value, sizeof value);
      });
}
// guide: end

void script() {
  muster::EntityRegistry registry;
  registry.add_type<Damage>();
  registry.add_type<Health>();
  const auto scripted = subscribe_script(registry);
  const Entity orc = registry.create(Health{});
  registry.push(orc, Damage{.amount = 5});
  require(registry.get<Health>(orc).value == 95);
}

// guide: print an entity
class Names final : public muster::ValueReferences {
 public:
  explicit Names(const muster::EntityRegistry& registry) : registry_(registry) {}
  muster::ValueResult<Entity> find_entity(std::string_view path) override { return registry_.find_path(path); }
  muster::ValueResult<muster::Text> intern(std::string_view) override { return muster::Text{}; }
  std::string text(muster::Text text) override { return std::string(registry_.text(text)); }

 private:
  const muster::EntityRegistry& registry_;
};
std::string printed(const muster::EntityRegistry& registry, Entity e) {
  Names names(registry);
  std::string out = registry.path(e);
  for (const muster::TypeId id : registry.host().components(e)) {
    const muster::TypeDescriptor& type = *registry.types().find(id);
    out += "\n  " + std::string(type.name);
    if (type.size > 0) out += " " + muster::value_line(registry.types(), type, registry.find(e, id), names);
  }
  return out;
}
// guide: end

void print_an_entity() {
  muster::EntityRegistry registry;
  const Entity orc = registry.create("orc", Health{.value = 30});
  require(printed(registry, orc).find("cook.Health value=30") != std::string::npos);
}

// guide: log everything
/// Inputs come by an InputSink; what handlers post and timers deliver comes by this one.
class PushLog final : public muster::PushedSink {
 public:
  explicit PushLog(const muster::TypeTable& types) : types_(types) {}
  void on_pushed(const muster::BatchView& batch) noexcept override { text += types_.find(batch.type())->name + "\n"; }
  std::string text;

 private:
  const muster::TypeTable& types_;
};
// guide: end

void log_everything() {
  muster::EntityRegistry registry;
  const auto damage = registry.subscribe<take_damage>("take_damage");
  PushLog log(registry.types());
  registry.host().set_pushed_sink(&log);
  registry.push(registry.create(Health{.value = 1}), Damage{.amount = 2});
  require(log.text == "muster.Destroy\n");
  registry.host().set_pushed_sink(nullptr);
}

// guide: own executor
/// Over a job system of your own: two functions. A plain one is muster::ThreadPool.
class Jobs final : public muster::Executor {
 public:
  std::uint32_t workers() const noexcept override { return 2; }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    std::vector<std::jthread> others;
    for (std::uint32_t i = 1; i < count; ++i) others.emplace_back(job, context, i);
    if (count > 0) job(context, 0);
  }  // returns when all of them have ended
};
// guide: end

void fly(const muster::Update& update, Position& at, const Velocity& velocity) { at.x += velocity.x * update.dt; }

void own_executor() {
  std::uint64_t hash[2];
  for (int several = 0; several < 2; ++several) {
    Jobs jobs;
    muster::EntityRegistry registry({.executor = several ? &jobs : nullptr, .pass_serial_below_ns = 0});
    const auto flying = registry.subscribe<fly>("cook.fly");
    for (int i = 0; i < 5000; ++i) registry.create(Position{}, Velocity{.x = static_cast<float>(i)});
    registry.push(muster::Update{.dt = 0.1f});
    require(several == 0 || registry.profile().pass_counters().spread == 1);
    hash[several] = registry.hash();
  }
  require(hash[0] == hash[1]);  // the results are those of one thread
}

void threads_that_post() {
  muster::EntityRegistry registry;
  const auto damage = registry.subscribe<take_damage>("take_damage");
  const Entity orc = registry.create(Health{.value = 30});
  registry.add_type<Damage>();
  // guide: threads that post
  const std::shared_ptr<muster::InboxLane> lane = registry.host().inbox().open_lane(1);
  std::thread loader([&] {
    muster::BatchBuilder batch;  // a thread's own
    batch.append(orc, Damage{.amount = 3});
    batch.append(orc, Damage{.amount = 4});
    if (!lane->put(batch.bytes())) std::puts("the lane is full: try again later");
  });
  loader.join();
  registry.flush();  // World::next_frame and World::poll do this
  require(registry.get<Health>(orc).value == 23);
  // guide: end
}

void profile() {
  muster::EntityRegistry registry;
  const auto damage = registry.subscribe<take_damage>("take_damage");
  // guide: profile
  registry.profile().observe(true);
  registry.push(registry.create(Health{}), Damage{.amount = 3});
  for (const muster::HandlerFigures& of : registry.profile().handler_figures())
    std::printf("%s: %llu rows, %llu ns\n", of.name.c_str(), static_cast<unsigned long long>(of.rows),
                static_cast<unsigned long long>(of.ns));
  registry.profile().observe(false);
  // guide: end
  require(registry.profile().handler_figures().size() == 1 && registry.profile().handler_figures()[0].rows == 1);
}

void memory() {
  // guide: memory
  std::string warned;
  muster::EntityRegistry registry({.cascade_messages_max = 100'000,
                                   .cascade_bytes_max = 16u << 20,
                                   .on_warning = [&](const std::string& sentence) { warned = sentence; }});
  const auto echo = registry.subscribe("cook.echo", [](const Damage& hit, Entity self, muster::Outbox& out) {
    out.post(self, hit);  // for ever
  });
  const muster::Receipt receipt = registry.push(registry.create(Health{}), Damage{});
  require(receipt.cut_short);                                  // the rest waits for the next input
  require(warned.find("\"cook.echo\"") != std::string::npos);  // which handler it is
  require(registry.host().memory_waiting() < (1u << 20));      // bytes in queues of messages
  // guide: end
}

}  // namespace

void tools() {
  a_blow_that_is_too_hard_kills();
  script();
  print_an_entity();
  log_everything();
  own_executor();
  threads_that_post();
  profile();
  memory();
}

}  // namespace cook
