// A registry with the state of a slice.
#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/world/replay/slice.h"
#include "server/world/replay/slice_source.h"
#include "server/world/store/world_error.h"

namespace muster {

struct ReplayFault {
  WorldErrorCode code;
  std::string what;
};
using Replayed = std::expected<void, ReplayFault>;
inline std::unexpected<ReplayFault> replay_fault(WorldErrorCode code, std::string what) {
  return std::unexpected(ReplayFault{code, std::move(what)});
}

struct ReplayWorld {
  /// If `spreads` is true, even the shortest pass is spread over the workers.
  explicit ReplayWorld(std::uint32_t workers, bool spreads = false)
      : pool(workers != 1 ? std::make_unique<ThreadPool>(workers) : nullptr),
        registry(options(pool.get(), spreads)),
        history(registry, std::uint64_t{256} << 20) {}

  /// `install` may be null.
  template <class Install>
  Replayed load(const Slice& slice, const Install& install, bool any_code) {
    try {
      if (install) handlers = install(registry);
    } catch (const std::exception& error) {
      return replay_fault(WorldErrorCode::setup, std::string("its handlers cannot be installed: ") + error.what());
    }
    SliceSource source(slice);
    const auto loaded = registry.load(source);
    if (!loaded) return replay_fault(WorldErrorCode::incompatible, loaded.error().text());
    if (!any_code && (loaded->mended > 0 || !loaded->converted.empty()))
      return replay_fault(WorldErrorCode::incompatible, "its state was saved with other types than this build has");
    if (auto read = history.load(slice.steps); !read) return replay_fault(WorldErrorCode::damaged, read.error());
    if (slice.in_run) {
      history.begin_run();
      if (auto read = history.load(slice.run_steps); !read) return replay_fault(WorldErrorCode::damaged, read.error());
    }
    registry.host().set_edit_log(&history);
    return {};
  }

  std::unique_ptr<ThreadPool> pool;
  EntityRegistry registry;
  EditHistory history;
  Handlers handlers;

 private:
  static RegistryOptions options(ThreadPool* pool, bool spreads) {
    RegistryOptions options;
    options.executor = pool;
    options.on_warning = [](const std::string&) {};
    if (spreads) options.pass_serial_below_ns = 0;
    return options;
  }
};

}  // namespace muster
