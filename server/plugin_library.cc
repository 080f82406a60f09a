#include "server/plugin_library.h"

#include <dlfcn.h>

#include <utility>

namespace muster {

PluginLibrary::PluginLibrary(std::string path) : path_(std::move(path)) {
  // Without a slash dlopen would look along the library path.
  const std::string file = path_.find('/') == std::string::npos ? "./" + path_ : path_;
  library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    const char* why = ::dlerror();
    throw PluginError(path_ + ": cannot be loaded: " + (why ? why : "unknown reason"));
  }
  const auto fail = [&](const std::string& why) {
    ::dlclose(library_);
    throw PluginError(path_ + ": " + why);
  };
  const auto entry = reinterpret_cast<MusterPluginEntry>(::dlsym(library_, "muster_plugin"));
  if (!entry) fail("is no plugin: it has no function muster_plugin");
  plugin_ = entry();
  if (!plugin_) fail("its muster_plugin returns nothing");
  if (plugin_->abi_version != muster_plugin_abi)
    fail("was built for plugin interface " + std::to_string(plugin_->abi_version) + ", this server has " +
         std::to_string(muster_plugin_abi) + ": build it again");
  if (!plugin_->name || !plugin_->build || !plugin_->create || !plugin_->destroy)
    fail("its muster_plugin is incomplete");
}

PluginLibrary::PluginLibrary(PluginLibrary&& other) noexcept
    : path_(std::move(other.path_)), library_(std::exchange(other.library_, nullptr)), plugin_(other.plugin_) {}

PluginLibrary::~PluginLibrary() {
  if (library_) ::dlclose(library_);
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

}  // namespace muster
