#include "server/plugins/plugin_library.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cfenv>
#include <cstdlib>
#include <utility>

#include "schema/hex.h"

namespace muster {
namespace {

/// Returns the loader's error message with demangled names, and with the original path instead of
/// the path of the copy.
std::string loader_error(const std::string& copy) {
  const char* said = ::dlerror();
  std::string text = said ? said : "unknown reason";
  if (text.starts_with(copy + ": ")) text.erase(0, copy.size() + 2);
  constexpr std::string_view undefined = "undefined symbol: ";
  if (const std::size_t at = text.find(undefined); at != std::string::npos) {
    const std::string symbol = text.substr(at + undefined.size());
    int status = 0;
    char* readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    if (readable) text = text.substr(0, at + undefined.size()) + readable;
    std::free(readable);
  }
  return text;
}

/// Loading a library that was linked with -ffast-math, or that depends on a library linked in that
/// way, makes the processor flush denormal floats to zero. This function restores the
/// floating-point environment.
void* open_library(const char* path) {
  std::fenv_t before;
  std::fegetenv(&before);
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  std::fesetenv(&before);
  return library;
}

}  // namespace

PluginLibrary::PluginLibrary(std::string path) : path_(std::move(path)) {
  auto copy = PluginCopy::make(path_);
  if (!copy) throw PluginError(path_ + ": " + copy.error());
  copy_ = std::move(*copy);
  // If a path has no slash, the loader searches the library path for it, but the copy's path always
  // contains a slash.
  library_ = open_library(copy_.path().c_str());
  if (!library_) throw PluginError(path_ + ": cannot be loaded: " + loader_error(copy_.path()));
  const auto fail = [&](const std::string& why) {
    ::dlclose(library_);
    throw PluginError(path_ + ": " + why);
  };
  const auto entry = reinterpret_cast<MusterPluginEntry>(::dlsym(library_, "muster_plugin"));
  if (!entry) fail("is not a plugin: it has no function muster_plugin");
  if (Dl_info info; ::dladdr(reinterpret_cast<const void*>(entry), &info)) base_ = info.dli_fbase;
  plugin_ = entry();
  if (!plugin_) fail("its muster_plugin returns nothing");
  if (plugin_->abi_version != muster_plugin_abi)
    fail("was built for plugin interface " + std::to_string(plugin_->abi_version) + ", this server has " +
         std::to_string(muster_plugin_abi) + ": build it again");
  if (plugin_->headers != muster_plugin_headers)
    fail("was built with other muster headers (digest " + hex(plugin_->headers) + ") than this server (" +
         hex(muster_plugin_headers) + "): build it again");
  if (plugin_->layout != muster_plugin_layout)
    fail(
        "was built with the muster headers of this server, but its compiler uses different class layouts: build it "
        "again with "
        "the server's compiler, standard library and options");
  if (!plugin_->name || !plugin_->build || !plugin_->create || !plugin_->destroy)
    fail("its muster_plugin is incomplete");
}

PluginLibrary::~PluginLibrary() {
  if (library_) ::dlclose(library_);
}

std::string PluginLibrary::identity() const { return std::string(name()) + " " + build() + " " + hex(digest()); }

bool PluginLibrary::owns(const void* address) const noexcept {
  Dl_info info;
  return base_ && ::dladdr(address, &info) && info.dli_fbase == base_;
}

PluginLibrary::Instance PluginLibrary::create(EntityRegistry& registry) const {
  char error[512] = "it gave no reason";
  Instance instance(plugin_->create(&registry, error, sizeof error), Destroy{plugin_->destroy});
  if (!instance) throw PluginError(path_ + ": cannot be installed: " + error);
  return instance;
}

void PluginLibrary::begin(const Instance& instance, EntityRegistry& registry) const {
  char error[512] = "it gave no reason";
  if (plugin_->begin && !plugin_->begin(instance.get(), &registry, error, sizeof error))
    throw PluginError(path_ + ": cannot fill the new world: " + error);
}

std::optional<PluginLibrary::State> PluginLibrary::hand_over(const Instance& instance) const {
  if (!plugin_->hand_over) return {};
  State state;
  state.version = plugin_->state_version;
  const auto write = [](void* to, const void* bytes, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(bytes);
    auto& all = *static_cast<std::vector<std::byte>*>(to);
    all.insert(all.end(), from, from + count);
  };
  char error[512] = "it gave no reason";
  if (!plugin_->hand_over(instance.get(), &state.bytes, write, error, sizeof error))
    throw PluginError(path_ + ": the running instance cannot pass on its state: " + error);
  return state;
}

void PluginLibrary::take_over(const Instance& instance, const State& state) const {
  char error[512] = "it gave no reason";
  if (plugin_->take_over &&
      !plugin_->take_over(instance.get(), state.version, state.bytes.data(), state.bytes.size(), error, sizeof error))
    throw PluginError(path_ + ": does not accept the running instance's state (version " +
                      std::to_string(state.version) + "): " + error);
}

}  // namespace muster
