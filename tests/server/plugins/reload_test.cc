// A plugin's next build takes the place of the running one: what stays, what is made anew, what keeps it from happening.
#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "registry/host.h"
#include "registry/observe/trace.h"
#include "server/plugins/plugins.h"
#include "tests/server/plugins/counter.h"
#include "tests/server/plugins/folder.h"

using namespace muster;
using muster::testing::PluginFolder;
using muster::testing::Told;

namespace {

struct Game {
  PluginFolder folder;
  std::string file = folder.put("counter", "counter_first");
  Plugins plugins;
  EntityRegistry registry;
  Handlers handlers;
  Entity counter, traced;

  explicit Game(bool with_other = false) {
    plugins.load(file);
    if (with_other) plugins.load(folder.put("other", "other"));
    handlers = plugins.install(registry);
    plugins.begin(registry);
    counter = registry.find_path("/counter");
    traced = registry.create("traced", counter::Trace{});
  }
  /// Of one step: whose handlers without a name were called, in order.
  int trace() {
    registry.set(traced, counter::Trace{});
    registry.push(traced, counter::Step{});
    return registry.get<counter::Trace>(traced).value;
  }
  int step() {
    registry.push(counter, counter::Step{});
    return registry.get<counter::Count>(counter).value;
  }
  counter::Heard heard() {
    registry.push(counter, counter::Ask{});
    return registry.get<counter::Heard>(counter);
  }
  std::string refusal(std::string_view which = {}) {
    const auto done = plugins.reload(registry, which);
    return done ? "reloaded" : done.error();
  }
};

}  // namespace

TEST_CASE("the next build of a plugin handles what comes, and the state stays", "[reload]") {
  Game game;
  CHECK(game.step() == 1);
  CHECK(game.step() == 2);
  const std::uint64_t sequence = game.registry.sequence();
  const std::uint64_t types = game.registry.types().fingerprint();

  game.folder.put("counter", "counter_second");
  const auto done = game.plugins.reload(game.registry, "counter");
  REQUIRE(done.has_value());
  REQUIRE(done->size() == 1);
  CHECK(done->front().name == "counter");
  CHECK(done->front().build_before == "build 1");
  CHECK(done->front().build == "build 2");
  CHECK(done->front().changed);

  CHECK(game.registry.sequence() == sequence);
  CHECK(game.registry.types().fingerprint() == types);
  CHECK(game.registry.get<counter::Count>(game.counter).value == 2);
  CHECK(game.step() == 4);
}

TEST_CASE("a reload changes nothing that a registry without the plugin could tell", "[reload]") {
  Game game;
  game.step();
  game.registry.post(game.counter, counter::Step{});
  game.registry.post_at(1000, game.counter, counter::Step{});
  const std::uint64_t hash = game.registry.hash();
  REQUIRE(game.refusal() == "reloaded");  // the same file: managers write the same bytes
  CHECK(game.registry.hash() == hash);
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal() == "reloaded");
  game.registry.flush();
  CHECK(game.registry.get<counter::Count>(game.counter).value ==
        3);  // what was posted before is handled by the new one
  game.registry.advance(1000);
  CHECK(game.registry.get<counter::Count>(game.counter).value == 5);
}

TEST_CASE("managers and instances hand over what they know", "[reload]") {
  Game game;
  game.step();
  game.step();
  counter::Heard heard = game.heard();
  CHECK(heard.sum == 2);
  CHECK(heard.total == 2);
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal() == "reloaded");
  game.step();
  heard = game.heard();
  CHECK(heard.build == 2);
  CHECK(heard.sum == 4);
  CHECK(heard.total == 3);
  CHECK(game.registry.host().waiting_managers().empty());
}

TEST_CASE("values of a plugin's runtime components are made anew by its next build", "[reload]") {
  Game game;
  game.step();
  CHECK(game.heard().voice == 0);  // it came after the hook was set: default-constructed
  REQUIRE(game.refusal() == "reloaded");
  CHECK(game.heard().voice == 1001);
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal() == "reloaded");
  CHECK(game.heard().voice == 2001);
  // Rows move with the new build's functions.
  game.registry.create("second", counter::Heard{}, counter::Count{.value = 7}).or_stop();
  game.registry.set(game.counter, counter::Trace{});
  CHECK(game.heard().voice == 2001);
  game.registry.destroy(game.counter);
  CHECK_FALSE(game.registry.alive(game.counter));
}

TEST_CASE("handlers stand where they stood, those without a name too", "[reload]") {
  Game game(true);
  const auto names = [&] {
    std::vector<const Handler*> order;
    for (const Handler* handler : game.registry.host().handlers().handlers()) order.push_back(handler);
    std::ranges::sort(order, {}, [](const Handler* h) { return std::tuple(h->message, h->name, h->part, h->ordinal); });
    std::string all;
    for (const Handler* handler : order) all += handler->name + "/" + std::to_string(handler->part) + " ";
    return all;
  };
  const std::string before = names();
  CHECK(game.trace() == 1256);
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal("counter") == "reloaded");
  CHECK(names() == before);
  CHECK(game.trace() == 3456);
  REQUIRE(game.refusal() == "reloaded");  // both
  CHECK(names() == before);
  CHECK(game.trace() == 3456);
}

TEST_CASE("handlers that are passed over still are after a reload", "[reload]") {
  Game game;
  game.registry.set_handler_enabled("counter.step", false);
  CHECK(game.step() == 0);
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal() == "reloaded");
  CHECK(game.step() == 0);
  game.registry.set_handler_enabled("counter.step", true);
  CHECK(game.step() == 2);
}

TEST_CASE("a build that cannot be used leaves the old one running", "[reload]") {
  Game game(true);
  game.step();
  REQUIRE(game.refusal("counter") == "reloaded");  // so that there is a voice
  const std::uint64_t hash = game.registry.hash();
  const Handler* const running = game.registry.host().handlers().handlers().front();
  const std::string path = game.file + ": ";

  // `untouched`: the running instance is the very same one.
  const auto unchanged = [&](bool untouched = true) {
    CHECK(game.registry.hash() == hash);
    const auto& all = game.registry.host().handlers().handlers();
    CHECK(std::ranges::any_of(all, [&](const auto& h) { return h == running; }) == untouched);
    CHECK(game.registry.types().find("counter.Ask")->size == 4);
  };

  SECTION("no file") {
    std::filesystem::remove(game.file);
    CHECK(game.refusal("counter") == path + "cannot be read: No such file or directory");
    unchanged();
  }
  SECTION("a file that was cut off") {
    const std::string whole = PluginFolder::read(game.folder.put("counter", "counter_second"));
    game.folder.write("counter", whole.substr(0, whole.size() / 2));
    CHECK(game.refusal("counter").starts_with(path + "is cut off: "));
    unchanged();
  }
  SECTION("no library") {
    game.folder.write("counter", "#!/bin/sh\n");
    CHECK(game.refusal("counter") == path + "is not a shared library");
    unchanged();
  }
  SECTION("a symbol that nobody has") {
    game.folder.put("counter", "missing_symbol");
    CHECK(game.refusal("counter") == path + "cannot be loaded: undefined symbol: game::nobody_has_this(int)");
    unchanged();
  }
  SECTION("no entry point") {
    game.folder.put("counter", "no_entry");
    CHECK(game.refusal("counter") == path + "is not a plugin: it has no function muster_plugin");
    unchanged();
  }
  SECTION("another interface") {
    game.folder.put("counter", "old_interface");
    CHECK(game.refusal("counter") == path + "was built for plugin interface 1, this server has 3: build it again");
    unchanged();
  }
  SECTION("another plugin's file") {
    game.folder.put("counter", "other");
    CHECK(game.refusal("counter") == path + "is called \"other\" now; \"counter\" runs");
    unchanged();
  }
  SECTION("it throws") {
    game.folder.put("counter", "counter_second");
    const Told told("throw");
    CHECK(game.refusal("counter") == path + "cannot be installed: no sound device");
    unchanged();
  }
  SECTION("its handlers contradict each other") {
    game.folder.put("counter", "counter_second");
    const Told told("contradict");
    CHECK(game.refusal("counter") ==
          path + "cannot be installed: the order of these handlers is circular: counter.late, counter.step");
    unchanged();
  }
  SECTION("it takes another plugin's name") {
    game.folder.put("counter", "counter_second");
    const Told told("take a name");
    CHECK(game.refusal("counter").find("message counter.Step already has a handler named \"other.step\"") !=
          std::string::npos);
    unchanged();
  }
  SECTION("a type has another layout") {
    game.folder.put("counter", "counter_changed");
    const std::string text = game.refusal("counter");
    INFO(text);
    CHECK(text.find("counter.Ask") != std::string::npos);
    CHECK(text.find("deep") != std::string::npos);
    unchanged();
  }
  SECTION("it refuses what the running instance knows") {
    game.folder.put("counter", "counter_second");
    const Told told("refuse the state");
    CHECK(game.refusal("counter") ==
          path + "does not accept the running instance's state (version 1): totals of version 1 are not known here");
    unchanged();
  }
  SECTION("the running instance does not hand its state over") {
    game.folder.put("counter", "counter_second");
    const Told told("keep its state");
    CHECK(game.refusal("counter") == path + "the running instance cannot pass on its state: busy");
    unchanged();
  }
  SECTION("there is no such plugin") {
    CHECK(game.refusal("nobody") == "there is no plugin called \"nobody\"; the server has counter, other");
    unchanged();
  }
  game.folder.put("counter", "counter_first");
  CHECK(game.step() == 4);  // both count
  CHECK(game.heard().voice == 1002);
  CHECK(game.trace() == 1256);
  CHECK(game.refusal() == "reloaded");
}

TEST_CASE("a manager that refuses its predecessor's state brings the old build back with its own", "[reload]") {
  Game game;
  game.step();
  REQUIRE(game.refusal("counter") == "reloaded");
  const std::uint64_t hash = game.registry.hash();
  // An older build: it knows neither this version of the sums nor of the totals.
  game.folder.put("counter", "counter_second");
  REQUIRE(game.refusal("counter") == "reloaded");
  game.step();
  game.folder.put("counter", "counter_first");
  CHECK(game.refusal("counter") ==
        game.file +
            ": does not accept the running instance's state (version 2): totals of version 2 are not known here");
  CHECK(game.registry.hash() != hash);
  CHECK(game.step() == 5);
  CHECK(game.heard().total == 3);
  CHECK(game.heard().sum == 5);
  CHECK(game.heard().build == 2);
}

TEST_CASE("what is refused in the real registry only has the old build made again", "[reload]") {
  Game game;
  game.step();
  game.step();
  REQUIRE(game.refusal() == "reloaded");
  const std::uint64_t hash = game.registry.hash();
  // The empty registry has no sums to refuse.
  game.folder.put("counter", "refuses_sums");
  const std::string text = game.refusal("counter");
  CHECK(text ==
        game.file +
            ": cannot be installed: manager \"counter.sums\" rejected its saved state: sums of version 1 are not "
            "known here");
  CHECK(game.registry.hash() == hash);
  CHECK(game.step() == 3);
  const counter::Heard heard = game.heard();
  CHECK(heard.build == 1);
  CHECK(heard.sum == 3);
  CHECK(heard.total == 3);
  CHECK(heard.voice == 1002);
}

TEST_CASE("a build that would use parts of the running one is refused", "[reload]") {
  Game game;
  std::string bytes = PluginFolder::read(game.folder.put("counter", "counter_second"));
  // As GCC writes it: the last symbol of the dynamic symbols becomes one for the whole process.
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  bool patched = false;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + section.sh_offset + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      symbol.st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_OBJECT);
      std::memcpy(bytes.data() + section.sh_offset + at, &symbol, sizeof symbol);
      patched = true;
      break;
    }
  }
  REQUIRE(patched);
  game.folder.write("counter", bytes);
  CHECK(game.refusal() ==
        game.file + ": would use parts of the running build (GNU_UNIQUE symbols): compile it with -fno-gnu-unique");
  CHECK(game.step() == 1);
}

TEST_CASE("a library whose instances are gone is unloaded", "[reload]") {
  Game game;
  const auto copies = [&] { return game.folder.files() - 1; };
  CHECK(copies() == 1);
  for (int i = 0; i < 5; ++i) {
    game.folder.put("counter", "counter_second");
    REQUIRE(game.refusal() == "reloaded");
  }
  CHECK(copies() == 1);
  game.handlers = {};
  CHECK(game.refusal() == "this server has no plugins");
}

TEST_CASE("a build of other layouts is tried on a copy of the state, and the registry that runs is left alone",
          "[reload]") {
  Game game;
  game.step();
  const std::uint64_t hash = game.registry.hash();
  std::vector<std::string> opened_again;
  game.folder.put("counter", "counter_wider");
  CHECK(game.refusal().find("counter.Count") != std::string::npos);
  const auto done = game.plugins.reload(game.registry, {}, &opened_again);
  REQUIRE(done.has_value());
  CHECK(done->front().build == "build 2");
  CHECK(opened_again ==
        std::vector<std::string>{"counter.Count: bonus is new", "counter.Heard: sum was int and is long"});
  opened_again.clear();
  game.folder.put("counter", "counter_changed");
  REQUIRE(game.plugins.reload(game.registry, {}, &opened_again).has_value());
  CHECK(opened_again == std::vector<std::string>{"unused types have different layouts"});
  opened_again.clear();
  game.folder.put("counter", "counter_narrower");
  const auto narrower = game.plugins.reload(game.registry, {}, &opened_again);
  REQUIRE_FALSE(narrower.has_value());
  CHECK(narrower.error() ==
        game.file +
            ": was compiled with layouts that differ from the world's and cannot be converted: "
            "archetypes 0: component counter.Heard.build: was int and is now short, which cannot be "
            "converted");
  CHECK(opened_again.empty());
  CHECK(game.registry.hash() == hash);
  CHECK(game.registry.types().find("counter.Count")->size == 4);
  CHECK(game.step() == 2);
}

TEST_CASE("another registry goes on with the build it began with", "[reload]") {
  Game game;
  EntityRegistry past;
  Handlers past_handlers = game.plugins.install(past);
  const Entity e = past.create(counter::Count{});
  game.folder.put("counter", "counter_second");
  REQUIRE(game.plugins.reload(game.registry).has_value());
  past.push(e, counter::Step{});
  CHECK(past.get<counter::Count>(e).value == 1);
  CHECK(game.step() == 2);
  EntityRegistry later;
  const Handlers later_handlers = game.plugins.install(later);
  const Entity f = later.create(counter::Count{});
  later.push(f, counter::Step{});
  CHECK(later.get<counter::Count>(f).value == 2);
}
