// What keeps a plugin from being loaded, word for word.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <cfenv>
#include <cstdio>

#include "server/plugins/plugins.h"
#include "tests/server/plugins/folder.h"

using namespace muster;
using muster::testing::PluginFolder;
using muster::testing::Told;

namespace {

/// What loading says, without the path that it begins with.
std::string refusal(const std::string& path) {
  try {
    Plugins().load(path);
  } catch (const PluginError& error) {
    const std::string text = error.what();
    REQUIRE(text.starts_with(path + ": "));
    return text.substr(path.size() + 2);
  }
  return "loaded";
}

/// The digest of the headers that this program was compiled with.
std::string here() {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(muster_plugin_headers));
  return digits;
}

}  // namespace

TEST_CASE("a plugin that cannot be read is refused", "[plugins]") {
  const PluginFolder folder;
  CHECK(refusal(folder.path("none.so")) == "cannot be read: No such file or directory");
  CHECK(refusal(folder.path("")) == "is not a file");
  CHECK(refusal(folder.put("good", "counter_first")) == "loaded");
}

TEST_CASE("a file that is no library is refused before the system's loader sees it", "[plugins]") {
  const PluginFolder folder;
  CHECK(refusal(folder.write("empty", "")) == "is not a shared library");
  CHECK(refusal(folder.write("text", "int main() { return 0; }")) == "is not a shared library");
  const std::string whole = PluginFolder::read(folder.put("whole", "counter_first"));
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{5000}, std::size_t{200}}) {
    INFO(size);
    CHECK(refusal(folder.write("cut", whole.substr(0, size))) ==
          "is cut off: it has " + std::to_string(size) + " bytes, fewer than its headers say");
  }
  CHECK(refusal(folder.write("cut", whole.substr(0, 40))) == "is not a shared library");
  CHECK(refusal("/proc/self/exe") != "loaded");
}

TEST_CASE("a library that is no plugin of this server is refused", "[plugins]") {
  const PluginFolder folder;
  CHECK(refusal(folder.put("a", "no_entry")) == "is not a plugin: it has no function muster_plugin");
  CHECK(refusal(folder.put("b", "nothing")) == "its muster_plugin returns nothing");
  CHECK(refusal(folder.put("c", "old_interface")) ==
        "was built for plugin interface 1, this server has 3: build it again");
  CHECK(refusal(folder.put("d", "other_headers")) ==
        "was built with other muster headers (digest 0123456789abcdef) than this server (" + here() +
            "): build it again");
  CHECK(refusal(folder.put("f", "other_layout"))
            .starts_with(
                "was built with the muster headers of this server, but its compiler uses different class layouts"));
  CHECK(refusal(folder.put("e", "missing_symbol")) == "cannot be loaded: undefined symbol: game::nobody_has_this(int)");
}

TEST_CASE("a plugin built against an altered header is refused, though every class has the size that it has here",
          "[plugins]") {
  const PluginFolder folder;
  const std::string said = refusal(folder.put("a", "altered_header"));
  CAPTURE(said);
  CHECK(said.starts_with("was built with other muster headers (digest "));
  CHECK(said.ends_with(") than this server (" + here() + "): build it again"));
  CHECK(said.find("digest " + here()) == std::string::npos);
}

TEST_CASE("two plugins of one name are refused", "[plugins]") {
  const PluginFolder folder;
  Plugins plugins;
  plugins.load(folder.put("a", "counter_first"));
  CHECK_THROWS_WITH(plugins.load(folder.put("b", "counter_second")),
                    folder.path("b.so") + ": is called \"counter\", and so is " + folder.path("a.so"));
}

TEST_CASE("a plugin that throws when it is installed is refused with its words", "[plugins]") {
  const PluginFolder folder;
  Plugins plugins;
  plugins.load(folder.put("a", "counter_first"));
  const auto install = [&](const char* what) -> std::string {
    const Told told(what);
    EntityRegistry registry;
    try {
      const Handlers handlers = plugins.install(registry);
    } catch (const PluginError& error) {
      return error.what();
    }
    return "installed";
  };
  CHECK(install("throw") == folder.path("a.so") + ": cannot be installed: no sound device");
  CHECK(install("throw a number") ==
        folder.path("a.so") + ": cannot be installed: it threw something that is not a std::exception");
  CHECK(install("contradict") ==
        folder.path("a.so") +
            ": cannot be installed: the order of these handlers is circular: counter.late, counter.step");
  CHECK(install("") == "installed");
}

TEST_CASE("a plugin that cannot fill the new world says why", "[plugins]") {
  const PluginFolder folder;
  Plugins plugins;
  plugins.load(folder.put("a", "counter_first"));
  EntityRegistry registry;
  const Handlers handlers = plugins.install(registry);
  {
    const Told told("fail to begin");
    CHECK_THROWS_WITH(plugins.begin(registry), folder.path("a.so") + ": cannot fill the new world: no map");
  }
  plugins.begin(registry);
  CHECK(registry.find_path("/counter"));
}

TEST_CASE("a library's copy is beside it while it is loaded, and those of ended processes go", "[plugins]") {
  const PluginFolder folder;
  const std::string file = folder.put("a", "counter_first");
  // No process has this number: it is beyond what Linux gives out.
  const std::string left = folder.path(".a.so.muster-2000000000-1");
  const std::string others = folder.path(".b.so.muster-2000000000-1");
  std::ofstream(left) << "old";
  std::ofstream(others) << "another plugin's";
  {
    Plugins plugins;
    plugins.load(file);
    CHECK(folder.files() == 3);
    CHECK_FALSE(std::filesystem::exists(left));
    CHECK(std::filesystem::exists(others));
  }
  CHECK(folder.files() == 2);
}

TEST_CASE("a plugin in a folder where nothing can be written is copied elsewhere", "[plugins]") {
  if (::geteuid() == 0) return;  // may write everywhere
  const PluginFolder folder;
  const std::string file = folder.put("a", "counter_first");
  std::filesystem::permissions(folder.path("."), std::filesystem::perms(0500));
  CHECK(refusal(file) == "loaded");
  std::filesystem::permissions(folder.path("."), std::filesystem::perms(0700));
}

TEST_CASE("a plugin whose floats have other bits is refused by the flag that it was compiled with", "[plugins]") {
  const PluginFolder folder;
  const auto installed = [&](const char* name) {
    EntityRegistry registry;
    const PluginLibrary library(folder.put(name, name));
    try {
      const auto instance = library.create(registry);
    } catch (const PluginError& error) {
      return std::string(error.what()).substr(library.path().size() + 2);
    }
    return std::string("installed");
  };
  CHECK(installed("floats") == "installed");
  // In another mode, the results say nothing about the library's flags.
  std::fesetround(FE_UPWARD);
  const std::string upward = installed("floats");
  std::fesetround(FE_TONEAREST);
  CHECK(upward.starts_with("cannot be installed: this thread does not round floats to nearest"));
  CHECK(installed("floats_fast").starts_with("cannot be installed: it was compiled with -ffast-math"));
#if defined __x86_64__
  if (__builtin_cpu_supports("fma"))
    CHECK(installed("floats_fused").starts_with("cannot be installed: it was compiled without -ffp-contract=off"));
#endif
}

TEST_CASE("a library that changes how the processor rounds when it is loaded does so for nobody", "[plugins]") {
  const PluginFolder folder;
  REQUIRE(rounding_fault().empty());
  const PluginLibrary library(folder.put("floats", "floats_flushing"));
  CHECK(rounding_fault().empty());
}
