// A plugin with one handler that hides something: the one that MUSTER_PLANT names.
#include <muster/plugin.h>

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/server/planted/planted.h"

namespace {

using namespace planted;
using muster::Entity;
using muster::Update;

std::uint32_t low(std::uint64_t number) { return static_cast<std::uint32_t>(number ^ (number >> 32)); }
std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
std::uint64_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at) >> 3; }

// Drawn when the library is loaded.
const std::uint32_t seed_of_library = std::random_device()();
std::uint32_t calls = 0;
thread_local std::uint32_t calls_of_thread = 0;

/// The wind, as an object of another engine would keep it.
class Wind final : public muster::Manager {
 public:
  explicit Wind(muster::EntityRegistry& registry) : registry_(registry) { registry_.add_manager("wind", *this); }
  ~Wind() override { registry_.remove_manager(*this); }
  Wind(const Wind&) = delete;
  Wind& operator=(const Wind&) = delete;
  void save(std::vector<std::byte>& out) const override {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&force);
    out.insert(out.end(), bytes, bytes + sizeof force);
  }
  std::expected<void, std::string> load(std::uint32_t, std::span<const std::byte> bytes) override {
    if (bytes.size() != sizeof force) return std::unexpected("it has another size");
    std::memcpy(&force, bytes.data(), sizeof force);
    return {};
  }
  struct Kept final : muster::ManagerMoment {
    std::uint32_t force = 0;
  };
  std::shared_ptr<const muster::ManagerMoment> keep() override {
    auto kept = std::make_shared<Kept>();
    kept->force = force;
    return kept;
  }
  void return_to(const muster::ManagerMoment& moment) override { force = static_cast<const Kept&>(moment).force; }

  std::uint32_t force = 1;

 private:
  muster::EntityRegistry& registry_;
};

/// Reads memory that nobody has written.
[[gnu::noinline]] std::uint64_t unset_on_heap() {
  auto* at = static_cast<volatile std::uint64_t*>(std::malloc(8));
  asm volatile("" : "+r"(at));  // the compiler does not know that the value was never set
  const std::uint64_t value = *at;
  std::free(const_cast<std::uint64_t*>(at));
  return value;
}
[[gnu::noinline]] std::uint64_t unset_on_stack() {
  volatile std::uint64_t value;
  asm volatile("" : : "r"(&value) : "memory");
  return value;
}
[[gnu::noinline]] Gap gap_of(std::uint32_t large) {
  Gap gap;  // with padding behind `small`
  asm volatile("" : : "r"(&gap) : "memory");
  gap.small = 1;
  gap.large = large;
  return gap;
}

class Game {
 public:
  explicit Game(muster::EntityRegistry& registry) : wind_(registry), registry_(registry) {
    add("a.move", [](const Update& now, Place& at) { at.x += now.dt; });
    add("a.hurt", [](const Hit& hit, Life& life) { life.value -= hit.amount; });
    add("z.drift", [this](const Update&, Place& at) { at.y += static_cast<float>(wind_.force % 128); },
        {.external_reads = {"wind"}});
    add("z.pass", [](const Update&, const Mark& mark, Place& at) { at.x += static_cast<float>(mark.number % 64); });
    const char* const plant = std::getenv("MUSTER_PLANT");
    put(plant ? plant : "");
  }

 private:
  template <class F>
  void add(const char* name, F handler, muster::HandlerOptions options = {}) {
    handlers_.add(registry_.subscribe(name, std::move(handler), std::move(options)));
  }
  /// Adds "plant", a handler of Update that writes Mark.
  template <class F>
  void mark(F number, muster::HandlerOptions options = {}) {
    add("plant", [number](const Update&, Mark& mark) { mark.number = low(number()); }, std::move(options));
  }
  void put(const std::string& plant);

  Wind wind_;
  muster::EntityRegistry& registry_;
  std::map<std::uint64_t, std::uint32_t> seen_;
  std::atomic<std::uint32_t> order_ = 0;
  std::shared_ptr<std::set<const void*>> kept_ = std::make_shared<std::set<const void*>>();
  muster::Handlers handlers_;
};

void Game::put(const std::string& plant) {
  if (plant == "clock") mark(now_ns);
  if (plant == "processor time") mark([] { return static_cast<std::uint64_t>(std::clock()) + now_ns() % 2; });
  if (plant == "random device")
    mark([] {
      static std::random_device device;
      return std::uint64_t{device()};
    });
  if (plant == "rand()") mark([] { return static_cast<std::uint64_t>(std::rand()); });
  if (plant == "counter of the library") mark([] { return std::uint64_t{++calls}; });
  if (plant == "counter of the thread") mark([] { return std::uint64_t{++calls_of_thread}; });
  if (plant == "seed of the library") mark([] { return std::uint64_t{seed_of_library}; });
  if (plant == "seed at the first call")
    mark([] {
      static const std::uint64_t seed = now_ns();
      return seed;
    });
  if (plant == "static cache")
    add("plant", [](const Update&, const Life& life, Mark& mark, Entity self) {
      static std::map<std::uint64_t, std::uint32_t> first;
      mark.number = first.try_emplace(self.bits(), static_cast<std::uint32_t>(life.value)).first->second;
    });
  if (plant == "cache in the object")
    add("plant", [this](const Update&, const Life& life, Mark& mark, Entity self) {
      mark.number = seen_.try_emplace(self.bits(), static_cast<std::uint32_t>(life.value)).first->second;
    });
  if (plant == "number of the processor") mark([] { return static_cast<std::uint64_t>(::sched_getcpu()); });
  if (plant == "id of the thread")
    mark([] { return std::uint64_t{std::hash<std::thread::id>()(std::this_thread::get_id())}; });
  if (plant == "address of the component")
    add("plant", [](const Update&, Mark& mark) { mark.number = low(address(&mark)); });
  if (plant == "address of the game") mark([this] { return address(this); });
  if (plant == "address of a function") mark([] { return address(reinterpret_cast<const void*>(&gap_of)); });
  if (plant == "address from the heap") mark([] { return address(std::make_unique<int>(1).get()); });
  if (plant == "order of addresses")
    mark([] {
      const auto one = std::make_unique<int>(1), other = std::make_unique<int>(2);
      return std::less<>()(one.get(), other.get()) ? std::uint64_t{1} : std::uint64_t{2};
    });
  if (plant == "unordered map of addresses")
    mark([] {
      std::vector<std::unique_ptr<std::uint64_t>> all;
      std::unordered_map<const void*, std::uint64_t> numbers;
      for (std::uint64_t i = 0; i < 7; ++i) {
        all.push_back(std::make_unique<std::uint64_t>(i));
        numbers.emplace(all.back().get(), i);
      }
      std::uint64_t sum = 0;
      for (const auto& [at, number] : numbers) sum = sum * 7 + number;
      return sum;
    });
  if (plant == "unset on the heap") mark(unset_on_heap);
  if (plant == "unset on the stack") mark(unset_on_stack);
  if (plant == "unset padding") add("plant", [](const Update&, Gap& gap) { gap = gap_of(gap.large + 1); });
  if (plant == "message changed")
    add("plant", [](Hit& hit) { hit.amount += static_cast<float>(now_ns() % 4096); }, {.before = {"a.hurt"}});
  if (plant == "manager changed")
    add("plant", [this](const Update&) { wind_.force += low(now_ns()) % 4096; }, {.external_writes = {"wind"}});
  if (plant == "message posted")
    add("plant", [](const Update&, const Mark&, Entity self, muster::Outbox& out) {
      out.post(self, Hit{.amount = static_cast<float>(now_ns() % 4096)});
    });
  if (plant == "rounding left")
    add("plant", [](const Update&, Mark& mark) {
      ++mark.number;
      std::fesetround(FE_UPWARD);
    });
  if (plant == "order of workers")
    add("plant", [this](const Update&, Mark& mark) { mark.number = order_++; },
        {.on_begin =
             [this] {
               order_ = 0;
               return true;
             },
         .external_reads = {"order"}});
  if (plant == "done once")
    add("plant", [](const Update&, Mark& mark) {
      static bool done = false;
      if (!std::exchange(done, true)) mark.other = 7;
    });
  if (plant == "date in seconds") mark([] { return static_cast<std::uint64_t>(std::time(nullptr)); });
  if (plant == "id of the process") mark([] { return static_cast<std::uint64_t>(::getpid()); });
}

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<Game>("planted", "planted 1");
  return &plugin;
}
