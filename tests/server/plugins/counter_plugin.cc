// A plugin that counts. Built several times: BUILD is the length of a step, NAME what it is called, HEADER which layout
// it was compiled with. What it shall fail at is read from the environment when it is installed.
#include <muster/plugin.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include HEADER

namespace {

/// A runtime component: memory of its own, made by the restore hook.
struct Voice {
  std::unique_ptr<int> note;
};

bool told_to(std::string_view what) {
  const char* told = std::getenv("MUSTER_TEST_PLUGIN");
  return told && what == told;
}

}  // namespace

template <>
struct muster::RuntimeTraits<Voice> {
  static constexpr std::string_view name = NAME ".Voice";
};

namespace {

using namespace counter;

/// The sum of all steps; its state has the build's number as version, and an older one is welcome.
class Sums final : public muster::Manager {
 public:
  explicit Sums(muster::EntityRegistry& registry) : registry_(registry) { registry_.add_manager(NAME ".sums", *this); }
  ~Sums() override { registry_.remove_manager(*this); }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  void add(int step) { sum_ += step; }
  int sum() const { return sum_; }

  std::uint32_t state_version() const override { return BUILD; }
  void save(std::vector<std::byte>& out) const override {
    const auto bytes = std::as_bytes(std::span(&sum_, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override {
    if (version > BUILD || bytes.size() != sizeof sum_ || REFUSES_SUMS)
      return std::unexpected("sums of version " + std::to_string(version) + " are not known here");
    std::memcpy(&sum_, bytes.data(), sizeof sum_);
    return {};
  }

 private:
  muster::EntityRegistry& registry_;
  int sum_ = 0;
};

void step(const Step&, Count& count) { count.value += BUILD; }

class Counter {
 public:
  explicit Counter(muster::EntityRegistry& registry) : sums_(registry) {
    registry.add_runtime_type<Voice>([&registry](Voice& voice, muster::Entity e) {
      const Count* count = registry.find<Count>(e);
      voice.note = std::make_unique<int>(BUILD * 1000 + (count ? count->value : 0));
    });
    handlers_.add(registry.subscribe<step>(NAME ".step"));
    handlers_.add(registry.subscribe(NAME ".sum", [this](const Step&, const Count&) { sums_.add(BUILD), ++total_; }));
    // These two have no name: only their places tell them apart.
    handlers_.add(registry.subscribe("", [](const Step&, Trace& trace) { trace.value = trace.value * 10 + DIGIT; }));
    handlers_.add(
        registry.subscribe("", [](const Step&, Trace& trace) { trace.value = trace.value * 10 + DIGIT + 1; }));
    if (std::string_view(NAME) == "counter")
      handlers_.add(registry.subscribe(NAME ".ask", [this](const Ask&, Heard& heard, const Voice* voice) {
        if (told_to("die of Ask")) std::abort();
        if (told_to("exit in Ask")) std::exit(0);
        while (told_to("hang in Ask")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        heard = {.voice = voice && voice->note ? *voice->note : 0, .sum = sums_.sum(), .total = total_, .build = BUILD};
      }));
    if (told_to("throw")) throw std::runtime_error("no sound device");
    if (told_to("throw a number")) throw 42;
    if (told_to("contradict"))
      handlers_.add(registry.subscribe(NAME ".late", [](const Step&, const Count&) {},
                                       {.before = {NAME ".step"}, .after = {NAME ".step"}}));
    if (told_to("take a name")) handlers_.add(registry.subscribe("other.step", [](const Step&, const Count&) {}));
  }
  // guide: state
  static constexpr std::uint32_t state_version = BUILD;
  void hand_over(std::vector<std::byte>& out) const {
    if (told_to("keep its state")) throw std::runtime_error("busy");
    const auto bytes = std::as_bytes(std::span(&total_, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  std::expected<void, std::string> take_over(std::uint32_t version, std::span<const std::byte> bytes) {
    if (version > BUILD || bytes.size() != sizeof total_ || told_to("refuse the state"))
      return std::unexpected("totals of version " + std::to_string(version) + " are not known here");
    std::memcpy(&total_, bytes.data(), sizeof total_);
    return {};
  }
  // guide: end

  void begin(muster::EntityRegistry& registry) {
    if (told_to("fail to begin")) throw std::runtime_error("no map");
    registry.create(NAME, Count{}, Heard{}, muster::Has<Voice>{}).or_stop();
  }

 private:
  Sums sums_;
  int total_ = 0;
  muster::Handlers handlers_;
};

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<Counter>(NAME, BUILD_NAME);
  return &plugin;
}
